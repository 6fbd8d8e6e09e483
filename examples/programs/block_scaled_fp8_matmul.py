"""Groups of a row as 8-bit floats with a scale each, and a product of such operands."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def _per_token_group_quant_8bit(y_ptr, y_q_ptr, y_s_ptr, y_stride, N, eps, bit8_min, bit8_max, SCALE_UE8M0: tl.constexpr,
                                BLOCK: tl.constexpr):
    g_id = tl.program_id(0)
    y_ptr += g_id * y_stride
    y_q_ptr += g_id * y_stride
    y_s_ptr += g_id
    cols = tl.arange(0, BLOCK)  # N <= BLOCK
    mask = cols < N
    y = tl.load(y_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    _absmax = tl.maximum(tl.max(tl.abs(y)), eps)
    y_s = _absmax / bit8_max
    if SCALE_UE8M0:
        y_s = tl.exp2(tl.ceil(tl.log2(tl.abs(y_s))))
    y_q = tl.clamp(y / y_s, bit8_min, bit8_max).to(y_q_ptr.dtype.element_ty)
    tl.store(y_q_ptr + cols, y_q, mask=mask)
    tl.store(y_s_ptr, y_s)


def quantize(x, group, dtype=torch.float8_e4m3fn, ue8m0=False):
    info = torch.finfo(dtype)
    x_q = torch.empty_like(x, dtype=dtype)
    x_s = torch.empty(x.shape[:-1] + (x.shape[-1] // group,), device=x.device, dtype=torch.float32)
    M = x.numel() // group
    BLOCK = triton.next_power_of_2(group)
    num_warps = min(max(BLOCK // 256, 1), 8)
    _per_token_group_quant_8bit[(M,)](x, x_q, x_s, group, group, 1e-10, bit8_min=info.min, bit8_max=info.max, SCALE_UE8M0=ue8m0,
                                      BLOCK=BLOCK, num_warps=num_warps, num_stages=1)
    return x_q, x_s


@triton.jit
def _w8a8_block_fp8_matmul(A, B, C, As, Bs, M, N, K, group_n, group_k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
                           stride_cn, stride_As_m, stride_As_k, stride_Bs_k, stride_Bs_n, needs_masking: tl.constexpr,
                           BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
                           GROUP_SIZE_M: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (pid % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = A + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = B + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    As_ptrs = As + offs_am * stride_As_m
    offs_bsn = offs_bn // group_n
    Bs_ptrs = Bs + offs_bsn * stride_Bs_n
    scale_step_k = BLOCK_SIZE_K // group_k
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        if needs_masking:
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        else:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        a_s = tl.load(As_ptrs)
        b_s = tl.load(Bs_ptrs)
        accumulator += tl.dot(a, b) * a_s[:, None] * b_s[None, :]
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
        As_ptrs += scale_step_k * stride_As_k
        Bs_ptrs += scale_step_k * stride_Bs_k
    if C.dtype.element_ty == tl.bfloat16:
        c = accumulator.to(tl.bfloat16)
    elif C.dtype.element_ty == tl.float16:
        c = accumulator.to(tl.float16)
    else:
        c = accumulator.to(tl.float32)
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = C + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def check_groups(device):
    x = normal(3, 96, device=device, dtype=torch.bfloat16, scale=3)
    for ue8m0 in (False, True):
        q, s = quantize(x, 32, ue8m0=ue8m0)
        scale = wide(x).reshape(3, 3, 32).abs().amax(-1) / 448
        scale = torch.exp2(torch.ceil(torch.log2(scale))) if ue8m0 else scale
        close(s, scale, error=0, ulps=3)
        back = q.float().cpu().double().reshape(3, 3, 32) * wide(s)[..., None]
        assert ((back - wide(x).reshape(3, 3, 32)).abs() <= wide(x).reshape(3, 3, 32).abs() / 15 + wide(s)[..., None] * 2.0**-9).all()


def check_product(device):
    M, N, K, group = 20, 40, 96, 32
    a, a_s = quantize(normal(M, K, device=device), group)
    w = normal(N, K, device=device, seed=1)
    b_s = torch.empty(2, 3, device=device)
    b = torch.empty(N, K, device=device, dtype=torch.float8_e4m3fn)
    for n in range(2):
        for k in range(3):
            block = w[n * 32:(n + 1) * 32, k * 32:(k + 1) * 32]
            b_s[n, k] = block.abs().max() / 448
            b[n * 32:(n + 1) * 32, k * 32:(k + 1) * 32] = (block / b_s[n, k]).to(b.dtype)
    c = torch.empty(M, N, device=device, dtype=torch.bfloat16)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 32),)
    _w8a8_block_fp8_matmul[grid](a, b, c, a_s, b_s, M, N, K, 32, group, a.stride(0), a.stride(1), b.stride(1), b.stride(0), c.stride(0),
                                 c.stride(1), a_s.stride(0), a_s.stride(1), b_s.stride(1), b_s.stride(0), needs_masking=False,
                                 BLOCK_SIZE_M=16, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32, GROUP_SIZE_M=4)
    ad = a.float().cpu().double().reshape(M, 3, 32) * wide(a_s)[..., None]
    bd = b.float().cpu().double().reshape(N, 3, 32) * wide(b_s)[torch.arange(N) // 32][..., None]
    close(c, ad.reshape(M, K) @ bd.reshape(N, K).T, error=1e-5)
