"""Sums over the rows of a strip, which are prefetched where rows are far apart: numbers are the same for rows of any
distance, and what lies behind the last row need not be memory.
"""
import ctypes
import mmap

import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import random


@pytest.fixture(autouse=True)
def cpu():
    import tegula
    tegula.set_target("cpu")


@triton.jit
def sums_kernel(x, out, rows, columns, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([COLUMNS], tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.sum(tl.load(x + row[:, None] * stride + column[None, :], mask=mask, other=0.0).to(tl.float32), axis=0)
    tl.store(out + column, total, mask=column < columns)


@triton.jit
def tiles_kernel(x, out, rows, columns, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Adds tiles, and their rows behind the loop; counts them."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for tile in range(0, tl.cdiv(rows, ROWS)):
        row = tile * ROWS + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.load(x + row[:, None] * stride + column[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(out + column, tl.sum(total, axis=0), mask=column < columns)


@triton.jit
def moved_kernel(x, out, rows, columns, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Moves its pointers from tile to tile."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.arange(0, ROWS)
    at = x + row[:, None] * stride + column[None, :]
    total = tl.zeros([COLUMNS], tl.float32)
    for first in range(0, rows, ROWS):
        mask = (row[:, None] < rows - first) & (column[None, :] < columns)
        total += tl.sum(tl.load(at, mask=mask, other=0.0).to(tl.float32), axis=0)
        at += ROWS * stride
    tl.store(out + column, total, mask=column < columns)


@triton.jit
def product_kernel(x, out, rows, columns, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Ones times the tiles."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.arange(0, ROWS)
    at = x + row[:, None] * stride + column[None, :]
    total = tl.zeros([16, COLUMNS], tl.float32)
    for first in range(0, rows, ROWS):
        tile = tl.load(at, mask=(row[:, None] < rows - first) & (column[None, :] < columns), other=0.0)
        total = tl.dot(tl.full([16, ROWS], 1.0, tile.dtype), tile, total)
        at += ROWS * stride
    tl.store(out + column, tl.sum(total, axis=0) / 16, mask=column < columns)


def check(x, rows, columns, stride, tile=(32, 64)):
    at = torch.as_strided(x, (rows, columns), (stride, 1)).double()
    for kernel in (sums_kernel, tiles_kernel, moved_kernel, product_kernel):
        if kernel is product_kernel and x.dtype == torch.float64:
            continue # it adds in f32
        out = torch.full((columns + 1, ), -1.0)
        kernel[(triton.cdiv(columns, tile[1]), )](x, out, rows, columns, stride, ROWS=tile[0], COLUMNS=tile[1])
        torch.testing.assert_close(out[:-1].double(), at.sum(0), rtol=1e-5, atol=1e-4)
        assert out[-1] == -1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("stride", [100, 511, 512, 513, 1024, 1500])
@pytest.mark.parametrize("tile", [(32, 64), (8, 16), (16, 256)])
def test_values(dtype, stride, tile):
    for rows in (1, 31, 70):
        x = random(rows * stride, seed=3).to(dtype)
        check(x, rows, min(stride, 300), stride, tile)


def test_no_memory_behind_the_last_row():
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 65 * page)
    whole = torch.frombuffer(memory, dtype=torch.float32)
    whole[:] = random(whole.numel(), seed=4)
    libc = ctypes.CDLL(None, use_errno=True)
    behind = ctypes.c_void_p(whole.data_ptr() + 64 * page)
    assert libc.mprotect(behind, ctypes.c_size_t(page), 0) == 0
    try:
        check(whole[:64 * page // 4], 64, page // 4, page // 4)
    finally:
        libc.mprotect(behind, ctypes.c_size_t(page), 3)
