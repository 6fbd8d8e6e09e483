"""The warps share the products of a batch: each multiplies its own, and none multiplies what another one does."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,B=16,M=16,N=16' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=MANY
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,B=2,M=16,N=32' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=FEW
import triton
import triton.language as tl


# 16 products of 2 instructions, of which a warp has a quarter.
# MANY-COUNT-8: mma.sync
# MANY-NOT: mma.sync
# 2 products of 4 instructions: a warp has half of one.
# FEW-COUNT-2: mma.sync
# FEW-NOT: mma.sync
@triton.jit
def product(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i, m, n, k = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, 16)
    x = tl.load(a + (i[:, None, None] * M + m[None, :, None]) * 16 + k[None, None, :])
    y = tl.load(b + (i[:, None, None] * 16 + k[None, :, None]) * N + n[None, None, :])
    tl.store(c + (i[:, None, None] * M + m[None, :, None]) * N + n[None, None, :], tl.dot(x, y))
