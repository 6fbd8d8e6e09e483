# error: OtherWithoutMask 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.load(x_ptr, other=0.0)
