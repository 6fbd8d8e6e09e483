"""A tile that each thread stores by few accesses is not stored as a box: the trip would wait for the one before it. Nor is one in a loop
whose threads start copies: the assembler would wait for these, too."""
# RUN: tegula compile %s::results --signature 'a=*f16:16,b=*f16:16,out=*f16:16,n=i32:16,N=32' --num-stages 1 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=SMALL
# RUN: tegula compile %s::results --signature 'a=*f16:16,b=*f16:16,out=*f16:16,n=i32:16,N=128' --num-stages 1 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=LARGE
# RUN: tegula compile %s::results --signature 'a=*f16:16,b=*f16:16,out=*f16:16,n=i32:16,N=128' --num-stages 3 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=COPIES
import triton
import triton.language as tl


# SMALL-NOT: cp.async.bulk.tensor.{{.*}}.global.shared
# LARGE: cp.async.bulk.tensor.{{.*}}.global.shared
# COPIES: cp.async.c
# COPIES-NOT: cp.async.bulk.tensor.{{.*}}.global.shared
@triton.jit
def results(a, b, out, n, N: tl.constexpr):
    row, column, k = tl.arange(0, 64), tl.arange(0, N), tl.arange(0, 64)
    y = tl.load(b + k[:, None] + column[None, :] * 64)
    for start in range(0, n, 64):
        at = (start + row)[:, None]
        x = tl.load(a + at * 64 + k[None, :])
        tl.store(out + at * N + column[None, :], tl.dot(x, y).to(out.dtype.element_ty))
