"""Loops whose loads run ahead: any number of trips, bounds at the ends of the type, and what else they carry."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, rest_ptr, begin, end, shift, STEP: tl.constexpr, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    trips = 0
    a = a_ptr + m[:, None] * 16 + k[None, :]
    for i in tl.range(begin, end, STEP, num_stages=STAGES):
        x = tl.load(a + trips * 512)
        y = tl.load(b_ptr + trips * 512 + k[:, None] * 32 + m[None, :], mask=(k[:, None] + (i - shift)) >= 0, other=0.0)
        acc = tl.dot(x, y, acc)
        trips += 1
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)
    tl.store(rest_ptr, trips)


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("begin, end, step", [(0, 0, 1), (3, 2, 1), (0, 1, 1), (0, 7, 1), (-3, 4, 2), (2**31 - 4, 2**31 - 1, 2),
                                              (-2**31, -2**31 + 5, 3), (-2**31, -2**31, 7), (2**31 - 2, 2**31 - 1, 2**30)])
def test_any_bounds(target, begin, end, step, stages):
    trips = len(range(begin, end, step))
    generator = torch.Generator().manual_seed(trips)
    a, b = (torch.randint(-4, 5, (max(trips, 1), *shape), generator=generator).half() for shape in ((32, 16), (16, 32)))
    c, rest = torch.full((32, 32), 9.0), torch.full((1,), -1, dtype=torch.int32)
    product_kernel[(1,)](a, b, c, rest, begin, end, begin, STEP=step, STAGES=stages)
    assert rest.item() == trips
    assert torch.equal(c, sum((x.float() @ y.float() for x, y in zip(a[:trips], b[:trips])), torch.zeros(32, 32)))


@triton.jit
def rotated_kernel(a_ptr, b_ptr, c_ptr, trips, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    first = tl.load(a_ptr + m[:, None] * 16 + k[None, :])
    second = tl.load(a_ptr + 512 + m[:, None] * 16 + k[None, :])
    for i in tl.range(0, trips, num_stages=STAGES):
        y = tl.load(b_ptr + i * 512 + k[:, None] * 32 + m[None, :])
        acc = tl.dot(first, y, acc)
        first, second = second, tl.load(a_ptr + (i + 2) * 512 + m[:, None] * 16 + k[None, :])
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_tiles_that_are_passed_on_over_two_trips(target, trips, stages):
    generator = torch.Generator().manual_seed(trips)
    a, b = (torch.randint(-4, 5, (trips + 2, *shape), generator=generator).half() for shape in ((32, 16), (16, 32)))
    c = torch.full((32, 32), 9.0)
    rotated_kernel[(1,)](a, b, c, trips, STAGES=stages)
    assert torch.equal(c, sum((x.float() @ y.float() for x, y in zip(a[:trips], b)), torch.zeros(32, 32)))


@triton.jit
def gathered_kernel(a_ptr, rows_ptr, b_ptr, c_ptr, trips, STAGES: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([32, 32], tl.float32)
    for i in tl.range(0, trips, num_stages=STAGES):
        rows = tl.load(rows_ptr + i * 32 + m)
        x = tl.load(a_ptr + rows[:, None] * 16 + k[None, :])
        y = tl.load(b_ptr + i * 512 + k[:, None] * 32 + m[None, :])
        acc += tl.dot(x, y) * (1 + tl.max(rows) % 2)
    tl.store(c_ptr + m[:, None] * 32 + m[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_rows_that_another_load_names(target, trips, stages):
    generator = torch.Generator().manual_seed(trips)
    a = torch.randint(-4, 5, (64, 16), generator=generator).half()
    rows = torch.randint(0, 64, (max(trips, 1), 32), generator=generator, dtype=torch.int32)
    b = torch.randint(-4, 5, (max(trips, 1), 16, 32), generator=generator).half()
    c = torch.full((32, 32), 9.0)
    gathered_kernel[(1,)](a, rows, b, c, trips, STAGES=stages)
    expected = sum(((1 + int(r.max()) % 2) * (a[r.long()].float() @ y.float()) for r, y in zip(rows[:trips], b)), torch.zeros(32, 32))
    assert torch.equal(c, expected)
