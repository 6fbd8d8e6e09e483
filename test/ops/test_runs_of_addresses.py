"""Loads whose addresses are a quotient of indices: neighbours have one address in runs, which begin and end anywhere, under any mask."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def quotient_kernel(x_ptr, out_ptr, n, per, first, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (i + first) // per, mask=i < n, other=7)
    tl.store(out_ptr + i, x, mask=i < n)


@triton.jit
def shift_kernel(x_ptr, out_ptr, n, SHIFT: tl.constexpr, PER: tl.constexpr, BLOCK: tl.constexpr):
    """Two tables and a mask of every third element."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (i >> SHIFT))
    y = tl.load(x_ptr + i // PER, mask=i % 3 != 0, other=-1)
    tl.store(out_ptr + i, x + y, mask=i < n)


@triton.jit
def nobody_kernel(x_ptr, out_ptr, per, BLOCK: tl.constexpr):
    """No lane is on: nothing may be read, wherever the address leads."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (i // per).to(tl.int64) * (1 << 40), mask=i < 0, other=3)
    tl.store(out_ptr + i, x)


@triton.jit
def rows_kernel(x_ptr, scale_ptr, out_ptr, C: tl.constexpr, GROUP: tl.constexpr, R: tl.constexpr):
    """Scales of groups of columns."""
    r, c = tl.arange(0, R), tl.arange(0, C)
    scale = tl.load(scale_ptr + r[:, None] * (C // GROUP) + (c // GROUP)[None, :])
    tl.store(out_ptr + r[:, None] * C + c[None, :], tl.load(x_ptr + r[:, None] * C + c[None, :]) * scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int64], ids=str)
@pytest.mark.parametrize("n, per, first", [(1000, 1, 0), (1000, 3, 0), (1000, 50, 7), (777, 64, 63), (1000, 2000, 0), (1, 5, 4)])
def test_quotients(target, n, per, first, dtype):
    x = (torch.arange((n + first) // per + 2) % 97).to(dtype)
    out = torch.zeros(n, dtype=dtype)
    quotient_kernel[(triton.cdiv(n, 128),)](x, out, n, per, first, BLOCK=128)
    assert torch.equal(out, x[(torch.arange(n) + first) // per])


@pytest.mark.parametrize("shift, per", [(0, 100), (3, 40), (6, 7), (9, 1000)])
def test_two_tables(target, shift, per):
    n = 1000
    x = np.arange(1024, dtype=np.int32) * 5
    out = np.zeros(n, np.int32)
    shift_kernel[(4,)](x, out, n, SHIFT=shift, PER=per, BLOCK=256)
    i = np.arange(n)
    np.testing.assert_array_equal(out, x[i >> shift] + np.where(i % 3 != 0, x[i // per], -1))


@pytest.mark.parametrize("per", [1, 64, 1000])
def test_nothing_is_read_for_lanes_that_are_off(target, per):
    out = np.zeros(64, np.float32)
    nobody_kernel[(1,)](np.zeros(1, np.float32), out, per, BLOCK=64)
    assert (out == 3).all()


@pytest.mark.parametrize("group", [8, 32, 48, 96])
def test_scales_of_groups(target, group):
    x, scale = np.arange(8 * 96, dtype=np.float32).reshape(8, 96), np.arange(8 * (96 // group), dtype=np.float32).reshape(8, -1)
    out = np.zeros_like(x)
    rows_kernel[(1,)](x, scale, out, C=96, GROUP=group, R=8)
    np.testing.assert_array_equal(out, x * np.repeat(scale, group, axis=1))
