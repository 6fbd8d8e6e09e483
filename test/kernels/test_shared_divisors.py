"""A divisor that many numbers share gives each of them the quotient that it would have alone, at the ends of f32, too."""
import numpy as np
import pytest

import tegula
import tegula.language as tl

DIVISORS = [3.0, -0.7, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-39, 2.0**-126, 2.0**-127, 2.0**126, 1.7e38, -3.4e38, 2.0**-100]


@tegula.jit
def share(x_ptr, divisor_ptr, shared_ptr, alone_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(shared_ptr + at, x / tl.load(divisor_ptr))
    tl.store(alone_ptr + at, x / tl.load(divisor_ptr + at))


@pytest.mark.parametrize("divisor", DIVISORS, ids=str)
def test_quotients_of_a_shared_divisor(target, divisor):
    n = 1024
    bits = np.random.default_rng(5).integers(0, 2**32, n, dtype=np.uint32)
    bits[:8] = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x7F7FFFFF, 0x00800000]
    x, by = bits.view(np.float32), np.full(n, divisor, np.float32)
    shared, alone = np.zeros(n, np.float32), np.zeros(n, np.float32)
    share[(1,)](x, by, shared, alone, N=n, num_warps=4)
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) / by.astype(np.float64)
        expected = exact.astype(np.float32)
    # Two units of the last place, and of the smallest number.
    with np.errstate(all="ignore"):
        near = np.abs(shared.astype(np.float64) - exact) <= np.maximum(np.abs(exact) * 2.0**-22, 2.0**-148)
    ends = (np.abs(exact) >= 2.0**128 * (1 - 2.0**-22)) & (np.signbit(shared) == np.signbit(expected)) & (np.abs(shared) > 3.4e38)
    same = np.isnan(shared) & np.isnan(expected)
    assert np.all(near | ends | same), (x[~(near | ends | same)], shared[~(near | ends | same)], expected[~(near | ends | same)])
    if target == "cuda":
        assert np.array_equal(np.isnan(shared), np.isnan(alone))
        assert np.array_equal(shared.view(np.uint32)[~same], alone.view(np.uint32)[~same])
