# error: CombineResult 14:9
import triton
import triton.language as tl


@triton.jit
def with_a_barrier(a, b):
    tl.debug_barrier()
    return a + b


@triton.jit
def kernel(x_ptr, n):
    y = tl.associative_scan(tl.arange(0, 8), 0, with_a_barrier)
    tl.store(x_ptr + tl.arange(0, 8), y)
