"""Tiles that are loaded alike, and converted alike for what they are computed with, are computed with first: one conversion in place of three. The sum is stored as it was computed."""
# RUN: tegula compile %s::beside --signature 'x=*f32:16,a=*f32:16,b=*f32:16,c=*f32:16,z=*f32:16,n=i32:16,s=f32' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @beside
# CHECK-NOT: simt.convert
# CHECK: arith.mulf
# CHECK: arith.addf
# CHECK: simt.convert
# CHECK-NOT: simt.convert
# CHECK: arith.addf
# CHECK: arith.mulf
# CHECK: simt.convert
# CHECK-NOT: simt.convert
# CHECK: tt.store
@triton.jit
def beside(x, a, b, c, z, n, s):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)[:, None]
    j = tl.arange(0, 64)[None, :]
    row, column = i * 64 + j, j * n + i
    left, right = tl.load(x + column, mask=i < n, other=0.0), tl.load(x + 64 * n + column, mask=i < n, other=0.0)
    wide = tl.load(a + row, mask=i < n) * tl.load(b + row, mask=i < n) + tl.load(c + row, mask=i < n)
    tl.store(z + row, wide * (left + s * right), mask=i < n)
    tl.store(a + row, wide, mask=i < n)
