"""Warps lie along the rows of a tile that nothing is combined in, where lines of columns are spread over it: each thread loads less of them."""
# RUN: tegula compile %s::spread --signature 'x=*bf16:16,w=*bf16:16,out=*bf16:16,C=i32,SUMS=0' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ALONG
# RUN: tegula compile %s::spread --signature 'x=*bf16:16,w=*bf16:16,out=*bf16:16,C=i32,SUMS=1' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ACROSS
import triton
import triton.language as tl


# ALONG-DAG: [8x1024] register=[(0,128),(0,256),(0,512),(1,0),(2,0),(4,0)] {{.*}} warp=[(0,32),(0,64)]
# Sums of rows stay within a warp.
# ACROSS-DAG: [8x1024] {{.*}} warp=[(1,0),(2,0)]
@triton.jit
def spread(x, w, out, C, SUMS: tl.constexpr):
    rows, cols = tl.arange(0, 8), tl.arange(0, 1024)
    inside = cols < C
    a = tl.load(x + rows[:, None] * C + cols[None, :], mask=inside[None, :], other=0.0).to(tl.float32)
    a += tl.load(w + cols, mask=inside, other=0.0).to(tl.float32)[None, :]
    if SUMS:
        a -= tl.sum(a, 1)[:, None]
    tl.store(out + rows[:, None] * C + cols[None, :], a, mask=inside[None, :])
