"""Quotients and remainders in 64 bits of numbers that have 32, by any divisor: -2^31 // -1 is 2^31 there."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl

NUMBERS = [-(2**31), -(2**31) + 1, -1000, -7, -1, 0, 1, 6, 7, 8, 1000, 2**31 - 1]


@triton.jit
def quotients_kernel(x, out, d, e, n, B: tl.constexpr, POSITIVE: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0).to(tl.int64)
    if POSITIVE:
        a = i.to(tl.int64) * 1000
    first = a // d
    tl.store(out + i * 4, first, mask=i < n)
    tl.store(out + i * 4 + 1, a % d, mask=i < n)
    tl.store(out + i * 4 + 2, first // e, mask=i < n)
    tl.store(out + i * 4 + 3, first % e * e, mask=i < n)


def divided(a, d):
    """Toward zero; by 0 it is 0, with a remainder of 0."""
    if d == 0:
        return 0, 0
    quotient = abs(a) // abs(d) * (1 if (a < 0) == (d < 0) else -1)
    return quotient, a - quotient * d


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("d", [0, 1, -1, 7, -7, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("e", [0, 1, -1, 3])
def test_quotients_and_remainders(target, d, e, positive):
    x = torch.tensor(NUMBERS, dtype=torch.int32)
    out = torch.full((len(NUMBERS), 4), 99, dtype=torch.int64)
    quotients_kernel[(1,)](x, out, d, e, len(NUMBERS), B=16, POSITIVE=positive)
    wanted = []
    for i, a in enumerate(NUMBERS):
        first, rest = divided(i * 1000 if positive else a, d)
        second, behind = divided(first, e)
        wanted.append([first, rest, second, behind * e])
    assert np.array_equal(out.numpy(), np.array(wanted, dtype=np.int64))
