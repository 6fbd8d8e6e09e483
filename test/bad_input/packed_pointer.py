# error: PackedPointer 11:14
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    p = x_ptr.to(tl.pointer_type(tl.int3)) + tl.arange(0, 8)
    s = tl.zeros((8,), tl.int8)
    for k in range(n):
        s += tl.load(p)
        p += 8
