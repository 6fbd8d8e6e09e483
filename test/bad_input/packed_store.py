# error: PackedStore 9:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    p = x_ptr.to(tl.pointer_type(tl.int3)) + tl.arange(0, 8)
    tl.store(p, 1)
