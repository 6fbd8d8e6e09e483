# error: OperationBudget 8:5
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in tl.static_range(1000000000):
        tl.store(x_ptr + i, 1.0)
