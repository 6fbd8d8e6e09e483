# error: DescriptorLastStride 8:9
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    x = tl.make_tensor_descriptor(x_ptr, [n, n], [1, n], [16, 16])
