"""Warps lie along the columns of a tile whose columns each trip adds up for itself: no warp has a part of another's sum."""
# RUN: tegula compile %s::columns --signature 'x=*f32:16,out=*f32:16,N=i32:16,stride=i32:16' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::rows --signature 'x=*f32:16,out=*f32:16,N=i32:16,stride=i32:16' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: ld.global.v4
# CHECK-NOT: bar.sync
# CHECK: ret;
@triton.jit
def columns(x, out, N, stride):
    row, column = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, 512)
    for start in range(0, N, 512):
        tile = tl.load(x + row[:, None] * stride + start + column[None, :])
        tl.atomic_add(out + start + column, tl.sum(tile * tile, 0), sem="relaxed")


# Rows are added up within warps.
@triton.jit
def rows(x, out, N, stride):
    row, column = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, 512)
    for start in range(0, N, 512):
        tile = tl.load(x + row[:, None] * stride + start + column[None, :])
        tl.store(out + start + row, tl.sum(tile * tile, 1))
