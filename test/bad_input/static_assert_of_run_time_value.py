# error: ArgumentNotConstexpr 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.static_assert(n > 2)
