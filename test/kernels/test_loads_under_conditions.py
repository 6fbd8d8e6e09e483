"""Loads under conditions of a loop happen where their branch is taken, and nowhere else."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def first_or_before_kernel(x, first, out, n, B: tl.constexpr):
    """A trip takes the row before its own, the first one another tensor's row."""
    j = tl.arange(0, B)
    at = x - B + j
    total = tl.zeros([B], tl.float32)
    for i in range(0, n):
        if i > 0:
            row = tl.load(at).to(tl.float32)
        else:
            row = tl.load(first + j) * 2
        total = total * 0.5 + row
        at += B
    tl.store(out + j, total)


@triton.jit
def nested_kernel(x, which, out, n, B: tl.constexpr):
    """The address of a load comes from a load under another condition, and a scalar from a division that some trips must not do."""
    j = tl.arange(0, B)
    total = tl.zeros([B], tl.int32)
    for i in range(0, n):
        value = tl.full([B], -1, tl.int32)
        divisor = tl.load(which + i)
        if divisor > 0:
            row = 100 // divisor
            if row < n:
                value = tl.load(x + row * B + j, mask=j < B - 1, other=7)
            else:
                value = tl.full([B], row, tl.int32)
        total = total * 3 + value
    tl.store(out + j, total)


@triton.jit
def product_kernel(a, b, bias, c, n, limit, M: tl.constexpr, K: tl.constexpr):
    """A factor of a product that only some trips load."""
    m, k = tl.arange(0, M), tl.arange(0, K)
    acc = tl.zeros([M, M], tl.float32)
    for start in range(0, n, K):
        x = tl.load(a + m[:, None] * n + (start + k)[None, :])
        if start < limit:
            y = tl.load(b + (start + k)[:, None] * M + m[None, :])
        else:
            y = tl.zeros([K, M], tl.float16)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * M + m[None, :], acc)


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_the_first_trip_loads_elsewhere(target, n):
    x, first = torch.arange(max(n, 1) * 64, dtype=torch.float32).reshape(-1, 64).half() / 64, torch.arange(64, dtype=torch.float32)
    out = torch.full((64,), float("nan"))
    first_or_before_kernel[(1,)](x, first, out, n, B=64)
    wanted = torch.zeros(64)
    for i in range(n):
        wanted = wanted * 0.5 + (x[i - 1].float() if i else first * 2)
    assert torch.equal(out, wanted)


def test_conditions_within_conditions(target):
    n, b = 6, 32
    x, which = torch.arange(n * b, dtype=torch.int32).reshape(n, b), torch.tensor([0, 50, 100, -3, 5, 25], dtype=torch.int32)
    out = torch.zeros(b, dtype=torch.int32)
    nested_kernel[(1,)](x, which, out, n, B=b)
    total = torch.zeros(b, dtype=torch.int64)
    for i in range(n):
        value = torch.full((b,), -1, dtype=torch.int64)
        if which[i] > 0:
            row = 100 // int(which[i])
            value = x[row].long().clone() if row < n else torch.full((b,), row, dtype=torch.int64)
            if row < n:
                value[-1] = 7
        total = total * 3 + value
    assert torch.equal(out.long(), total)


@pytest.mark.parametrize("limit", [0, 32, 96, 128])
def test_a_factor_that_some_trips_load(target, limit):
    m, n = 64, 128
    a, b = (torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(limit)).half() for shape in ((m, n), (max(limit, 1), m)))
    c = torch.full((m, m), float("nan"))
    product_kernel[(1,)](a, b, None, c, n, limit, M=m, K=32)
    assert torch.equal(c, a[:, :limit].float() @ b[:limit].float())


@triton.jit
def nibbles_kernel(x, words, out, n, K: tl.constexpr):
    """Two trips share the bytes of a factor, and each takes its half of them."""
    i, j, k = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, K)
    total = tl.zeros([16, 32], tl.float32)
    for part in range(n):
        a = tl.load(x + i[:, None] * n * K + part * K + k[None, :])
        packed = tl.load(words + (part // 2 * K + k[:, None]) * 32 + j[None, :])
        if part % 2 == 0:
            q = packed & 15
        else:
            q = packed >> 4
        total += tl.dot(a, q.to(tl.float16))
    tl.store(out + i[:, None] * 32 + j[None, :], total)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_halves_of_bytes(target, n):
    K = 32
    generator = torch.Generator().manual_seed(n)
    x = torch.randint(-4, 5, (16, max(n, 1) * K), generator=generator).to(torch.float16)
    words = torch.randint(0, 256, ((n + 1) // 2 * K + K, 32), generator=generator, dtype=torch.uint8)
    out = torch.full((16, 32), -1.0)
    nibbles_kernel[(1,)](x, words, out, n, K=K)
    wanted = torch.zeros(16, 32)
    for part in range(n):
        rows = words[part // 2 * K:part // 2 * K + K]
        q = rows & 15 if part % 2 == 0 else rows >> 4
        wanted += x[:, part * K:part * K + K].float() @ q.float()
    assert torch.equal(out, wanted)
