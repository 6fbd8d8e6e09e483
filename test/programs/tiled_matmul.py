"""The product of the tutorial with its epilogues: transposed operands, a bias, an activation, sums of rows, other types out."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, bias_ptr, row_sum_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr,
                  ACTIVATION: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    tl.assume(pid_m >= 0)
    tl.assume(pid_n >= 0)
    tl.assume(stride_am > 0)
    tl.assume(stride_bn > 0)

    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    if bias_ptr is not None:
        accumulator += tl.load(bias_ptr + offs_cn, mask=offs_cn < N, other=0.0)[None, :]
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    if row_sum_ptr is not None:
        sums = tl.sum(tl.where(offs_cn[None, :] < N, accumulator, 0.0), axis=1)
        tl.atomic_add(row_sum_ptr + offs_cm, sums, mask=offs_cm < M)
    c = accumulator.to(c_ptr.dtype.element_ty)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)


def matmul(a, b, bias=None, activation="", out_dtype=None, row_sum=None):
    assert a.shape[1] == b.shape[0], "Incompatible dimensions"
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=out_dtype or a.dtype)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_SIZE_M"]) * triton.cdiv(N, META["BLOCK_SIZE_N"]),)
    matmul_kernel[grid](a, b, c, bias, row_sum, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                        BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32, GROUP_SIZE_M=2, ACTIVATION=activation, num_warps=4, num_stages=2)
    return c


def check_transposed_operands(device):
    for dtype in (torch.float16, torch.bfloat16):
        a, b = normal(50, 70, device=device, dtype=dtype), normal(70, 40, device=device, dtype=dtype, seed=1)
        right = wide(a) @ wide(b)
        flip = lambda t: t.T.contiguous().T
        for x, y in ((a, b), (flip(a), b), (a, flip(b)), (flip(a), flip(b))):
            close(matmul(x, y, out_dtype=torch.float32), right, error=1e-6)


def check_epilogues(device):
    a, b = normal(33, 64, device=device, dtype=torch.float16), normal(64, 65, device=device, dtype=torch.float16, seed=1)
    bias, sums = normal(65, device=device, seed=2), torch.zeros(33, device=device)
    c = matmul(a, b, bias, "leaky_relu", torch.bfloat16, sums)
    right = torch.nn.functional.leaky_relu(wide(a) @ wide(b) + wide(bias))
    close(c, right, error=1e-5)
    close(sums, right.sum(1), error=1e-5)
