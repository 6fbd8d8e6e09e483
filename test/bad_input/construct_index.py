# error: UnsupportedIndex 9:21
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = tl.arange(0, 4)
    tl.store(x_ptr, x[0])
