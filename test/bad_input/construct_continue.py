# error: UnsupportedConstruct 9:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        continue
