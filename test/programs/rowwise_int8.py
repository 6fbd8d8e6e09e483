"""Quantization by rows to int8 and back, and a product of int8 matrices that is scaled at its end."""
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from beside import close, normal, same, wide


@triton.autotune(configs=[triton.Config({}, num_stages=1, num_warps=8), triton.Config({}, num_stages=2, num_warps=4)], key=["n_elements"])
@triton.jit
def _quantize_rowwise(x_ptr, output_ptr, output_maxs, n_elements, BLOCK_SIZE: tl.constexpr, P2: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    arange = tl.arange(0, P2)
    offsets = block_start + arange
    row_mask = arange < BLOCK_SIZE
    x = tl.load(x_ptr + offsets, mask=row_mask)
    abs_x = tl.abs(x)
    max_val = tl.max(tl.where(row_mask, abs_x, 0), axis=0)
    output = libdevice.llrint(127.0 * (x / max_val))
    tl.store(output_ptr + offsets, output, mask=row_mask)
    tl.store(output_maxs + pid, max_val)


@triton.jit
def _dequantize_rowwise(x_ptr, state_x, output_ptr, inv_127, n_elements, BLOCK_SIZE: tl.constexpr, P2: tl.constexpr):
    pid = tl.program_id(axis=0)
    arange = tl.arange(0, P2)
    offsets = pid * BLOCK_SIZE + arange
    row_mask = arange < BLOCK_SIZE
    x = tl.load(x_ptr + offsets, mask=row_mask)
    max_val = tl.load(state_x + pid)
    output = max_val * x * inv_127
    tl.store(output_ptr + offsets, output, mask=row_mask)


def quantize_rowwise(x):
    output = torch.empty(*x.shape, device=x.device, dtype=torch.int8)
    output_maxs = torch.empty(x.shape[0], device=x.device, dtype=torch.float16)
    P2 = triton.next_power_of_2(x.shape[1])
    grid = lambda meta: (x.shape[0],)
    _quantize_rowwise[grid](x, output, output_maxs, output.numel(), BLOCK_SIZE=x.shape[1], P2=P2)
    return output, output_maxs


@triton.jit
def _int8_matmul_rowwise_dequantize(A, B, C, bias, state_x_ptr, state_w_ptr, M, N, K, divfactor, has_bias: tl.constexpr,
                                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = A + (rm[:, None] * K + rk[None, :])
    B = B + (rn[None, :] * K + rk[:, None])
    w_factor = tl.load(state_w_ptr + rn, rn < N)[None, :]
    x_factor = tl.load(state_x_ptr + rm, rm < M)[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        k_remaining = K - k * BLOCK_K
        a = tl.load(A, mask=(rk[None, :] < k_remaining) & (rm[:, None] < M), other=0)
        b = tl.load(B, mask=(rk[:, None] < k_remaining) & (rn[None, :] < N), other=0)
        acc += tl.dot(a, b)
        A += BLOCK_K
        B += BLOCK_K
    acc = (w_factor * (x_factor * (acc * divfactor)))
    acc = acc.to(C.dtype.element_ty)
    if has_bias:
        acc = acc + tl.load(bias + rn, rn < N).to(C.dtype.element_ty)[None, :]
    tl.store(C + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


def check_round_trip(device):
    x = normal(5, 100, device=device, dtype=torch.float16)
    q, maxs = quantize_rowwise(x)
    same(maxs, x.abs().amax(1))
    back = torch.empty_like(x)
    _dequantize_rowwise[(5,)](q, maxs, back, 1 / 127.0, x.numel(), BLOCK_SIZE=100, P2=128)
    assert ((wide(back) - wide(x)).abs() <= wide(maxs)[:, None] / 127 * 0.55 + 1e-3).all()


def check_product(device):
    M, N, K = 20, 40, 70
    a, b = (torch.randint(-127, 128, shape, generator=torch.Generator().manual_seed(i)).to(torch.int8).to(device)
            for i, shape in enumerate(((M, K), (N, K))))
    sx, sw, bias = (normal(n, device=device, dtype=torch.float16, seed=s).abs() + 0.5 for s, n in enumerate((M, N, N)))
    c = torch.empty(M, N, dtype=torch.float16, device=device)
    _int8_matmul_rowwise_dequantize[(2, 2)](a, b, c, bias, sx, sw, M, N, K, 1.0 / (127 * 127), True, BLOCK_M=16, BLOCK_N=32, BLOCK_K=32)
    close(c, wide(a) @ wide(b).T / 127**2 * wide(sx)[:, None] * wide(sw) + wide(bias), error=3e-3)
