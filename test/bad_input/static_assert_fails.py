# error: StaticAssertFailed 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.static_assert(1 > 2, 'one is small')
