"""`while` loops whose condition reduces a tile: as many trips as the slowest element needs, also none."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def search_kernel(table, out, trips, n, rows, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    low = tl.zeros([B], tl.int64)
    high = tl.zeros([B], tl.int64) + rows
    count = 0
    while tl.max(tl.where(i < n, high - low, 0)) > 0:
        middle = (low + high + 1) // 2
        below = tl.load(table + middle) <= i
        low = tl.where(below, middle, low)
        high = tl.where(below, high, middle - 1)
        count += 1
    tl.store(out + i, low, mask=i < n)
    tl.store(trips + tl.program_id(0), count)


@pytest.mark.parametrize("rows", [0, 1, 13, 200])
def test_searches_of_all_elements(target, rows):
    block, n = 128, 300
    table = torch.cat([torch.zeros(1, dtype=torch.int64),
                       torch.sort(torch.randint(0, n, (rows,), generator=torch.Generator().manual_seed(rows))).values])
    out = torch.full((n,), -1, dtype=torch.int64)
    trips = torch.full((3,), -1, dtype=torch.int32)
    search_kernel[(3,)](table, out, trips, n, rows, B=block)
    wanted = torch.searchsorted(table, torch.arange(n), right=True) - 1
    assert torch.equal(out, wanted)
    assert (trips == 0).all() if rows == 0 else (trips >= 1).all() and (trips <= rows.bit_length()).all()
