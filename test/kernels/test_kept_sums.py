"""A value computed from sums ahead of a product stays as it is behind it: the assembler confuses it with the same computation behind it."""
import re

import pytest
import torch

import machine_code
import tegula as triton
import tegula.language as tl


@triton.jit
def behind_a_loop_kernel(out, trips, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    acc = tl.full([N, N], 2, tl.float32)
    for i in range(0, trips):
        acc = acc + 1
    x = tl.minimum(tl.maximum(acc, -3.0), 3.0).to(tl.float16)
    acc = tl.dot(x, x, acc)
    y = tl.minimum(tl.maximum(acc, -3.0), 3.0).to(tl.float16)
    acc += tl.dot(tl.trans(x), y)
    tl.store(out + at, acc)


@triton.jit
def in_a_loop_kernel(w, out, trips, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    factor = tl.load(w + at)
    acc = tl.zeros([N, N], tl.float32)
    total = tl.zeros([N, N], tl.float32)
    for i in range(0, trips):
        x = acc.to(tl.float16)
        acc = tl.dot(factor, factor, acc)
        y = acc.to(tl.float16)
        total += tl.where(y > 0, y.to(tl.float32) - x.to(tl.float32), x.to(tl.float32) * 3)
    tl.store(out + at, total)


@triton.jit
def integers_kernel(w, out, trips, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    factor = tl.load(w + at)
    acc = tl.zeros([N, N], tl.int32)
    total = tl.zeros([N, N], tl.int32)
    for i in range(trips):
        x = acc * 3
        acc = tl.dot(factor, tl.trans(factor), acc)
        y = acc * 3
        total += tl.where(y > 0, y - x, x)
    tl.store(out + at, total)


@triton.jit
def into_the_next_trip_kernel(w, out, trips, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    factor = tl.load(w + at)
    acc = tl.zeros([N, N], tl.float32)
    before = tl.zeros([N, N], tl.float16)
    total = tl.zeros([N, N], tl.float32)
    for i in range(0, trips):
        total += tl.dot(factor, before)
        before = (acc * 2).to(tl.float16)
        acc = tl.dot(factor, factor, acc)
        total += (acc * 2).to(tl.float16).to(tl.float32)
    tl.store(out + at, total)


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("warps", [4, 8])
def test_behind_a_loop(target, warps, trips):
    n = 64
    out = torch.full((n, n), float("nan"))
    behind_a_loop_kernel[(1,)](out, trips, N=n, num_warps=warps)
    first = 2 + trips
    x = min(first, 3)
    acc = first + n * x * x
    assert torch.all(out == acc + n * x * 3)


def factor_of(n):
    return torch.randint(-1, 2, (n, n), generator=torch.Generator().manual_seed(1)).half()


@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_in_a_loop(target, warps, trips):
    n = 64
    w, out = factor_of(n), torch.full((n, n), float("nan"))
    in_a_loop_kernel[(1,)](w, out, trips, N=n, num_warps=warps)
    product, total = w.float() @ w.float(), torch.zeros(n, n)
    for i in range(trips):
        x, y = product * i, product * (i + 1)
        total += torch.where(y > 0, y - x, x * 3)
    assert torch.equal(out, total)


@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_integers(target, warps, trips):
    n = 64
    w, out = factor_of(n).to(torch.int8), torch.full((n, n), -1, dtype=torch.int32)
    integers_kernel[(1,)](w, out, trips, N=n, num_warps=warps)
    product, total = w.int() @ w.int().T, torch.zeros(n, n, dtype=torch.int32)
    for i in range(trips):
        x, y = product * i * 3, product * (i + 1) * 3
        total += torch.where(y > 0, y - x, x)
    assert torch.equal(out, total)


@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_into_the_next_trip(target, warps, trips):
    n = 64
    w, out = factor_of(n), torch.full((n, n), float("nan"))
    into_the_next_trip_kernel[(1,)](w, out, trips, N=n, num_warps=warps)
    product, total = w.float() @ w.float(), torch.zeros(n, n)
    for i in range(trips):
        total += w.float() @ (product * 2 * max(i - 1, 0)) + product * 2 * (i + 1)
    assert torch.equal(out, total)


@pytest.mark.parametrize("warps", [4, 8])
def test_the_assembler_stores_both(build_dir, warps):
    text = machine_code.of_kernel(build_dir, f"{__file__}::behind_a_loop_kernel", "out=*f32:16,trips=i32,N=64", "--num-warps", warps)
    stored = re.findall(r"STSM\S* \[[^\]]*\], (R\d+) ;", text)
    count = 16 // warps  # stores of a tile: x, y, and x once more
    x, y, again = (stored[first:first + count] for first in range(0, 3 * count, count))
    assert x == again and not set(x) & set(y), stored
