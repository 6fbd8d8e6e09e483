"""Runs of equal values: unique values with counts, by flags, a prefix sum over blocks and scattered stores."""
import torch
import triton
import triton.language as tl

from beside import integers, same


@triton.jit
def is_first(x_ptr, i, n):
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    before = tl.load(x_ptr + i - 1, mask=(i > 0) & (i < n), other=0)
    return x, ((i == 0) | (x != before)) & (i < n)


@triton.jit
def count_runs_kernel(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    _, first = is_first(x_ptr, i, n)
    tl.store(counts_ptr + tl.program_id(0), tl.sum(first.to(tl.int32)))


@triton.jit
def write_runs_kernel(x_ptr, counts_ptr, values_ptr, starts_ptr, total_ptr, n, blocks, BLOCK: tl.constexpr, MAX_BLOCKS: tl.constexpr):
    pid = tl.program_id(0)
    b = tl.arange(0, MAX_BLOCKS)
    counts = tl.load(counts_ptr + b, mask=b < blocks, other=0)
    base = tl.sum(tl.where(b < pid, counts, 0))
    i = pid * BLOCK + tl.arange(0, BLOCK)
    x, first = is_first(x_ptr, i, n)
    place = base + tl.cumsum(first.to(tl.int32)) - 1
    tl.store(values_ptr + place, x, mask=first)
    tl.store(starts_ptr + place, i, mask=first)
    if pid == blocks - 1:
        total = tl.sum(counts)
        tl.store(total_ptr, total)
        tl.store(starts_ptr + total, n)


def unique_consecutive(x, BLOCK=32):
    n, device = x.numel(), x.device
    blocks = triton.cdiv(n, BLOCK)
    counts, total = torch.empty(blocks, dtype=torch.int32, device=device), torch.empty((), dtype=torch.int32, device=device)
    values, starts = torch.empty_like(x), torch.empty(n + 1, dtype=torch.int64, device=device)
    count_runs_kernel[(blocks,)](x, counts, n, BLOCK=BLOCK)
    write_runs_kernel[(blocks,)](x, counts, values, starts, total, n, blocks, BLOCK=BLOCK, MAX_BLOCKS=triton.next_power_of_2(blocks))
    k = int(total)
    return values[:k], starts[1:k + 1] - starts[:k]


def check_runs(device):
    for n, most in ((1, 1), (70, 2), (200, 3), (64, 50)):
        x = integers(0, most, (n,), device=device)
        values, counts = unique_consecutive(x)
        right, lengths = torch.unique_consecutive(x.cpu(), return_counts=True)
        same(values, right)
        same(counts, lengths)
