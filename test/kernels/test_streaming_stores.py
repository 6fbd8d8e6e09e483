"""A launch that writes more than the cache holds stores past the cache; the numbers are the same.

A second axis that the kernel does not look at makes a launch large without much memory: its programs write the same
values again.
"""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same, random

MANY = 1 << 15


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)


@triton.jit
def rows_kernel(x_ptr, out_ptr, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, ROWS)[:, None] * stride + tl.arange(0, BLOCK)[None, :]
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * 2)


@pytest.fixture(autouse=True)
def cpu():
    import tegula
    tegula.set_target("cpu")


def shifted(values, start):
    """The same values `start` elements behind a 64-byte boundary."""
    room = torch.zeros(values.numel() + 256, dtype=values.dtype)
    first = (-room.data_ptr() % 64) // values.itemsize + start
    room[first:first + values.numel()] = values
    return room[first:first + values.numel()], room


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int32, torch.int8])
@pytest.mark.parametrize("start", [0, 1, 8])
@pytest.mark.parametrize("n", [1000, 1024])
def test_values(dtype, start, n):
    x = random(n, seed=1, scale=20).to(dtype)
    out, room = shifted(torch.zeros_like(x), start)
    double_kernel[(4, MANY)](x, out, n, BLOCK=256)
    assert_same(out, x * 2)
    assert int((room != 0).sum()) == int((out != 0).sum())


@pytest.mark.parametrize("stride", [64, 65, 72])
def test_rows(stride):
    x = random(4 * stride, seed=2)
    out = torch.zeros_like(x)
    rows_kernel[(1, MANY)](x, out, stride, ROWS=4, BLOCK=64)
    expected = torch.zeros_like(x)
    expected.view(4, stride)[:, :64] = x.view(4, stride)[:, :64] * 2
    assert_same(out, expected)
