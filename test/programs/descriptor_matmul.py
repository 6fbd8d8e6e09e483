"""Products through tensor descriptors that the kernel makes."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def matmul_kernel_device_descriptors(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BLOCK_N, BLOCK_K])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK_M, BLOCK_N])
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for ki in range(tl.cdiv(K, BLOCK_K)):
        a = a_desc.load([pid_m * BLOCK_M, ki * BLOCK_K])
        b = b_desc.load([pid_n * BLOCK_N, ki * BLOCK_K])
        accumulator = tl.dot(a, b.T, accumulator)
    c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], accumulator.to(c_ptr.dtype.element_ty))


def allocate(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


def check_made_in_the_kernel(device):
    triton.set_allocator(allocate)
    for M, N, K in ((64, 64, 64), (50, 72, 40)):
        a, b = normal(M, K, device=device, dtype=torch.float16), normal(N, K, device=device, dtype=torch.float16, seed=1)
        c = torch.empty(M, N, device=device, dtype=torch.float16)
        matmul_kernel_device_descriptors[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
        close(c, wide(a) @ wide(b).T, error=1e-3)
