"""Split-K product: programs along K add what they have with atomics, or keep it apart for a sum."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


def init_to_zero(name):
    return lambda nargs: nargs[name].zero_()


def get_configs():
    configs = []
    for split_k in [1, 2]:
        for block_k in [16]:
            configs.append(triton.Config({"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": block_k, "SPLIT_K": split_k}, num_stages=2,
                                         num_warps=2, pre_hook=init_to_zero("C")))
    return configs


@triton.autotune(configs=get_configs(), key=["M", "N", "K"],
                 prune_configs_by={"early_config_prune": lambda configs, named_args, **kw: configs[-1:], "perf_model": None, "top_k": 1})
@triton.heuristics({"EVEN_K": lambda args: args["K"] % (args["BLOCK_K"] * args["SPLIT_K"]) == 0})
@triton.jit
def _kernel(A, B, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, acc_dtype: tl.constexpr,
            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, SPLIT_K: tl.constexpr,
            EVEN_K: tl.constexpr):
    pid = tl.program_id(0)
    pid_z = tl.program_id(1)
    grid_m = tl.cdiv(M, BLOCK_M)
    grid_n = tl.cdiv(N, BLOCK_N)
    width = GROUP_M * grid_n
    group_id = pid // width
    group_size = min(grid_m - group_id * GROUP_M, GROUP_M)
    pid_m = group_id * GROUP_M + (pid % group_size)
    pid_n = (pid % width) // (group_size)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ram = tl.max_contiguous(tl.multiple_of(rm % M, BLOCK_M), BLOCK_M)
    rbn = rn % N
    rk = pid_z * BLOCK_K + tl.arange(0, BLOCK_K)
    A = A + (ram[:, None] * stride_am + rk[None, :] * stride_ak)
    B = B + (rk[:, None] * stride_bk + rbn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=acc_dtype)
    for k in range(0, tl.cdiv(K, BLOCK_K * SPLIT_K)):
        if EVEN_K:
            a = tl.load(A)
            b = tl.load(B)
        else:
            k_remaining = K - k * (BLOCK_K * SPLIT_K)
            _0 = tl.zeros((1, 1), dtype=C.dtype.element_ty)
            a = tl.load(A, mask=rk[None, :] < k_remaining, other=_0)
            b = tl.load(B, mask=rk[:, None] < k_remaining, other=_0)
        acc = tl.dot(a, b, acc, out_dtype=acc_dtype, input_precision="ieee")
        A += BLOCK_K * SPLIT_K * stride_ak
        B += BLOCK_K * SPLIT_K * stride_bk
    acc = acc.to(C.dtype.element_ty)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    C = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    # handles write-back with reduction-splitting
    if SPLIT_K == 1:
        tl.store(C, acc, mask=mask)
    else:
        tl.atomic_add(C, acc, mask=mask)


def matmul(a, b):
    M, K = a.shape
    _, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]), META["SPLIT_K"])
    _kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                  acc_dtype=tl.float32, GROUP_M=8)
    return c


@triton.jit
def gemm_splitk_partial(x_ptr, w_ptr, part_ptr, M, N, K, KS, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn, ps = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    m, n = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    lo = ps * KS
    hi = tl.minimum(lo + KS, K)
    for k0 in tl.range(lo, hi, BK, num_stages=3):
        k = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < hi), other=0.0)
        w = tl.load(w_ptr + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < hi), other=0.0)
        acc = tl.dot(x, w, acc)
    tl.store(part_ptr + (ps * M + m[:, None]) * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def reduce_partial(part_ptr, out_ptr, MN, S: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for s in tl.static_range(S):
        total += tl.load(part_ptr + s * MN + i, mask=i < MN, other=0)
    tl.store(out_ptr + i, total.to(out_ptr.type.element_ty), mask=i < MN)


def linear(x, w, splits=3):
    M, K = x.shape
    N = w.shape[0]
    part = torch.empty((splits, M, N), dtype=torch.float32, device=x.device)
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    KS = triton.cdiv(triton.cdiv(K, 16), splits) * 16
    gemm_splitk_partial[(triton.cdiv(M, 16), triton.cdiv(N, 32), splits)](x, w, part, M, N, K, KS, BM=16, BN=32, BK=16)
    reduce_partial[(triton.cdiv(M * N, 256),)](part, out, M * N, S=splits, BLOCK=256)
    return out


def check_atomics(device):
    for dtype, K in ((torch.float32, 64), (torch.float16, 70)):
        a, b = normal(20, K, device=device, dtype=dtype), normal(K, 37, device=device, dtype=dtype, seed=1)
        close(matmul(a, b), wide(a) @ wide(b), error=1e-6 if dtype == torch.float32 else 2e-3)


def check_partial_sums(device):
    x, w = normal(5, 150, device=device, dtype=torch.bfloat16), normal(50, 150, device=device, dtype=torch.bfloat16, seed=1)
    close(linear(x, w), wide(x) @ wide(w).T, error=1e-5)
