# error: GlobalNotConstexpr 11:21
import triton
import triton.language as tl


SIZE = 4


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, SIZE)
