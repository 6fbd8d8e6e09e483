# error: NotPrintable 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    print("n is", n, "now")
