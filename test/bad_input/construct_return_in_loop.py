# error: ReturnInLoop 10:13
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        if i > 2:
            return
        tl.store(x_ptr, 1.0)
