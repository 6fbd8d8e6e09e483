# error: NotATensor 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.map_elementwise(tl.abs, None)
    tl.store(x_ptr, y)
