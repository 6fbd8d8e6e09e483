# error: BadAxis 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.sum(tl.arange(0, 16), axis=3)
