"""Loops over scalars that are read and written in place: each trip finds what the trips before it have stored."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def prefix_sums_kernel(x, y, n, SPREAD: tl.constexpr, MASKED: tl.constexpr):
    largest = -1.0
    for k in range(1, n):
        if MASKED:
            before = tl.load(x + k - 1, mask=k % 2 == 0, other=3.0)
        else:
            before = tl.load(x + k - 1)
        total = before + tl.load(x + k)
        tl.store(x + k, total)
        if total > largest:
            largest = total
        if SPREAD:
            tl.store(y + k * 64 + tl.arange(0, 64), tl.zeros([64], tl.float32) + before)
    tl.store(y + n * 64, largest)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_each_trip_reads_what_is_stored(target, n, spread, masked):
    x = torch.arange(1, n + 1, dtype=torch.float32)
    y = torch.zeros(n * 64 + 1)
    wanted, seen = x.clone(), torch.zeros(n * 64 + 1)
    seen[-1] = -1
    for k in range(1, n):
        before = wanted[k - 1].item() if not masked or k % 2 == 0 else 3.0
        wanted[k] += before
        seen[-1] = max(seen[-1].item(), wanted[k].item())
        if spread:
            seen[k * 64:k * 64 + 64] = before
    prefix_sums_kernel[(1,)](x, y, n, SPREAD=spread, MASKED=masked)
    assert torch.equal(x, wanted)
    assert torch.equal(y, seen)
