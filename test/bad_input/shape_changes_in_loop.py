# error: LoopCarriedMismatch 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.zeros((4,), tl.float32)
    for i in range(n):
        y = tl.sum(y)
    tl.store(x_ptr, 1.0)
