"""Sums over the rows of a strip, which are prefetched where rows are far apart: numbers are the same for rows of any
distance, and what lies behind the last row need not be memory.
"""
import contextlib
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


@contextlib.contextmanager
def nothing_behind(pages, behind):
    """f32 in so many pages, with pages behind them that nobody may touch."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, (pages + behind) * page)
    whole = torch.frombuffer(memory, dtype=torch.float32)
    whole[:] = random(whole.numel(), seed=4)
    libc = ctypes.CDLL(None, use_errno=True)
    start, size = ctypes.c_void_p(whole.data_ptr() + pages * page), ctypes.c_size_t(behind * page)
    assert libc.mprotect(start, size, 0) == 0
    try:
        yield whole[:pages * page // 4]
    finally:
        libc.mprotect(start, size, 3)


def test_no_memory_behind_the_last_row():
    columns = mmap.PAGESIZE // 4
    with nothing_behind(64, 1) as x:
        check(x, 64, columns, columns)


@pytest.mark.parametrize("rows", [1, 16, 17, 31])
def test_most_rows_of_a_tile_are_behind_the_memory(rows):
    columns = mmap.PAGESIZE // 4
    with nothing_behind(rows, 40) as x:
        check(x, rows, columns, columns)
        check(x, rows, columns - 3, columns) # a ragged row


@triton.jit
def row_masks_kernel(x, out, rows, columns, other, ROWS: tl.constexpr, COLUMNS: tl.constexpr, HAS_OTHER: tl.constexpr):
    """Twice x, and the largest of each column; the mask of the first load and of the store is of rows alone."""
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    at = row * columns + column
    if HAS_OTHER:
        values = tl.load(x + at, mask=row < rows, other=other)
    else:
        values = tl.load(x + at, mask=row < rows)
    some = tl.load(x + at, mask=(row < rows) & (column >= columns - 5) & (column < columns), other=-7.0)
    tl.store(out + at, values * 2, mask=row < rows)
    tl.store(out + rows * columns + tl.arange(0, COLUMNS), tl.max(values, axis=0))
    tl.store(out + (rows + 1) * columns + tl.arange(0, COLUMNS), tl.max(some, axis=0))


@pytest.mark.parametrize("has_other", [False, True])
def test_rows_and_lanes_that_are_off_are_not_touched(has_other):
    rows, columns = 3, mmap.PAGESIZE // 4
    with nothing_behind(rows, 20) as x, nothing_behind(rows + 2, 20) as out:
        row_masks_kernel[(1, )](x, out, rows, columns, 9.0, ROWS=16, COLUMNS=columns, HAS_OTHER=has_other)
        tile = x.view(rows, columns)
        assert torch.equal(out[:rows * columns].view(rows, columns), tile * 2)
        most = torch.maximum(tile.amax(0), torch.tensor(9.0 if has_other else 0.0))
        assert torch.equal(out[rows * columns:(rows + 1) * columns], most)
        some = torch.full((columns, ), -7.0)
        some[-5:] = torch.maximum(tile.amax(0)[-5:], torch.tensor(-7.0))
        assert torch.equal(out[(rows + 1) * columns:], some)
