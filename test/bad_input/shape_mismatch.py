# error: IncompatibleShapes 8:39
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr + tl.arange(0, 8), tl.arange(0, 8) + tl.arange(0, 16))
