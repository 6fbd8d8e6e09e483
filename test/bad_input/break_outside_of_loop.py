# error: LoopExitOutsideLoop 9:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    if n > 3:
        break
    tl.store(x_ptr, 1.0)
