# error: UnsupportedConstruct 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    class A:
        pass
    tl.store(x_ptr, 1.0)
