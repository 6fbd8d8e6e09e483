"""A sum of nine to sixteen floats of a thread is four sums side by side: each product that is summed takes one instruction. Sums of more, and sums beside products of tiles, are trees."""
# RUN: tegula compile %s::squares --signature 'x=*f32:16,y=*f32,B=512,DOT=0' --num-warps 1 --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::squares --signature 'x=*f32:16,y=*f32,B=1024,DOT=0' --num-warps 1 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=MORE
# RUN: tegula compile %s::squares --signature 'x=*f32:16,y=*f32,B=512,DOT=1' --num-warps 1 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=TREE
import triton
import triton.language as tl


# 16 elements of a thread: four products, and twelve that are added at once.
# CHECK-LABEL: .visible .entry squares(
# CHECK-COUNT-4: mul.f32
# CHECK-NOT: mul.f32
# CHECK-COUNT-12: fma.rn.f32
# CHECK-NOT: fma.rn.f32
# CHECK: shfl
# TREE-LABEL: .visible .entry squares(
# TREE-COUNT-8: mul.f32
# MORE-LABEL: .visible .entry squares(
# MORE-COUNT-16: mul.f32
@triton.jit
def squares(x, y, B: tl.constexpr, DOT: tl.constexpr):
    rows = tl.load(x + tl.arange(0, B))
    tl.store(y, tl.sum(rows * rows))
    if DOT:
        i = tl.arange(0, 16)
        tile = tl.load(x + i[:, None] * 16 + i[None, :]).to(tl.float16)
        tl.store(y + i[:, None] * 16 + i[None, :], tl.dot(tile, tile))
