# error: TileTooLarge 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.zeros((1 << 30, 1 << 30), tl.float32)
    tl.store(x_ptr, tl.sum(y))
