# error: FormatRunTime 8:21
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.static_print(f"{n}")
