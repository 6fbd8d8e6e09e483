# error: LoopNeverEnds 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y: tl.constexpr = 1
    while y > 0:
        tl.store(x_ptr, 1.0)
