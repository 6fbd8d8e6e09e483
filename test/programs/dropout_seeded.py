"""Dropout whose mask is drawn anew in the backward pass from its seed, and fused with bias and residual."""
import torch
import triton
import triton.language as tl

from beside import close, normal, same, wide


@triton.jit
def _seeded_dropout(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    # compute memory offsets of elements handled by this instance
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    # randomly prune it
    random = tl.rand(seed, offsets)
    x_keep = random > p
    output = tl.where(x_keep, x / (1 - p), 0.0)
    tl.store(output_ptr + offsets, output, mask=mask)


def seeded_dropout(x, p, seed):
    output = torch.empty_like(x)
    assert x.is_contiguous()
    n_elements = x.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    _seeded_dropout[grid](x, output, n_elements, p, seed, BLOCK_SIZE=128)
    return output


@triton.jit
def get_4_bin_masks(seed, rand_offsets, p):
    seed = tl.load(seed)
    rand1, rand2, rand3, rand4 = tl.rand4x(seed, rand_offsets)
    return rand1 > p, rand2 > p, rand3 > p, rand4 > p


@triton.jit
def k_dropout_fw(X, Y, BIAS, SEEDS, stride, M, N, p: tl.constexpr, x_fp16: tl.constexpr, BLOCK_M: tl.constexpr, SIZE_RAND: tl.constexpr):
    BLOCK_N: tl.constexpr = 4 * SIZE_RAND
    row_id = tl.program_id(0)
    col_id = tl.program_id(1)
    rows = row_id * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = col_id * BLOCK_N + tl.arange(0, BLOCK_N)
    x_ptrs = X + rows[:, None] * stride + cols[None, :]
    col_mask = cols < N
    p_scale = 1 / (1 - p)
    bias = tl.load(BIAS + cols, mask=col_mask, other=0.)
    block_mask = (rows < M)[:, None] & col_mask[None, :]
    x = tl.load(x_ptrs, mask=block_mask, other=0.0)
    x += bias[None, :]
    rand = tl.arange(0, SIZE_RAND)
    rand_offsets = rows[:, None] * (SIZE_RAND * 131) + rand[None, :]
    m1, m2, m3, m4 = get_4_bin_masks(SEEDS + col_id, rand_offsets, p)
    keep = tl.join(tl.join(m1, m2), tl.join(m3, m4)).reshape(BLOCK_M, BLOCK_N)
    output = tl.where(keep, (x * p_scale).to(x.dtype), 0.)
    tl.store(Y + rows[:, None] * stride + cols[None, :], output, mask=block_mask)


def check_the_mask_is_drawn_again(device):
    x = torch.ones(1000, device=device)
    y = seeded_dropout(x, 0.5, 123)
    same(y, seeded_dropout(x, 0.5, 123))
    assert (seeded_dropout(x, 0.5, 512) != y).any()
    kept = (y != 0).float().mean().item()
    assert 0.42 < kept < 0.58 and set(y.tolist()) == {0.0, 2.0}


def check_bias_and_tiles(device):
    x, bias = normal(9, 100, device=device, dtype=torch.float16), normal(100, device=device, dtype=torch.float16, seed=1)
    y, seeds = torch.empty_like(x), torch.tensor([5, 6, 7, 8], device=device)
    k_dropout_fw[(3, 4)](x, y, bias, seeds, x.stride(0), 9, 100, 0.3, True, BLOCK_M=4, SIZE_RAND=8)
    kept = y != 0
    assert 0.6 < kept.float().mean().item() < 0.8
    close(y, ((wide(x) + wide(bias)).to(torch.float16).double() / 0.7).masked_fill(~kept.cpu(), 0), error=2e-3)
