# error: UnclosedBracket 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = (1 +
    tl.store(x_ptr, x)
