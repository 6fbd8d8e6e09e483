"""Tiles that are loaded alike, and converted alike for what they are computed with, are computed with first: one conversion in place of four."""
# RUN: tegula compile %s::stencil --signature 'x=*f32:16,y=*f32:16,z=*f32:16,n=i32:16,s=f32' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @stencil
# CHECK-COUNT-4: tt.load
# CHECK-NOT: simt.convert
# CHECK: arith.addf
# CHECK: arith.addf
# CHECK: simt.convert
# CHECK-NOT: simt.convert
# CHECK: tt.store
@triton.jit
def stencil(x, y, z, n, s):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    inside = (i > 0) & (i < n - 1)
    left, right = tl.load(x + i - 1, mask=inside, other=0.0), tl.load(x + i + 1, mask=inside, other=0.0)
    there = tl.load(y + i + 1, mask=inside, other=0.0)
    middle = tl.load(x + i, mask=i < n)
    tl.store(z + i, (left + right + s * there) * 0.5 + middle, mask=i < n)
