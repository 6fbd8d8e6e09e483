"""Rotary embeddings in place: halves or interleaved pairs, queries and keys in one launch, tables by position."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def _triton_rope(q_ptr, q_row_stride, k_ptr, k_row_stride, cos, cos_row_stride, sin, sin_row_stride, sl, n_qh: tl.constexpr,
                 n_kh: tl.constexpr, hd: tl.constexpr, pad_n_qh: tl.constexpr, pad_n_kh: tl.constexpr, pad_hd: tl.constexpr,
                 BACKWARD_PASS: tl.constexpr = False):
    pid = tl.program_id(0).to(tl.int64)
    q_ptr = q_ptr + pid * q_row_stride
    k_ptr = k_ptr + pid * k_row_stride
    row_idx = pid % sl
    cos = cos + row_idx * cos_row_stride
    sin = sin + row_idx * sin_row_stride
    cos_offsets = tl.arange(0, pad_hd // 2)
    cos_mask = cos_offsets < hd // 2
    cos_row = tl.load(cos + cos_offsets, mask=cos_mask, other=0)
    sin_row = tl.load(sin + cos_offsets, mask=cos_mask, other=0)

    first_half_q_offsets = tl.arange(0, pad_n_qh)[:, None] * hd + tl.arange(0, pad_hd // 2)[None, :]
    first_half_k_offsets = tl.arange(0, pad_n_kh)[:, None] * hd + tl.arange(0, pad_hd // 2)[None, :]
    first_q_mask = (tl.arange(0, pad_n_qh)[:, None] < n_qh) & (tl.arange(0, pad_hd // 2)[None, :] < hd // 2)
    first_k_mask = (tl.arange(0, pad_n_kh)[:, None] < n_kh) & (tl.arange(0, pad_hd // 2)[None, :] < hd // 2)
    q_tile_1 = tl.load(q_ptr + first_half_q_offsets, mask=first_q_mask, other=0).to(sin_row.dtype)
    k_tile_1 = tl.load(k_ptr + first_half_k_offsets, mask=first_k_mask, other=0).to(sin_row.dtype)
    second_half_q_offsets = first_half_q_offsets + (hd // 2)
    second_half_k_offsets = first_half_k_offsets + (hd // 2)
    q_tile_2 = tl.load(q_ptr + second_half_q_offsets, mask=first_q_mask, other=0).to(sin_row.dtype)
    k_tile_2 = tl.load(k_ptr + second_half_k_offsets, mask=first_k_mask, other=0).to(sin_row.dtype)

    if not BACKWARD_PASS:
        new_q_tile_1 = q_tile_1 * cos_row - q_tile_2 * sin_row
        tl.store(q_ptr + first_half_q_offsets, new_q_tile_1, mask=first_q_mask)
        new_q_tile_2 = q_tile_2 * cos_row + q_tile_1 * sin_row
        tl.store(q_ptr + second_half_q_offsets, new_q_tile_2, mask=first_q_mask)
        new_k_tile_1 = k_tile_1 * cos_row - k_tile_2 * sin_row
        tl.store(k_ptr + first_half_k_offsets, new_k_tile_1, mask=first_k_mask)
        new_k_tile_2 = k_tile_2 * cos_row + k_tile_1 * sin_row
        tl.store(k_ptr + second_half_k_offsets, new_k_tile_2, mask=first_k_mask)
    else:
        tl.store(q_ptr + first_half_q_offsets, q_tile_1 * cos_row + q_tile_2 * sin_row, mask=first_q_mask)
        tl.store(q_ptr + second_half_q_offsets, q_tile_2 * cos_row - q_tile_1 * sin_row, mask=first_q_mask)
        tl.store(k_ptr + first_half_k_offsets, k_tile_1 * cos_row + k_tile_2 * sin_row, mask=first_k_mask)
        tl.store(k_ptr + second_half_k_offsets, k_tile_2 * cos_row - k_tile_1 * sin_row, mask=first_k_mask)


def rope(q, k, cos, sin, backward=False):
    batch, sl, n_q, hd = q.shape
    n_k = k.shape[2]
    _triton_rope[(batch * sl,)](q, q.stride(1), k, k.stride(1), cos, cos.stride(0), sin, sin.stride(0), sl, n_q, n_k, hd,
                                triton.next_power_of_2(n_q), triton.next_power_of_2(n_k), triton.next_power_of_2(hd),
                                BACKWARD_PASS=backward)
    return q, k


@triton.jit
def rotary_kernel(OUT, X, COS, SIN, CU_SEQLENS, SEQLEN_OFFSETS, seqlen, rotary_dim, stride_out_seqlen, stride_out_nheads,
                  stride_x_seqlen, stride_x_nheads, BLOCK_K: tl.constexpr, IS_SEQLEN_OFFSETS_TENSOR: tl.constexpr,
                  INTERLEAVED: tl.constexpr, CONJUGATE: tl.constexpr, BLOCK_M: tl.constexpr):
    pid_m = tl.program_id(axis=0)
    pid_head = tl.program_id(axis=1)
    pid_batch = tl.program_id(axis=2)
    rotary_dim_half = rotary_dim // 2
    start_idx = tl.load(CU_SEQLENS + pid_batch)
    seqlen = tl.load(CU_SEQLENS + pid_batch + 1) - start_idx
    X = X + start_idx * stride_x_seqlen + pid_head * stride_x_nheads
    OUT = OUT + start_idx * stride_out_seqlen + pid_head * stride_out_nheads
    if pid_m * BLOCK_M >= seqlen:
        return
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    if not IS_SEQLEN_OFFSETS_TENSOR:
        rm_cs = rm + SEQLEN_OFFSETS
    else:
        rm_cs = rm + tl.load(SEQLEN_OFFSETS + pid_batch)
    rk = tl.arange(0, BLOCK_K)
    # Load the 1st and 2nd halves of X or, interleaved, X[0, 1, 2, 3, ...] and X[1, 0, 3, 2, ...]
    rk_swap = rk + ((rk + 1) % 2) * 2 - 1
    rk_repeat = rk // 2
    if not INTERLEAVED:
        rk_half = tl.arange(0, BLOCK_K // 2)
        X = X + (rm[:, None] * stride_x_seqlen + rk_half[None, :])
        COS = COS + (rm_cs[:, None] * rotary_dim_half + rk_half[None, :])
        SIN = SIN + (rm_cs[:, None] * rotary_dim_half + rk_half[None, :])
        mask = (rm[:, None] < seqlen) & (rk_half[None, :] < rotary_dim_half)
        cos = tl.load(COS, mask=mask, other=1.0).to(tl.float32)
        sin = tl.load(SIN, mask=mask, other=0.0).to(tl.float32)
        x0 = tl.load(X, mask=mask, other=0.0).to(tl.float32)
        x1 = tl.load(X + rotary_dim_half, mask=mask, other=0.0).to(tl.float32)
        if CONJUGATE:
            sin = -sin
        o0 = x0 * cos - x1 * sin
        o1 = x0 * sin + x1 * cos
        OUT = OUT + (rm[:, None] * stride_out_seqlen + rk_half[None, :])
        tl.store(OUT, o0, mask=mask)
        tl.store(OUT + rotary_dim_half, o1, mask=mask)
    else:
        X0 = X + (rm[:, None] * stride_x_seqlen + rk[None, :])
        X1 = X + (rm[:, None] * stride_x_seqlen + rk_swap[None, :])
        COS = COS + (rm_cs[:, None] * rotary_dim_half + rk_repeat[None, :])
        SIN = SIN + (rm_cs[:, None] * rotary_dim_half + rk_repeat[None, :])
        mask = (rm[:, None] < seqlen) & (rk[None, :] < rotary_dim)
        cos = tl.load(COS, mask=mask, other=1.0).to(tl.float32)
        sin = tl.load(SIN, mask=mask, other=0.0).to(tl.float32)
        x0 = tl.load(X0, mask=mask, other=0.0).to(tl.float32)
        x1 = tl.load(X1, mask=mask, other=0.0).to(tl.float32)
        if CONJUGATE:
            sin = -sin
        x0_cos = x0 * cos
        x1_sin = x1 * sin
        out = tl.where(rk[None, :] % 2 == 0, x0_cos - x1_sin, x0_cos + x1_sin)
        OUT = OUT + (rm[:, None] * stride_out_seqlen + rk[None, :])
        tl.store(OUT, out, mask=mask)


def tables(length, dim):
    angles = torch.arange(length).double()[:, None] * 10000.0**-(torch.arange(dim // 2).double() * 2 / dim)
    return torch.cos(angles), torch.sin(angles)


def turned(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def check_queries_and_keys_in_place(device):
    cos, sin = (t.float() for t in tables(7, 12))
    q, k = normal(2, 7, 5, 12, device=device), normal(2, 7, 2, 12, device=device, seed=1)
    q0, k0 = wide(q), wide(k)
    rope(q, k, cos.to(device), sin.to(device))
    c, s = wide(cos)[:, None], wide(sin)[:, None]
    close(q, turned(q0, c, s), error=1e-6)
    close(k, turned(k0, c, s), error=1e-6)
    rope(q, k, cos.to(device), sin.to(device), backward=True)
    close(q, q0, error=2e-6)


def check_sequences_of_different_lengths(device):
    lengths, dim, heads = [5, 0, 9], 10, 3
    ends = torch.tensor([0, 5, 5, 14], dtype=torch.int32, device=device)
    cos, sin = (t.float().to(device) for t in tables(20, dim))
    x = normal(14, heads, dim, device=device, dtype=torch.bfloat16)
    offsets = torch.tensor([3, 0, 1], dtype=torch.int32, device=device)
    for interleaved in (False, True):
        for shift in (2, offsets):
            out = torch.zeros_like(x)
            grid = lambda META: (triton.cdiv(9, META["BLOCK_M"]), heads, 3)
            rotary_kernel[grid](out, x, cos, sin, ends, shift, 14, dim, out.stride(0), out.stride(1), x.stride(0), x.stride(1),
                                BLOCK_K=16, IS_SEQLEN_OFFSETS_TENSOR=isinstance(shift, torch.Tensor), INTERLEAVED=interleaved,
                                CONJUGATE=False, BLOCK_M=4)
            at = torch.cat([torch.arange(n) + (shift if isinstance(shift, int) else int(shift[i])) for i, n in enumerate(lengths)])
            c, s, xs = wide(cos)[at][:, None], wide(sin)[at][:, None], wide(x)
            if interleaved:
                a, b = xs[..., 0::2], xs[..., 1::2]
                expected = torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)
            else:
                expected = turned(xs, c, s)
            close(out, expected, error=1e-6)
