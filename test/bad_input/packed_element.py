# error: PackedElement 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = tl.zeros((8,), tl.int3)
