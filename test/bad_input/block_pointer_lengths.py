# error: BlockLength 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = tl.make_block_ptr(x_ptr, (n, n), (n,), (0, 0), (16, 16), (1, 0))
