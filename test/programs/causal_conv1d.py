"""Causal depthwise convolution over time with a bias and SiLU; one more output at a time from a rolling state."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit()
def _causal_conv1d_fwd_kernel(x_ptr, w_ptr, bias_ptr, o_ptr, dim: tl.constexpr, seqlen, stride_xb, stride_xd, stride_xt,
                              HAS_BIAS: tl.constexpr, KERNEL_WIDTH: tl.constexpr, SILU_ACTIVATION: tl.constexpr, BLOCK_T: tl.constexpr,
                              BLOCK_D: tl.constexpr):
    idx_b, idx_t, idx_d = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    d = idx_d * BLOCK_D + tl.arange(0, BLOCK_D)
    t = idx_t * BLOCK_T + tl.arange(0, BLOCK_T)
    mask_d = d < dim
    if HAS_BIAS:
        acc_preload = tl.load(bias_ptr + d, mask=mask_d, other=0.0).to(tl.float32)
    else:
        acc_preload = tl.zeros((BLOCK_D,), dtype=tl.float32)
    acc = tl.broadcast_to(acc_preload[:, None], (BLOCK_D, BLOCK_T))
    for j in tl.static_range(KERNEL_WIDTH):
        w = tl.load(w_ptr + d * KERNEL_WIDTH + j, mask=mask_d, other=0.0)
        at = t - (KERNEL_WIDTH - 1) + j
        x = tl.load(x_ptr + idx_b * stride_xb + d[:, None] * stride_xd + at[None, :] * stride_xt,
                    mask=mask_d[:, None] & (at >= 0)[None, :] & (at < seqlen)[None, :], other=0.0)
        acc += x * w[:, None]
    if SILU_ACTIVATION:
        acc = acc / (1 + tl.exp(-acc))
    tl.store(o_ptr + idx_b * stride_xb + d[:, None] * stride_xd + t[None, :] * stride_xt, acc, mask=mask_d[:, None] & (t < seqlen)[None, :])


@triton.jit()
def _causal_conv1d_update_kernel(x_ptr, state_ptr, w_ptr, o_ptr, dim, KERNEL_WIDTH: tl.constexpr, BLOCK_D: tl.constexpr):
    tl.static_assert(KERNEL_WIDTH >= 2 and KERNEL_WIDTH <= 4, f"a width of {KERNEL_WIDTH} is not supported")
    idx_b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = d < dim
    x = tl.load(x_ptr + idx_b * dim + d, mask=mask, other=0.0)
    state = state_ptr + (idx_b * dim + d) * (KERNEL_WIDTH - 1)
    w = w_ptr + d * KERNEL_WIDTH
    acc = x * tl.load(w + KERNEL_WIDTH - 1, mask=mask, other=0.0)
    if KERNEL_WIDTH >= 2:
        col0 = tl.load(state, mask=mask, other=0.0)
        acc += col0 * tl.load(w, mask=mask, other=0.0)
    if KERNEL_WIDTH >= 3:
        col1 = tl.load(state + 1, mask=mask, other=0.0)
        acc += col1 * tl.load(w + 1, mask=mask, other=0.0)
        tl.store(state, col1, mask=mask)
    if KERNEL_WIDTH >= 4:
        col2 = tl.load(state + 2, mask=mask, other=0.0)
        acc += col2 * tl.load(w + 2, mask=mask, other=0.0)
        tl.store(state + 1, col2, mask=mask)
    tl.store(state + KERNEL_WIDTH - 2, x, mask=mask)
    tl.store(o_ptr + idx_b * dim + d, acc, mask=mask)


def check_sequence(device):
    batch, dim, seqlen = 2, 13, 37
    for width, silu, has_bias in ((4, True, True), (2, False, False)):
        x, w = normal(batch, dim, seqlen, device=device), normal(dim, width, device=device, seed=1)
        bias = normal(dim, device=device, seed=2) if has_bias else None
        o = torch.empty_like(x)
        _causal_conv1d_fwd_kernel[(batch, triton.cdiv(seqlen, 16), triton.cdiv(dim, 8))](
            x, w, bias, o, dim, seqlen, *x.stride(), HAS_BIAS=has_bias, KERNEL_WIDTH=width, SILU_ACTIVATION=silu, BLOCK_T=16, BLOCK_D=8)
        y = torch.nn.functional.conv1d(wide(x), wide(w)[:, None], None if bias is None else wide(bias), padding=width - 1, groups=dim)[..., :seqlen]
        close(o, torch.nn.functional.silu(y) if silu else y, error=2e-6)


def check_update(device):
    for width in (2, 3, 4):
        x, state, w = normal(2, 9, device=device), normal(2, 9, width - 1, device=device, seed=1), normal(9, width, device=device, seed=2)
        full = torch.cat([wide(state), wide(x)[..., None]], -1)
        o = torch.empty_like(x)
        _causal_conv1d_update_kernel[(2, 2)](x, state, w, o, 9, KERNEL_WIDTH=width, BLOCK_D=8)
        close(o, (full * wide(w)).sum(-1), error=1e-6)
        close(state, full[..., 1:], error=0, ulps=0)
