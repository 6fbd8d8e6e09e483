"""Products of which a warp has one piece alone: its steps add to two sums in turn, and both are in the result once."""
import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def products(a_ptr, b_ptr, out_ptr, TRIPS, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.full([M, N], 1, tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32)
    for trip in range(TRIPS):
        a = tl.load(a_ptr + trip * M * K + i[:, None] * K + k[None, :])
        b = tl.load(b_ptr + trip * K * N + k[:, None] * N + j[None, :])
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(out_ptr + i[:, None] * N + j[None, :], total)


@pytest.mark.parametrize("m, n, k, warps", [(16, 8, 128, 1), (8, 8, 128, 2), (1, 8, 96, 1), (5, 3, 80, 1), (16, 32, 256, 4), (16, 8, 112, 8)])
@pytest.mark.parametrize("dtype, precision", [(np.float16, "tf32"), (np.float32, "tf32"), (np.float32, "tf32x3"), (np.float32, "bf16x3"), (np.int8, "tf32")],
                         ids=["f16", "tf32", "tf32x3", "bf16x3", "i8"])
def test_each_step_counts_once(target, dtype, precision, m, n, k, warps):
    rng, trips = np.random.default_rng(m * n + k), 3
    a, b = (rng.integers(-3, 4, (trips, *shape)).astype(dtype) for shape in ((m, k), (k, n)))
    out = np.zeros((m, n), np.int32 if dtype == np.int8 else np.float32)
    products[(1,)](a, b, out, trips, M=m, N=n, K=k, PRECISION=precision, num_warps=warps, num_stages=3)
    assert np.array_equal(out, 1 + sum(x.astype(np.float64) @ y.astype(np.float64) for x, y in zip(a, b)))
