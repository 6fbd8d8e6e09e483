"""Loops of single steps count their trips: from any number to any other one, of all integers that bounds may be."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def counted_kernel(out, lower, upper, TYPE: tl.constexpr):
    trips = tl.zeros((), tl.int32)
    last = tl.cast(-7, tl.int64)
    for i in range(lower.to(TYPE), upper.to(TYPE)):
        trips += 1
        last = i.to(tl.int64)
    tl.store(out, trips.to(tl.int64))
    tl.store(out + 1, last)


BOUNDS = [(0, 0), (0, 1), (0, 300), (5, 3), (-3, 4), (100, 100)]


@pytest.mark.parametrize("kind, lower, upper", [(tl.int32, *b) for b in BOUNDS] + [(tl.int64, *b) for b in BOUNDS] +
                         [(tl.int32, 2**31 - 4, 2**31 - 1), (tl.int32, -2**31, -2**31 + 3), (tl.int64, 2**63 - 4, 2**63 - 1), (tl.int64, -2**63, -2**63 + 5),
                          (tl.int64, 2**63 - 1, -2**63)])
def test_trips_of_loops_between_any_bounds(target, kind, lower, upper):
    out = torch.zeros(2, dtype=torch.int64)
    bounds = torch.tensor([lower, upper])
    bounded_kernel[(1,)](out, bounds, TYPE=kind)
    trips = max(upper - lower, 0)
    assert out.tolist() == [trips, upper - 1 if trips else -7]


@triton.jit
def bounded_kernel(out, bounds, TYPE: tl.constexpr):
    counted_kernel(out, tl.load(bounds), tl.load(bounds + 1), TYPE)


@triton.jit
def table_kernel(starts, out, B: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * B + tl.arange(0, B)
    found = tl.full([B], -1, tl.int32)
    for i in tl.range(0, N):
        found = tl.where((row >= tl.load(starts + i)) & (row < tl.load(starts + i + 1)), i, found)
    tl.store(out + row, found)


@pytest.mark.parametrize("N", [1, 2, 3, 31, 257])
def test_each_row_finds_its_part(target, N):
    B = 64
    starts = torch.cat([torch.zeros(1, dtype=torch.int32), torch.randint(0, 3, (N,), generator=torch.Generator().manual_seed(1)).cumsum(0).to(torch.int32)])
    out = torch.zeros(2 * B, dtype=torch.int32)
    table_kernel[(2,)](starts, out, B=B, N=N)
    rows = torch.arange(2 * B)
    part = torch.searchsorted(starts, rows, right=True) - 1
    assert torch.equal(out, torch.where(rows < starts[-1], part, -1).to(torch.int32))


@triton.jit
def combine_kernel(l, m, x, out, B: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, B)
    most = -1000.0
    sums = tl.zeros([B], tl.float32)
    for k in range(N):
        share = tl.load(l + k)
        if share > 0.0:
            own = tl.load(m + k)
            new = tl.maximum(most, own)
            part = tl.load(x + k * B + i, mask=i < B - 1)
            sums = sums * tl.exp2(most - new) + part * tl.exp2(own - new)
            most = new
        else:
            sums += 0.0
    tl.store(out + i, sums, mask=i < B - 1)
    tl.store(out + B, most)


@pytest.mark.parametrize("N", [1, 5, 32])
def test_what_a_branch_does_not_load_is_not_read(target, N):
    B, generator = 128, torch.Generator().manual_seed(1)
    l, m = (torch.randint(low, 5, (N,), generator=generator).float() for low in (-4, -4))
    x, out = torch.randn(N, B, generator=generator), torch.zeros(B + 1)
    m[l <= 0] = float("nan")
    x[l <= 0] = float("nan")
    combine_kernel[(1,)](l, m, x, out, B=B, N=N)
    taken = l > 0
    most = m[taken].amax() if taken.any() else torch.tensor(-1000.0)
    expected = (x[taken] * torch.exp2(m[taken] - most)[:, None]).sum(0)
    torch.testing.assert_close(out[:B - 1], expected[:B - 1], rtol=1e-5, atol=1e-5)
    assert out[B] == most
