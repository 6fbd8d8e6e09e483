# error: IncompatibleOperands 8:17
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.load(x_ptr + 1.5)
