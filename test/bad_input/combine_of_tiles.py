# error: CombineResult 13:9
import triton
import triton.language as tl


@triton.jit
def through_a_tile(a, b):
    return tl.sum(tl.join(a, b))


@triton.jit
def kernel(x_ptr, n):
    y = tl.reduce(tl.arange(0, 8), 0, through_a_tile)
    tl.store(x_ptr, y)
