#fuzz args=p;grid=1
import triton


@triton.jit
def kernel(x, y):
    pass
