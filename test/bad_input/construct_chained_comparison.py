# error: UnsupportedConstruct 8:8
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if 0 < n < 5:
        tl.store(x_ptr, 1.0)
