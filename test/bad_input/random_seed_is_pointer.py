# error: BuiltinWrongArgument 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    u = tl.rand(x_ptr, tl.arange(0, 4))
