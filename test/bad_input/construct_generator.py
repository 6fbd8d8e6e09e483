# error: UnsupportedConstruct 8:13
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = sum(i for i in range(n))
