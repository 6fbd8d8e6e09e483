"""Sums of products under way that trade places, or begin anew, in some trips: they are not read ahead of the wait for their
product, which the simulator tells."""
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
