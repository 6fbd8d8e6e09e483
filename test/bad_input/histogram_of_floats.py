# error: BuiltinDType 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.histogram(tl.load(x_ptr + tl.arange(0, 8)), 4)
