# error: BuiltinDType 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.atomic_or(x_ptr, 1)
