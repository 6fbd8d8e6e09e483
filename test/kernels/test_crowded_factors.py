"""Factors of a product outside of innermost loops that a thread's registers have no room for are copied into shared memory past them."""
import numpy as np
import pytest
import torch

import tegula
import tegula.language as tl


@tegula.jit
def tiles_kernel(a_ptr, b_ptr, c_ptr, out_ptr, tiles, rows, trips, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, MASKED: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    for tile in range(tiles):
        a = tl.load(a_ptr + (tile * M + i[:, None]) * K + k[None, :])
        if MASKED:
            b = tl.load(b_ptr + (tile * N + j[:, None]) * K + k[None, :], mask=j[:, None] < rows, other=0.0)
        else:
            b = tl.load(b_ptr + (tile * N + j[:, None]) * K + k[None, :])
        total = tl.dot(a, tl.trans(b))
        for trip in range(trips):
            c = tl.load(c_ptr + (trip * N + j[:, None]) * N + j[None, :])
            total = tl.dot((total * 0.125).to(tl.float16), c, total)
        tl.store(out_ptr + (tile * M + i[:, None]) * N + j[None, :], total)


@tegula.jit
def in_place_kernel(a_ptr, b_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The product is that of what lay there before the store."""
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + i[:, None] * K + k[None, :])
    b = tl.load(b_ptr + j[:, None] * K + k[None, :])
    tl.store(b_ptr + j[:, None] * K + k[None, :], tl.zeros([N, K], tl.float16))
    total = tl.dot(a, tl.trans(b))
    tl.store(a_ptr + i[:, None] * K + j[None, :], total.to(tl.float16))


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("trips", [0, 3])
@pytest.mark.parametrize("m, n, k, warps", [(16, 64, 256, 1), (64, 64, 256, 2)])
def test_all_tiles_are_multiplied(target, m, n, k, warps, trips, is_masked):
    g = torch.Generator().manual_seed(n + k)
    a, b, c = (torch.randint(-2, 3, s, generator=g).half() for s in ((3 * m, k), (3 * n, k), (max(trips, 1) * n, n)))
    out, rows = torch.zeros(3 * m, n), 50 if is_masked else n
    tiles_kernel[(1,)](a, b, c, out, 3, rows, trips, m, n, k, is_masked, num_warps=warps, num_stages=3)
    for tile in range(3):
        y = b[tile * n:(tile + 1) * n].double().clone()
        y[rows:] = 0
        total = a[tile * m:(tile + 1) * m].double() @ y.T
        for trip in range(trips):
            total = (total.float() * 0.125).half().double() @ c[trip * n:(trip + 1) * n].double() + total.float().double()
        assert (out[tile * m:(tile + 1) * m] - total).abs().max() <= 2e-2 * max(1, total.abs().max())


@pytest.mark.parametrize("m, n, k, warps", [(16, 64, 256, 1)])
def test_a_store_behind_the_load_is_not_seen(target, m, n, k, warps):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (m, k)).astype(np.float16), rng.integers(-2, 3, (n, k)).astype(np.float16)
    expected = (a.astype(np.float64) @ b.astype(np.float64).T)
    in_place_kernel[(1,)](a, b, m, n, k, num_warps=warps)
    assert np.array_equal(a[:, :n], expected) and not b.any()
