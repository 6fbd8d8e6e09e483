# error: UnknownModuleAttribute 8:14
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    y = n.to(tl.float99)
