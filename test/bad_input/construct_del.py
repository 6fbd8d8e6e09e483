# error: UnsupportedConstruct 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = 1
    del y
