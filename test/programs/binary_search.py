"""Places of values in sorted rows (searchsorted, bucketize), membership: loops that halve."""
import torch
import triton
import triton.language as tl

from beside import integers, normal, same


@triton.jit
def lower_bound(sorted_ptr, n, x, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    lo = tl.zeros((BLOCK,), dtype=tl.int32)
    hi = tl.zeros((BLOCK,), dtype=tl.int32) + n
    go = tl.max((lo < hi).to(tl.int32), axis=0)
    while go > 0:
        mid = (lo + hi) // 2
        active = lo < hi
        v = tl.load(sorted_ptr + mid, mask=active, other=0)
        if RIGHT:
            less = v <= x
        else:
            less = v < x
        lo = tl.where(active & less, mid + 1, lo)
        hi = tl.where(active & ~less, mid, hi)
        go = tl.max((lo < hi).to(tl.int32), axis=0)
    return lo


@triton.jit
def searchsorted_kernel(sorted_ptr, x_ptr, out_ptr, n, m, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * m + i, mask=i < m, other=0)
    found = lower_bound(sorted_ptr + row * n, n, x, RIGHT, BLOCK)
    tl.store(out_ptr + row * m + i, found, mask=i < m)


@triton.jit
def isin_kernel(sorted_ptr, x_ptr, out_ptr, n, m, INVERT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < m, other=0)
    at = lower_bound(sorted_ptr, n, x, False, BLOCK)
    there = tl.load(sorted_ptr + at, mask=at < n, other=0) == x
    there = there & (at < n)
    out = not there if INVERT else there
    tl.store(out_ptr + i, out, mask=i < m)


@triton.jit
def scalar_search_kernel(sorted_ptr, x_ptr, out_ptr, n):
    x = tl.load(x_ptr + tl.program_id(0))
    left = 0
    right = n
    while left < right:
        mid = left + (right - left) // 2
        if tl.load(sorted_ptr + mid) < x:
            left = mid + 1
        else:
            right = mid
    tl.store(out_ptr + tl.program_id(0), left)


def check_rows(device):
    rows = torch.sort(normal(3, 50, device=device), 1).values
    x = torch.cat([normal(3, 30, device=device, seed=1), rows[:, ::7]], 1).contiguous()
    for right in (False, True):
        out = torch.zeros(x.shape, dtype=torch.int64, device=device)
        searchsorted_kernel[(2, 3)](rows, x, out, 50, x.shape[1], RIGHT=right, BLOCK=32)
        same(out, torch.searchsorted(rows.cpu(), x.cpu(), right=right))


def check_membership(device):
    table, x = torch.unique(integers(0, 60, (30,), device="cpu")).to(device), integers(-5, 70, (100,), device=device, seed=1)
    out = torch.zeros(100, dtype=torch.bool, device=device)
    isin_kernel[(2,)](table, x, out, table.numel(), 100, INVERT=False, BLOCK=64)
    same(out, torch.isin(x.cpu(), table.cpu()))


def check_scalars(device):
    table, x = torch.sort(integers(0, 40, (25,), device=device)).values, integers(-2, 42, (17,), device=device, seed=1)
    out = torch.zeros(17, dtype=torch.int32, device=device)
    scalar_search_kernel[(17,)](table, x, out, 25)
    same(out, torch.searchsorted(table.cpu(), x.cpu()))
