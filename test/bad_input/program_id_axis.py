# error: GridAxis 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.program_id(5)
