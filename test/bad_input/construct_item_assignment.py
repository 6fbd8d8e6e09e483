# error: UnsupportedConstruct 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = tl.zeros((4,), tl.float32)
    x[0] = 1.0
