# error: ResultUnused 14:5
import triton
import triton.language as tl


@tl.core.must_use_result("It does nothing else.")
@triton.jit
def doubled(x):
    return x * 2


@triton.jit
def kernel(x_ptr, n):
    doubled(tl.load(x_ptr))
    tl.store(x_ptr, 1.0)
