"""A product of fewer rows than the instruction: each step adds to all that the one before it gave, with nothing in between."""
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,M=8' --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,M=1' --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl

# CHECK: mma.sync
# CHECK-NEXT: {[[A:%r[0-9]+]], [[B:%r[0-9]+]], [[C:%r[0-9]+]], [[D:%r[0-9]+]]},
# CHECK: mma.sync
# CHECK: {[[A]], [[B]], [[C]], [[D]]};


@triton.jit
def product(x, y, o, M: tl.constexpr):
    m, k, n = tl.arange(0, M), tl.arange(0, 32), tl.arange(0, 8)
    a = tl.load(x + m[:, None] * 32 + k[None, :])
    b = tl.load(y + k[:, None] * 8 + n[None, :])
    tl.store(o + m[:, None] * 8 + n[None, :], tl.dot(a, b))
