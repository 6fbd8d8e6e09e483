# error: UnexpectedIndent 9:1
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = 1
      y = 2
