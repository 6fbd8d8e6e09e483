"""Distances of rows and columns, which many elements of a tile share: sums of integers that wrap, in loops and around them, as NumPy has them."""
import numpy as np
import pytest

import tegula
import tegula.language as tl

DTYPES = [np.int8, np.int16, np.int32, np.int64]


@tegula.jit
def distances(starts_ptr, ones_ptr, out_ptr, floats_ptr, TRIPS, ROWS: tl.constexpr, COLUMNS: tl.constexpr, TWICE: tl.constexpr):
    """Tiles are those of a product of ones, of which a thread has elements of both sides of a diagonal."""
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = i[:, None] * COLUMNS + j[None, :]
    start = tl.load(starts_ptr)
    most = tl.load(starts_ptr + 1)
    row, column = i.to(start.dtype) + start, j.to(start.dtype)
    count = tl.zeros([ROWS, COLUMNS], start.dtype)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    k = tl.arange(0, 16)
    left = tl.load(ones_ptr + i[:, None] * 16 + k[None, :])
    right = tl.load(ones_ptr + k[:, None] * COLUMNS + j[None, :])
    for s in range(TRIPS):
        step = (s * 40).to(start.dtype)
        distance = (step + column[None, :]) - row[:, None]
        if TWICE:
            distance = distance + distance + (column[None, :] - row[:, None])
        count += (distance < most).to(start.dtype) + distance
        total = tl.dot(left, right, total + distance.to(tl.float32))
    tl.store(out_ptr + at, count + (row[:, None] - column[None, :]))
    tl.store(floats_ptr + at, total)


def expected(starts, trips, rows, columns, twice):
    kind = starts.dtype
    with np.errstate(over="ignore"):
        row, column = np.arange(rows).astype(kind) + starts[0], np.arange(columns).astype(kind)
        count, total = np.zeros((rows, columns), kind), np.zeros((rows, columns), np.float32)
        for s in range(trips):
            step = np.int32(s * 40).astype(kind)
            distance = (step + column[None, :]) - row[:, None]
            if twice:
                distance = distance + distance + (column[None, :] - row[:, None])
            count += (distance < starts[1]).astype(kind) + distance
            total = total + distance.astype(np.float32) + 16
        return count + (row[:, None] - column[None, :]), total


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("rows, columns, warps", [(16, 32, 1), (64, 64, 4)])
def test_distances_wrap(target, rows, columns, warps, dtype, twice):
    ends = np.iinfo(dtype)
    for start, most, trips in ((0, 5, 3), (ends.max - 3, 0, 2), (ends.min + 1, ends.max, 4), (7, -2, 0)):
        starts = np.array([start, most], dtype)
        out, floats = np.full((rows, columns), 77, dtype), np.full((rows, columns), np.nan, np.float32)
        ones = np.ones(16 * max(rows, columns), np.float16)
        distances[(1,)](starts, ones, out, floats, trips, ROWS=rows, COLUMNS=columns, TWICE=twice, num_warps=warps)
        count, total = expected(starts, trips, rows, columns, twice)
        assert np.array_equal(out, count)
        assert np.allclose(floats, total, rtol=1e-6, atol=0)


@tegula.jit
def beside_addresses(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """A number that is compared is an address, too, and comes out of a branch."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    shift = 0
    while shift < N:
        near = at + shift - 1
        if shift % 2 == 0:
            near = near + 1
        total += tl.load(x_ptr + near, mask=(near >= 0) & (near < N), other=0) + (near - at)
        shift += 3
    tl.store(out_ptr + at, total, mask=at < N)


@pytest.mark.parametrize("n", [1, 37, 200])
def test_what_is_compared_is_read_from_there(target, n):
    x = np.random.default_rng(n).integers(-100, 100, n, dtype=np.int32)
    out = np.zeros(n, np.int32)
    beside_addresses[(tegula.cdiv(n, 64),)](x, out, n, BLOCK=64)
    at, total = np.arange(n), np.zeros(n, np.int32)
    for shift in range(0, n, 3):
        near = at + shift - (shift % 2)
        total += np.where((near >= 0) & (near < n), x[np.clip(near, 0, n - 1)], 0) + (near - at).astype(np.int32)
    assert np.array_equal(out, total)
