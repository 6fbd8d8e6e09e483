"""Loops without products that ask for stages (`tl.range(..., num_stages=3)`): their loads run ahead, and values are those of the loop as it is written."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def softmax_kernel(x, y, rows, columns, STAGES: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        value = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
        top = tl.exp((value - tl.max(value, 0)).to(tl.float32))
        tl.store(y + row * columns + i, top / tl.sum(top, 0), mask=i < columns)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("rows, programs, stages", [(0, 2, 3), (1, 3, 4), (7, 2, 2), (9, 2, 4)])
def test_rows_of_a_program(target, rows, programs, stages, dtype):
    columns, block = 96, 128
    x = torch.randn(max(rows, 1), columns).to(dtype)
    y = torch.full((max(rows, 1), columns), float("nan"))
    softmax_kernel[(programs,)](x, y, rows, columns, STAGES=stages, B=block)
    torch.testing.assert_close(y[:rows], torch.softmax(x[:rows].float(), 1), rtol=2e-3, atol=1e-4)
    assert y[rows:].isnan().all()


def test_rows_that_are_replaced(target):
    x = torch.randn(8, 128)
    wanted = torch.softmax(x, 1)
    softmax_kernel[(2,)](x, x, 8, 128, STAGES=3, B=128)
    torch.testing.assert_close(x, wanted, rtol=1e-4, atol=1e-5)


@triton.jit
def running_kernel(x, steps, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in tl.range(1, steps, num_stages=3):
        tl.store(x + k * B + i, tl.load(x + k * B + i) + tl.load(x + (k - 1) * B + i))


def test_what_a_trip_wrote_is_read_by_the_next(target):
    steps, block = 6, 128
    x = torch.randn(steps, block)
    wanted = x.cumsum(0)
    running_kernel[(1,)](x, steps, B=block)
    torch.testing.assert_close(x, wanted, rtol=1e-5, atol=1e-5)


@triton.jit
def gathered_kernel(x, places, scale, sums, counts, n, width, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for k in tl.range(n, num_stages=4):
        row = tl.load(places + k)
        value = tl.load(x + row * width + i, mask=i < width, other=0).to(tl.float32)
        total += value * tl.load(scale + i % 4)
        tl.atomic_add(counts + row, 1)
    tl.store(sums + i, total, mask=i < width)


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_rows_that_a_table_names(target, n, dtype):
    rows, width = 6, 56
    x = torch.randint(-9, 9, (rows, width)).to(dtype)
    places, scale = torch.tensor([4, 0, 5, 0, 2], dtype=torch.int32), torch.randn(4)
    sums, counts = torch.full((width,), float("nan")), torch.zeros(rows, dtype=torch.int32)
    gathered_kernel[(1,)](x, places, scale, sums, counts, n, width, B=64)
    chosen = places[:n].long()
    torch.testing.assert_close(sums, x[chosen].float().sum(0) * scale[torch.arange(width) % 4], rtol=1e-5, atol=1e-5)
    assert torch.equal(counts, torch.bincount(chosen, minlength=rows).int())
