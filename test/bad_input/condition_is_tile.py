# error: AmbiguousCondition 8:8
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if tl.arange(0, 4) > 2:
        tl.store(x_ptr, 1.0)
