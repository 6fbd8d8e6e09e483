"""f32 that is computed with ahead of its product, and whose neighbours lie along the result: it is stored four at a time, and threads read single elements. As matrix loads want it, lanes would store single elements into the same banks."""
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,M=i32:16,K=i32:16' --target sm_90a --num-stages 1 --num-warps 2 --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: ld.global.v4
# CHECK-NOT: st.shared.b32
# CHECK: st.shared.v4
# CHECK-NOT: st.shared.b32
# CHECK: mma.sync
@triton.jit
def product(a, b, c, M, K):
    m, n, k = tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 64)
    acc = tl.zeros([128, 32], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] + (start + k)[None, :] * M)
        y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
        acc = tl.dot(tl.where(x > 0, x, 0.0), y, acc)
    tl.store(c + m[:, None] * 32 + n[None, :], acc)
