# error: CombineResult 13:9
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    a + b


@triton.jit
def kernel(x_ptr, n):
    y = tl.reduce(tl.arange(0, 8), 0, add)
    tl.store(x_ptr, y)
