# error: TileRankTooLarge 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = tl.reshape(tl.arange(0, 8), [1] * 64 + [8])
    tl.store(x_ptr, tl.sum(y))
