"""A thread finds the greatest of its elements and its place one after the other, where these are loaded one by one under masks, each by one
comparison: a place that comes later is greater. Elements that are there already are compared two by two."""
# RUN: tegula compile %s::place --signature 'x=*f32,at=*i32,C=i32' --num-warps 2 --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::place --signature 'x=*f32:16,at=*i32,C=i32:16' --num-warps 2 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=WIDE
import triton
import triton.language as tl


# WIDE: setp.ge.f32 {{.*}}, [[A:%r[0-9]+]], [[B:%r[0-9]+]];
# WIDE-NEXT: selp.f32 [[FIRST:%r[0-9]+]], [[A]], [[B]]
# WIDE: setp.ge.f32 {{.*}}, [[C:%r[0-9]+]], [[D:%r[0-9]+]];
# WIDE-NEXT: selp.f32 [[SECOND:%r[0-9]+]], [[C]], [[D]]
# WIDE: setp.ge.f32 {{.*}}, [[FIRST]], [[SECOND]];
# WIDE: shfl

# CHECK-COUNT-16: ld.global.b32
# CHECK: setp.ge.f32 {{.*}}, [[A:%r[0-9]+]], [[B:%r[0-9]+]];
# CHECK-NEXT: selp.f32 [[FIRST:%r[0-9]+]], [[A]], [[B]]
# CHECK-NOT: setp.lt
# CHECK: setp.ge.f32 {{.*}}, [[FIRST]], [[C:%r[0-9]+]];
# CHECK-NOT: setp.lt
# CHECK-COUNT-13: setp.ge.f32
# CHECK: shfl
@triton.jit
def place(x, at, C):
    cols = tl.arange(0, 1024)
    a = tl.load(x + tl.program_id(0) * C + cols, mask=cols < C, other=float("-inf"))
    tl.store(at + tl.program_id(0), tl.argmax(a, 0))
