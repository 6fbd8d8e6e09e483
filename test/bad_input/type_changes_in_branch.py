# error: MergeMismatch 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if n > 3:
        y = 1
    else:
        y = 1.5
    tl.store(x_ptr, y)
