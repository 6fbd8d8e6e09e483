"""Short programs as beginners write them: outer sums, long sums, a fused loss, flash-like attention with vectors."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, wide


@triton.jit
def add_vec_block_kernel(x_ptr, y_ptr, z_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    block_id_x = tl.program_id(0)
    block_id_y = tl.program_id(1)
    range_x = tl.arange(0, B0) + block_id_x * B0
    range_y = tl.arange(0, B1) + block_id_y * B1
    x = tl.load(x_ptr + range_x, mask=range_x < N0, other=0)
    y = tl.load(y_ptr + range_y, mask=range_y < N1, other=0)
    range_z = range_y[:, None] * N0 + range_x[None, :]
    z = y[:, None] + x[None, :]
    tl.store(z_ptr + range_z, z, mask=(range_y < N1)[:, None] & (range_x < N0)[None, :])


@triton.jit
def mul_relu_block_back_kernel(x_ptr, y_ptr, dz_ptr, dx_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    i = tl.program_id(0) * B0 + tl.arange(0, B0)
    j = tl.program_id(1) * B1 + tl.arange(0, B1)
    ij = j[:, None] * N0 + i[None, :]
    mask = (j < N1)[:, None] & (i < N0)[None, :]
    x = tl.load(x_ptr + ij, mask=mask)
    y = tl.load(y_ptr + j, mask=j < N1)
    dz = tl.load(dz_ptr + ij, mask=mask)
    df = tl.where(x * y[:, None] > 0, 1.0, 0.0)
    dxy_x = y[:, None]
    tl.store(dx_ptr + ij, df * dxy_x * dz, mask=mask)


@triton.jit
def sum_kernel(x_ptr, z_ptr, T, B1: tl.constexpr):
    pid_0 = tl.program_id(0)
    s = 0.
    for id_1 in range(0, T, B1):
        off_1 = id_1 + tl.arange(0, B1)
        x = tl.load(x_ptr + pid_0 * T + off_1, off_1 < T, 0)
        s += tl.sum(x)
    tl.store(z_ptr + pid_0, s)


@triton.jit
def flash_vector_kernel(q_ptr, k_ptr, v_ptr, z_ptr, N0, T, B0: tl.constexpr):
    i = tl.program_id(0) * B0 + tl.arange(0, B0)
    q = tl.load(q_ptr + i, i < N0, 0)
    m = tl.full([B0], -1e30, dtype=tl.float32)
    l = tl.zeros([B0], dtype=tl.float32)
    acc = tl.zeros([B0], dtype=tl.float32)
    for j in range(T):
        s = q * tl.load(k_ptr + j)
        new = tl.maximum(m, s)
        scale, p = tl.exp(m - new), tl.exp(s - new)
        l, acc, m = l * scale + p, acc * scale + p * tl.load(v_ptr + j), new
    tl.store(z_ptr + i, acc / l, i < N0)


@triton.jit
def quant_dot_kernel(scale_ptr, offset_ptr, weight_ptr, activation_ptr, z_ptr, N0, N1, MID, B0: tl.constexpr, B1: tl.constexpr, B_MID: tl.constexpr):
    FPINT: tl.constexpr = 32 // 4
    GROUP: tl.constexpr = 8
    i = tl.program_id(0) * B0 + tl.arange(0, B0)
    j = tl.program_id(1) * B1 + tl.arange(0, B1)
    z = tl.zeros([B0, B1], tl.float32)
    for mid in range(0, MID, B_MID):
        k = mid + tl.arange(0, B_MID)
        mask = (i < N0)[:, None] & (k < MID)[None, :]
        scale = tl.load(scale_ptr + i[:, None] * (MID // GROUP) + k[None, :] // GROUP, mask, 0)
        packed = tl.load(weight_ptr + i[:, None] * (MID // FPINT) + k[None, :] // FPINT, mask, 0)
        offset = tl.load(offset_ptr + i[:, None] // FPINT * (MID // GROUP) + k[None, :] // GROUP, mask, 0)
        zero = (offset >> (i[:, None] % FPINT * 4)) & 0xF
        w = (packed >> (k[None, :] % FPINT * 4)) & 0xF
        a = tl.load(activation_ptr + k[:, None] * N1 + j[None, :], (k < MID)[:, None] & (j < N1)[None, :], 0)
        z += tl.dot(scale * (w - zero), a, input_precision="ieee")
    tl.store(z_ptr + i[:, None] * N1 + j[None, :], z, (i < N0)[:, None] & (j < N1)[None, :])


def check_outer_sum(device):
    x, y = normal(100, device=device), normal(90, device=device, seed=1)
    z = torch.empty(90, 100, device=device)
    add_vec_block_kernel[(4, 3)](x, y, z, 100, 90, B0=32, B1=32)
    close(z, wide(y)[:, None] + wide(x)[None, :], error=0, ulps=1)


def check_fused_loss(device):
    x, y, dz = normal(20, 50, device=device), normal(20, device=device, seed=1), normal(20, 50, device=device, seed=2)
    dx = torch.empty_like(x)
    mul_relu_block_back_kernel[(2, 2)](x, y, dz, dx, 50, 20, B0=32, B1=16)
    close(dx, (wide(x) * wide(y)[:, None] > 0) * wide(y)[:, None] * wide(dz), error=1e-6)


def check_long_sum(device):
    x = normal(4, 200, device=device)
    z = torch.empty(4, device=device)
    sum_kernel[(4,)](x, z, 200, B1=32)
    close(z, wide(x).sum(1), error=2e-6)


def check_attention_of_vectors(device):
    q, k, v = (normal(40, device=device, seed=s) for s in range(3))
    z = torch.empty_like(q)
    flash_vector_kernel[(2,)](q, k, v, z, 40, 40, B0=32)
    close(z, torch.softmax(wide(q)[:, None] * wide(k)[None, :], 1) @ wide(v), error=1e-6)


def check_quantized_product(device):
    N0, MID, N1 = 32, 64, 32
    w, zero = integers(0, 16, (N0, MID), device="cpu", dtype=torch.int64), integers(0, 16, (N0, MID // 8), device="cpu", dtype=torch.int64, seed=1)
    pack = lambda v, d: sum(v.unflatten(d, (-1, 8)).select(d + 1, s) << (4 * s) for s in range(8))
    scale, a = normal(N0, MID // 8, device=device), normal(MID, N1, device=device, seed=3)
    z = torch.empty(N0, N1, device=device)
    words = lambda v: torch.where(v >= 2**31, v - 2**32, v).to(torch.int32).to(device)
    quant_dot_kernel[(2, 2)](scale, words(pack(zero, 0)), words(pack(w, 1)), a, z, N0, N1, MID, B0=16, B1=16, B_MID=64)
    full = (w - zero.repeat_interleave(8, 1)) * wide(scale).repeat_interleave(8, 1)
    close(z, full @ wide(a), error=2e-6)
