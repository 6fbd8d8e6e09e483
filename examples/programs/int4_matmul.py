"""Weight-only products with four-bit weights packed along K in int32, a scale and a zero point a group of rows."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.autotune(configs=[triton.Config({"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8},
                                        num_stages=4, num_warps=4)], key=["M", "N", "K"])
@triton.jit
def matmul_248_kernel(a_ptr, b_ptr, c_ptr, scales_ptr, zeros_ptr, g_ptr, M, N, K, bits, maxq, stride_am, stride_ak, stride_bk,
                      stride_bn, stride_cm, stride_cn, stride_scales, stride_zeros, BLOCK_SIZE_M: tl.constexpr,
                      BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr):
    infearure_per_bits = 32 // bits
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_k = tl.cdiv(K, BLOCK_SIZE_K)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (pid % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m

    offs_am = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_bn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)  # (BLOCK_SIZE_M, BLOCK_SIZE_K)
    a_mask = (offs_am[:, None] < M)
    # b_ptrs is set up such that it repeats elements along the K axis 8 times
    b_ptrs = b_ptr + ((offs_k[:, None] // infearure_per_bits) * stride_bk + offs_bn[None, :] * stride_bn)
    g_ptrs = g_ptr + offs_k
    # shifter is used to extract the N bits of each element in the 32-bit word from B
    scales_ptrs = scales_ptr + offs_bn[None, :]
    zeros_ptrs = zeros_ptr + (offs_bn[None, :] // infearure_per_bits)
    shifter = (offs_k % infearure_per_bits) * bits
    zeros_shifter = (offs_bn % infearure_per_bits) * bits
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)

    for k in range(0, num_pid_k):
        g_idx = tl.load(g_ptrs)
        # Fetch scales and zeros; these are per-outfeature and thus reused in the inner loop
        scales = tl.load(scales_ptrs + g_idx[:, None] * stride_scales)  # (BLOCK_SIZE_K, BLOCK_SIZE_N,)
        zeros = tl.load(zeros_ptrs + g_idx[:, None] * stride_zeros)  # (BLOCK_SIZE_K, BLOCK_SIZE_N,)
        zeros = (zeros >> zeros_shifter[None, :]) & maxq
        zeros = (zeros + 1)
        a = tl.load(a_ptrs, mask=a_mask, other=0.)  # (BLOCK_SIZE_M, BLOCK_SIZE_K)
        b = tl.load(b_ptrs)  # (BLOCK_SIZE_K, BLOCK_SIZE_N), but repeated
        # Now we need to unpack b (which is N-bit values) into 32-bit values
        b = (b >> shifter[:, None]) & maxq  # Extract the N-bit values
        b = (b - zeros) * scales  # Scale and shift
        accumulator += tl.dot(a, b.to(a.dtype))
        a_ptrs += BLOCK_SIZE_K
        b_ptrs += (BLOCK_SIZE_K // infearure_per_bits) * stride_bk
        g_ptrs += BLOCK_SIZE_K
    c_ptrs = c_ptr + stride_cm * offs_am[:, None] + stride_cn * offs_bn[None, :]
    c_mask = (offs_am[:, None] < M) & (offs_bn[None, :] < N)
    tl.store(c_ptrs, accumulator, mask=c_mask)


def pack(values, dim, bits=4):
    """Integers below 2^bits in int32 words, 32 / bits of them along `dim`."""
    count = 32 // bits
    values = values.movedim(dim, -1).to(torch.int64)
    words = (values.reshape(*values.shape[:-1], -1, count) << (torch.arange(count) * bits)).sum(-1)
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32).movedim(-1, dim).contiguous()


def matmul248(x, qweight, scales, qzeros, g_idx, bits=4):
    out = torch.empty((x.shape[0], qweight.shape[1]), device=x.device, dtype=torch.float16)
    grid = lambda META: (triton.cdiv(x.shape[0], META["BLOCK_SIZE_M"]) * triton.cdiv(qweight.shape[1], META["BLOCK_SIZE_N"]),)
    matmul_248_kernel[grid](x, qweight, out, scales, qzeros, g_idx, x.shape[0], qweight.shape[1], x.shape[1], bits, 2**bits - 1,
                            x.stride(0), x.stride(1), qweight.stride(0), qweight.stride(1), out.stride(0), out.stride(1),
                            scales.stride(0), qzeros.stride(0))
    return out


@triton.jit
def awq_unpack_kernel(q_ptr, s_ptr, out_ptr, rows, words, BLOCK_Y: tl.constexpr, BLOCK_X: tl.constexpr):
    y = tl.program_id(1) * BLOCK_Y + tl.arange(0, BLOCK_Y)
    x = tl.program_id(0) * BLOCK_X + tl.arange(0, BLOCK_X)
    mask = (y < rows)[:, None] & (x < words)[None, :]
    q = tl.load(q_ptr + y[:, None] * words + x[None, :], mask, 0)
    q = tl.interleave(q, q)
    q = tl.interleave(q, q)
    q = tl.interleave(q, q)
    # the order in which eight values lie in a word: 0, 4, 1, 5, 2, 6, 3, 7
    order = ((tl.arange(0, 2) * 4)[None, :] + tl.arange(0, 4)[:, None]).reshape(8)
    shifts = tl.reshape(tl.broadcast_to((order * 4)[None, :], (BLOCK_Y * BLOCK_X, 8)), (BLOCK_Y, BLOCK_X * 8))
    value = ((q >> shifts) & 0xF) - 8
    cols = tl.program_id(0) * BLOCK_X * 8 + tl.arange(0, BLOCK_X * 8)
    omask = (y < rows)[:, None] & (cols < words * 8)[None, :]
    scale = tl.load(s_ptr + cols, cols < words * 8, 0.0)
    tl.store(out_ptr + y[:, None] * words * 8 + cols[None, :], value.to(tl.float16) * scale[None, :], omask)


def check_grouped_product(device):
    M, N, K, group = 5, 64, 96, 32
    generator = torch.Generator().manual_seed(0)
    weights, zeros = (torch.randint(0, 16, shape, generator=generator) for shape in ((K, N), (K // group, N)))
    scales = normal(K // group, N, device="cpu", dtype=torch.float16).abs() / 8
    g_idx = torch.arange(K, dtype=torch.int32) // group
    x = normal(M, K, device=device, dtype=torch.float16, seed=1)
    out = matmul248(x, pack(weights, 0).to(device), scales.to(device), pack(zeros, 1).to(device), g_idx.to(device))
    dequantized = ((weights - zeros[g_idx.long()] - 1) * scales[g_idx.long()]).to(torch.float16)
    close(out, wide(x) @ wide(dequantized), error=1e-3)


def check_unpacking(device):
    rows, words = 5, 6
    values = torch.randint(0, 16, (rows, words, 8), generator=torch.Generator().manual_seed(0))
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])
    stored = torch.empty_like(values)
    stored[..., order] = values
    scale = normal(words * 8, device=device, dtype=torch.float16)
    out = torch.empty(rows, words * 8, dtype=torch.float16, device=device)
    awq_unpack_kernel[(2, 2)](pack(stored.reshape(rows, -1), 1).to(device), scale, out, rows, words, BLOCK_Y=4, BLOCK_X=4)
    close(out, wide(values.reshape(rows, -1) - 8) * wide(scale), error=0, ulps=1)
