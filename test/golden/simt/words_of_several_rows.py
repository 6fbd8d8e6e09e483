"""Words that rows share, as GPTQ packs eight weights along K: a thread has all rows of its words, which it loads once."""
# RUN: tegula compile %s::weights --signature 'a=*f16:16,b=*i32:16,c=*f16:16,stride=i32:16,steps=i32,SHARE=8' --target sm_90a --num-warps 4 --emit simt | FileCheck %s
# RUN: tegula compile %s::weights --signature 'a=*f16:16,b=*i32:16,c=*f16:16,stride=i32:16,steps=i32,SHARE=8' --target sm_90a --num-warps 4 --emit ptx | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl


# CHECK: simt.layout<"[64x256] register=[(0,1),(0,2),(1,0),(2,0),(4,0),
# 64 x 256 weights are 2,048 words: each of 128 threads loads four times four of them.
# PTX-COUNT-4: ld.global{{.*}}v4.b32
# PTX-NOT: ld.global{{.*}}v4.b32
@triton.jit
def weights(a, b, c, stride, steps, SHARE: tl.constexpr):
    m, n, k = tl.arange(0, 64), tl.arange(0, 256), tl.arange(0, 64)
    places = a + m[:, None] * 4096 + k[None, :]
    words = b + (k[:, None] // SHARE) * stride + n[None, :]
    sums = tl.zeros([64, 256], tl.float32)
    for step in range(steps):
        x = tl.load(places)
        y = (tl.load(words) >> (k % SHARE * 4)[:, None]) & 15
        sums += tl.dot(x, (y - 8).to(tl.float16))
        places += 64
        words += 64 // SHARE * stride
    tl.store(c + m[:, None] * 256 + n[None, :], sums.to(tl.float16))
