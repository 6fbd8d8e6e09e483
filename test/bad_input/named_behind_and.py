# error: UnsupportedConstruct 8:19
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if n > 2 and (m := n - 2) > 3:
        tl.store(x_ptr, m)
