# error: BuiltinWrongArgument 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.atomic_add(x_ptr, 1.0, sem="sequential")
