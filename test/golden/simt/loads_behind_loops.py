"""A bias that is loaded ahead of a loop of products, and added behind it, is loaded behind it where sums leave no registers for it."""
# RUN: tegula compile %s::biased --signature 'a=*f16:16,b=*f16:16,bias=*f32:16,c=*f16:16,n=i32:16,BN=256,KIND=0' --target sm_90a --num-warps 8 --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=BEHIND
# RUN: tegula compile %s::biased --signature 'a=*f16:16,b=*f16:16,bias=*f32:16,c=*f16:16,n=i32:16,BN=64,KIND=0' --target sm_90a --num-warps 8 --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=AHEAD
# RUN: tegula compile %s::biased --signature 'a=*f16:16,b=*f16:16,bias=*f32:16,c=*f16:16,n=i32:16,BN=256,KIND=1' --target sm_90a --num-warps 8 --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=AHEAD
# RUN: tegula explain %s::biased --signature 'a=*f16:16,b=*f16:16,bias=*f32:16,c=*f16:16,n=i32:16,BN=256,KIND=0' --target sm_90a --num-warps 8 --num-stages 3 | FileCheck %s --check-prefix=SAID
import triton
import triton.language as tl


# BEHIND: scf.for
# BEHIND-NOT: tt.load
# BEHIND: simt.dot_async
# BEHIND: tt.load {{.*}}tensor<256xf32
# AHEAD: tt.load {{.*}}xf32
# AHEAD: scf.for
# AHEAD: simt.dot_async
# SAID: usage: {{[0-9]+}} registers a thread, none spilled
@triton.jit
def biased(a, b, bias, c, n, BN: tl.constexpr, KIND: tl.constexpr):
    i, j, k = tl.arange(0, 128), tl.arange(0, BN), tl.arange(0, 64)
    row = tl.load(bias + j)
    acc = tl.zeros((128, BN), tl.float32)
    for t in range(n):
        acc = tl.dot(tl.load(a + i[:, None] * 512 + (t * 64 + k)[None, :]), tl.load(b + (t * 64 + k)[:, None] * BN + j[None, :]), acc)
        if KIND == 1:  # a trip may write it
            tl.store(bias + t, 1.0)
    tl.store(c + i[:, None] * BN + j[None, :], (acc + row[None, :]).to(tl.float16))
