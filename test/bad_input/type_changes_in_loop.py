# error: LoopCarriedMismatch 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = 0
    for i in range(n):
        y = y + 1.5
    tl.store(x_ptr, y)
