# error: CombineResult 13:9
import triton
import triton.language as tl


@triton.jit
def wider(a, b):
    return a.to(tl.int64) + b


@triton.jit
def kernel(x_ptr, n):
    y = tl.associative_scan(tl.arange(0, 8), 0, wider)
