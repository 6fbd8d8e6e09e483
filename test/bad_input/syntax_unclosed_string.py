# error: UnterminatedString 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = 'abc
    tl.store(x_ptr, 1)
