# error: LoopIterable 8:14
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in n:
        tl.store(x_ptr, 1.0)
