"""Elements whose indices have been used in an earlier block have offsets of one instruction behind it: products of the 32 bits."""
# RUN: tegula compile %s::repeated --signature 'x=*f32:16,out=*f32:16,columns=i32,n=i32' --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: bra
# CHECK-NOT: shl.b64
# CHECK-COUNT-8: mul.wide.s32
# CHECK-NOT: shl.b64
@triton.jit
def repeated(x, out, columns, n):
    column = tl.arange(0, 1024)
    at = tl.program_id(0) * columns + column
    row = tl.load(x + at, mask=column < columns, other=0.0)
    for _ in range(n):
        row *= 1.0 + tl.sum(row, 0)
    tl.store(out + at, row, mask=column < columns)
