# error: UnsupportedConstruct 8:17
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if 2 < n < (m := n * n):
        tl.store(x_ptr, m)
