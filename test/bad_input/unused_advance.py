# error: ResultUnused 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    block = tl.make_block_ptr(x_ptr, (64,), (1,), (0,), (16,), (0,))
    tl.advance(block, (16,))
    tl.store(block, tl.zeros([16], tl.float32))
