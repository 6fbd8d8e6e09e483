# error: TooManyCarried 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    t = (0,) * 4097
    for i in range(n):
        t = t[1:] + (i,)
    tl.store(x_ptr, t[0])
