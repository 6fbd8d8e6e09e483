# error: ConstexprReassigned 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y: tl.constexpr = 1
    y: tl.constexpr = 2
    tl.store(x_ptr, y)
