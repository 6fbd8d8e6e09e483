# error: DotElements 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.dot(tl.arange(0, 16), tl.arange(0, 16))
