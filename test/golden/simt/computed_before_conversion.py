"""Tiles that are loaded alike, and converted alike for what they are computed with, are computed with first: one conversion in place of two."""
# RUN: tegula compile %s::beside --signature 'x=*f32:16,a=*f32:16,b=*f32:16,c=*f32:16,z=*f32:16,n=i32:16,s=f32' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @beside
# CHECK-NOT: simt.convert
# CHECK: arith.mulf
# CHECK: arith.addf
# CHECK: simt.convert
# CHECK-NOT: simt.convert
# CHECK: tt.store
@triton.jit
def beside(x, a, b, c, z, n, s):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    inside, all = (i > 0) & (i < n - 1), i < n
    left, right = tl.load(x + i - 1, mask=inside, other=0.0), tl.load(x + i + 1, mask=inside, other=0.0)
    wide = tl.load(a + i, mask=all) * tl.load(b + i, mask=all) + tl.load(c + i, mask=all)
    tl.store(z + i, wide * (left + s * right), mask=all)
    tl.store(a + i, wide, mask=all)
