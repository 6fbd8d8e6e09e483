# error: MaskOfBlockPointer 9:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (16,), (0,))
    y = tl.load(x, mask=tl.arange(0, 16) < n)
