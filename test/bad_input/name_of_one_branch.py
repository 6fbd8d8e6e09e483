# error: PartiallyDefined 10:21
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if n > 3:
        y = 1.0
    tl.store(x_ptr, y)
