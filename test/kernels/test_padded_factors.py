"""Factors whose extents are no powers of two, copied ahead and read from shared memory: nothing is read where nothing was written."""
import itertools

import numpy as np
import pytest

import tegula
import tegula.language as tl

ORDERS = list(itertools.product((False, True), repeat=2))


@tegula.jit
def products(a_ptr, b_ptr, out_ptr, TRIPS, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A_BY_ROWS: tl.constexpr, B_BY_ROWS: tl.constexpr,
             PRECISION: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros([M, N], tl.float32)
    for trip in range(TRIPS):
        a = tl.load(a_ptr + trip * M * K + (i[:, None] * K + k[None, :] if A_BY_ROWS else i[:, None] + k[None, :] * M))
        b = tl.load(b_ptr + trip * K * N + (k[:, None] * N + j[None, :] if B_BY_ROWS else k[:, None] + j[None, :] * K))
        total += tl.dot(a, b, input_precision=PRECISION).to(tl.float32)
    tl.store(out_ptr + i[:, None] * N + j[None, :], total)


@pytest.mark.parametrize("a_by_rows, b_by_rows", ORDERS)
@pytest.mark.parametrize("m, n, k", [(3, 64, 32), (64, 6, 32), (7, 12, 20), (20, 24, 5)], ids=str)
@pytest.mark.parametrize("dtype, precision", [(np.float32, "ieee"), (np.float32, "tf32"), (np.float64, "ieee")], ids=["f32", "tf32", "f64"])
def test_padding_is_not_read(target, dtype, precision, m, n, k, a_by_rows, b_by_rows):
    rng, trips = np.random.default_rng(m * n + k), 3
    a, b = (rng.integers(-3, 4, (trips, *shape)).astype(dtype) for shape in ((m, k), (k, n)))
    expected = sum(x.astype(np.float64) @ y.astype(np.float64) for x, y in zip(a, b))
    lying = [np.ascontiguousarray(x if by_rows else x.transpose(0, 2, 1)) for x, by_rows in ((a, a_by_rows), (b, b_by_rows))]
    out = np.full((m, n), np.nan, np.float32)
    products[(1,)](*lying, out, trips, M=m, N=n, K=k, A_BY_ROWS=a_by_rows, B_BY_ROWS=b_by_rows, PRECISION=precision, num_warps=1, num_stages=3)
    assert np.array_equal(out, expected)
