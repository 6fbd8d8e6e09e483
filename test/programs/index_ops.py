"""Selecting and scattering: gather and scatter_add along a dimension, masked_select by prefix sums, nonzero, index_put."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, same, wide


@triton.jit
def gather_kernel(src, index, out, N, D, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.arange(0, BLOCK_K)[None, :]
    mask = (rows < N) & (cols < K)
    at = tl.load(index + rows * K + cols, mask=mask, other=0)
    at = tl.where(at < 0, at + D, at)
    tl.device_assert((at >= 0) & (at < D), "index out of range", mask=mask)
    tl.store(out + rows * K + cols, tl.load(src + rows * D + at, mask=mask), mask=mask)


@triton.jit
def scatter_add_kernel(out, index, src, N, D, K, REDUCE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)[None, :]
    mask = (rows < N) & (cols < K)
    at = tl.load(index + rows * K + cols, mask=mask, other=0)
    v = tl.load(src + rows * K + cols, mask=mask, other=0)
    if REDUCE == "sum":
        tl.atomic_add(out + rows * D + at, v, mask=mask, sem="relaxed")
    elif REDUCE == "amax":
        tl.atomic_max(out + rows * D + at, v, mask=mask, sem="relaxed")
    else:
        tl.static_assert(REDUCE == "amin")
        tl.atomic_min(out + rows * D + at, v, mask=mask, sem="relaxed")


@triton.jit
def masked_select_kernel(x, mask_ptr, prefix, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(mask_ptr + i, mask=i < n, other=0).to(tl.int1)
    place = tl.load(prefix + i, mask=i < n, other=0) - 1
    tl.store(out + place, tl.load(x + i, mask=keep & (i < n)), mask=keep)


@triton.jit
def nonzero_kernel(x, out, counter, n, cols, BLOCK: tl.constexpr):
    total = 0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        found = (tl.load(x + i, mask=i < n, other=0) != 0).to(tl.int32)
        place = total + tl.cumsum(found, axis=0) - found
        tl.store(out + place * 2, i // cols, mask=found != 0)
        tl.store(out + place * 2 + 1, i % cols, mask=found != 0)
        total += tl.sum(found)
    tl.store(counter, total)


def check_gather(device):
    src, index = normal(7, 20, device=device), integers(-20, 20, (7, 9), device=device, dtype=torch.int64)
    out = torch.empty(7, 9, device=device)
    gather_kernel[(2,)](src, index, out, 7, 20, 9, BLOCK_M=4, BLOCK_K=16)
    same(out, torch.gather(src.cpu(), 1, index.cpu() % 20))


def check_scatter(device):
    index = integers(0, 6, (5, 30), device=device, dtype=torch.int64)
    for reduce in ("sum", "amax", "amin"):
        src, out = normal(5, 30, device=device), normal(5, 6, device=device, seed=1)
        expected = wide(out).scatter_reduce(1, index.cpu(), wide(src), reduce)
        scatter_add_kernel[(2, 2)](out, index, src, 5, 6, 30, REDUCE=reduce, BLOCK_M=4, BLOCK_K=16)
        close(out, expected, error=1e-6)


def check_masked_select(device):
    x = normal(150, device=device)
    keep = x > 0.3
    out = torch.empty(int(keep.sum()), device=device)
    masked_select_kernel[(3,)](x, keep, keep.cumsum(0), out, 150, BLOCK=64)
    same(out, x.cpu()[keep.cpu()])


def check_nonzero(device):
    x = integers(0, 3, (11, 13), device=device) % 2
    out, counter = torch.zeros(143, 2, dtype=torch.int64, device=device), torch.zeros(1, dtype=torch.int32, device=device)
    nonzero_kernel[(1,)](x, out, counter, 143, 13, BLOCK=32)
    expected = x.cpu().nonzero()
    assert counter.item() == len(expected)
    same(out[:len(expected)], expected)
