"""Registers of products under way, sums that trade places or begin anew in some trips, rows that the next trip has, are not copied
ahead of the wait for their product (RegistersUnderWay.h): the simulator tells."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def trade_kernel(a, b, c, flags, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    first = tl.zeros((BM, BN), tl.float32)
    second = tl.zeros((BM, BN), tl.float32)
    for t in range(0, tl.cdiv(K, BK)):
        left = tl.load(a + m[:, None] * K + (t * BK + k)[None, :])
        right = tl.load(b + (t * BK + k)[:, None] + n[None, :] * K)
        first = tl.dot(left, right, first)
        if tl.load(flags + t) > 0:
            kept = first
            first = second
            second = kept
    tl.store(c + m[:, None] * BN + n[None, :], first)
    tl.store(c + BM * BN + m[:, None] * BN + n[None, :], second)


@triton.jit
def renew_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    part = tl.zeros((BM, BN), tl.float32)
    total = tl.zeros((BM, BN), tl.float32)
    for t in range(0, tl.cdiv(K, BK)):
        k = t * BK + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :])
        right = tl.load(b + k[:, None] + n[None, :] * K)
        part = tl.dot(left, right, part)
        if t % 2 == 1:
            total += part
            part = tl.zeros((BM, BN), tl.float32)
    tl.store(c + m[:, None] * BN + n[None, :], part + total)


def factors(dtype, rows, columns, depth):
    return torch.randint(-2, 3, (rows, depth)).to(dtype), torch.randint(-2, 3, (columns, depth)).to(dtype)


SHAPES = [(64, 16, 64, 4), (64, 16, 64, 8), (64, 32, 64, 4), (128, 32, 64, 8)]


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("rows, columns, step, warps", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_sums_trade_places(target, dtype, rows, columns, step, warps, stages):
    flags = [0, 1, 1, 0, 1]
    a, b = factors(dtype, rows, columns, 5 * step)
    c = torch.zeros(2, rows, columns)
    trade_kernel[(1,)](a, b, c, torch.tensor(flags, dtype=torch.int32), 5 * step, BM=rows, BN=columns, BK=step, num_warps=warps, num_stages=stages)
    first, second = torch.zeros(2, rows, columns)
    for t, trades in enumerate(flags):
        first = first + a[:, t * step:(t + 1) * step].float() @ b[:, t * step:(t + 1) * step].float().T
        if trades:
            first, second = second, first
    assert torch.equal(c, torch.stack([first, second]))


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("rows, columns, step, warps", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_sums_begin_anew(target, dtype, rows, columns, step, warps, stages):
    a, b = factors(dtype, rows, columns, 5 * step)
    c = torch.zeros(rows, columns)
    renew_kernel[(1,)](a, b, c, 5 * step, BM=rows, BN=columns, BK=step, num_warps=warps, num_stages=stages)
    assert torch.equal(c, a.float() @ b.float().T)


@triton.jit
def wrap(x):
    return x - 4.0 * tl.floor(x * 0.25) - 1.0


def wrapped(x):
    return x - 4 * torch.floor(x * 0.25) - 1


@triton.jit
def own_factors_kernel(init, out, trips, D: tl.constexpr):
    at = tl.arange(0, D)[:, None] * D + tl.arange(0, D)[None, :]
    total = tl.load(init + at)
    for _ in range(trips):
        total = tl.dot(wrap(total).to(tl.float16), tl.clamp(total, -2.0, 2.0).to(tl.float16), total)
    tl.store(out + at, total)


@pytest.mark.parametrize("size, warps", [(64, 4), (128, 4), (128, 8)])
def test_factors_are_made_of_the_sums(target, size, warps):
    """LLVM joins no more than some registers of one value in a block of hundreds, and copies them between the product's steps."""
    total = torch.randint(-2, 3, (size, size)).float()
    out = torch.zeros(size, size)
    own_factors_kernel[(1,)](total, out, 3, D=size, num_warps=warps, num_stages=1)
    for _ in range(3):
        total = total + wrapped(total) @ total.clamp(-2, 2)
    assert torch.equal(out, total)


@triton.jit
def kept_rows_kernel(init, out, trips, D: tl.constexpr):
    at = tl.arange(0, D)[:, None] * D + tl.arange(0, D)[None, :]
    total = tl.zeros((D, D), tl.float32)
    rows = tl.load(init + at).to(tl.float16)
    for _ in range(trips):
        first = tl.dot(rows, tl.trans(rows))
        middle = wrap(first).to(tl.float16)
        total += tl.dot(middle, rows) + tl.dot(middle, middle)
        rows = wrap(total).to(tl.float16)
        total = tl.dot(rows, middle, total)
    tl.store(out + at, total)
    tl.store(out + D * D + at, rows)


@pytest.mark.parametrize("size, warps", [(64, 4), (128, 4), (128, 8)])
def test_rows_of_the_next_trip(target, monkeypatch, size, warps):
    monkeypatch.setenv("TEGULA_PROGRAMS_ALONE", "132")
    rows, total = torch.randint(-1, 2, (size, size)).float(), torch.zeros(size, size)
    out = torch.zeros(2, size, size)
    kept_rows_kernel[(1,)](rows, out, 3, D=size, num_warps=warps, num_stages=2)
    for _ in range(3):
        middle = wrapped(rows @ rows.T)
        total = total + middle @ rows + middle @ middle
        rows = wrapped(total)
        total = total + rows @ middle
    assert torch.equal(out, torch.stack([total, rows]))


@triton.jit
def long_trade_kernel(a, b, c, flags, trips, M: tl.constexpr, N: tl.constexpr, PRODUCTS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    square = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    first = tl.zeros((M, N), tl.float32)
    second = tl.zeros((M, N), tl.float32)
    for t in range(trips):
        factor = b + t * N * N + square
        x = tl.dot(tl.load(a + t * M * N + at), tl.load(factor))
        for _ in tl.static_range(PRODUCTS):
            x = tl.dot(wrap(x).to(tl.float16), tl.load(factor))
        first = tl.dot(wrap(x).to(tl.float16), tl.load(factor), first)
        if tl.load(flags + t) > 0:
            first, second = second, first
    tl.store(c + at, first)
    tl.store(c + M * N + at, second)


@pytest.mark.parametrize("rows, columns, warps, products, stages", [(64, 128, 4, 1, 1), (128, 64, 4, 2, 3), (128, 128, 8, 1, 1)])
def test_sums_trade_places_in_long_trips(target, rows, columns, warps, products, stages):
    flags = [0, 1, 1, 0]
    a, b = torch.randint(-1, 2, (4, rows, columns)).half(), torch.randint(-1, 2, (4, columns, columns)).half()
    c = torch.zeros(2, rows, columns)
    long_trade_kernel[(1,)](a, b, c, torch.tensor(flags, dtype=torch.int32), 4, M=rows, N=columns, PRODUCTS=products, num_warps=warps,
                            num_stages=stages)
    first, second = torch.zeros(2, rows, columns)
    for t, trades in enumerate(flags):
        x = a[t].float() @ b[t].float()
        for _ in range(products):
            x = wrapped(x) @ b[t].float()
        first = first + wrapped(x) @ b[t].float()
        if trades:
            first, second = second, first
    assert torch.equal(c, torch.stack([first, second]))


@triton.jit
def rotate_kernel(a, b, c, trips, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    first = tl.zeros((M, N), tl.float32)
    second = tl.zeros((M, N), tl.float32)
    for t in range(trips):
        left = tl.load(a + m * (trips * K) + (t * K + k)[None, :])
        right = tl.load(b + n * (trips * K) + (t * K + k)[:, None])
        first = tl.dot(left, right, first)
        second = tl.dot(left + left, right, second)
        first, second = second, first
    tl.store(c + m * N + n, first)
    tl.store(c + M * N + m * N + n, second)


@pytest.mark.parametrize("rows, columns, warps, dtype", [(128, 64, 4, torch.float32), (128, 128, 4, torch.float32), (128, 128, 4, torch.float16)])
def test_sums_trade_places_in_each_trip(target, rows, columns, warps, dtype):
    """A block that is cut for the instruction selector is not cut within a product."""
    a, b = factors(dtype, rows, columns, 3 * 64)
    c = torch.zeros(2, rows, columns)
    rotate_kernel[(1,)](a, b, c, 3, M=rows, N=columns, K=64, num_warps=warps, num_stages=2)
    first, second = torch.zeros(2, rows, columns)
    for t in range(3):
        product = a[:, t * 64:(t + 1) * 64].float() @ b[:, t * 64:(t + 1) * 64].float().T
        first, second = second + 2 * product, first + product
    assert torch.equal(c, torch.stack([first, second]))


@triton.jit
def shared_rows_kernel(a, b, c, out, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    first = tl.zeros((M, N), tl.float32)
    second = tl.zeros((M, N), tl.float32)
    for s in range(0, K, BK):
        rows = tl.load(a + m[:, None] * K + (s + k)[None, :]).to(b.dtype.element_ty)
        first = tl.dot(rows, tl.load(b + (s + k)[:, None] * N + n[None, :]), first)
        second = tl.dot(rows, tl.load(c + (s + k)[:, None] * N + n[None, :]), second)
    tl.store(out + m[:, None] * N + n[None, :], first)
    tl.store(out + M * N + m[:, None] * N + n[None, :], second)


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("rows, columns, step, warps", [(128, 128, 64, 4), (128, 128, 64, 8), (64, 128, 32, 4), (128, 256, 32, 8)])
def test_two_products_of_rows_that_the_trip_converts(target, rows, columns, step, warps, stages):
    """The second product must not run into the next trip, which converts its rows ahead of the wait."""
    a = torch.randint(-3, 4, (rows, 5 * step), dtype=torch.int8)
    b, c = torch.randint(-3, 4, (2, 5 * step, columns)).bfloat16()
    out = torch.zeros(2, rows, columns)
    shared_rows_kernel[(1,)](a, b, c, out, 5 * step, M=rows, N=columns, BK=step, num_warps=warps, num_stages=stages)
    assert torch.equal(out, torch.stack([a.float() @ b.float(), a.float() @ c.float()]))


@triton.jit
def pattern_kernel(a, c, N: tl.constexpr):
    i = tl.arange(0, N)
    pattern = (((i[:, None] * 3 + i[None, :] * 5) & 3) - 1).to(a.dtype.element_ty)
    tl.store(c + i[:, None] * N + i[None, :], tl.dot(tl.load(a + i[None, :] + i[:, None] * N), pattern))


@pytest.mark.parametrize("size, warps", [(64, 4), (128, 4), (128, 8)])
@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn, torch.float16, torch.int8], ids=str)
def test_rows_that_repeat_themselves(target, dtype, size, warps):
    """Words of one step are made from those of the step before, which runs."""
    a = torch.randint(-3, 4, (size, size)).float()
    c = torch.zeros(size, size, dtype=torch.int32 if dtype == torch.int8 else torch.float32)
    pattern_kernel[(1,)](a.to(dtype), c, N=size, num_warps=warps, num_stages=1)
    i = torch.arange(size)
    assert torch.equal(c.float(), a @ (((i[:, None] * 3 + i[None, :] * 5) & 3) - 1).float())
