# error: StoreToConst 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.atomic_add(x_ptr.to(tl.pointer_type(tl.float32, const=True)), 1.0)
