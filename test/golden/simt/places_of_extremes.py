"""A thread finds the greatest of its elements and its place one after the other, each by one comparison: a place that comes later is greater."""
# RUN: tegula compile %s::place --signature 'x=*f32,at=*i32,C=i32' --num-warps 2 --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


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
