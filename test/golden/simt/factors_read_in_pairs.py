"""Rows of an instruction of several warps that threads read for it, since f32 lies along the result: they are stored four at a time, and read in pairs. With K innermost 16 lanes of a warp would store into one bank."""
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 1 --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: ld.global.v4
# CHECK-NOT: st.shared.b32
# CHECK: st.shared.v4
# CHECK-NOT: st.shared.b32
# CHECK: ld.shared.v2
# CHECK: wgmma.mma_async
@triton.jit
def product(a, b, c, K):
    m, n, k = tl.arange(0, 32), tl.arange(0, 256), tl.arange(0, 64)
    acc = tl.zeros([32, 256], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * 256 + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * 256 + n[None, :], acc)
