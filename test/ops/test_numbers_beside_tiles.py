"""Comparisons and extrema of tiles with Python numbers: the number is an int32 or float32 first, as it is upstream, and meets the tile
in the type of both."""
import numpy
import pytest
import torch

import tegula as triton
import tegula.language as tl

N = 64
TYPES = {"int8": torch.int8, "uint8": torch.uint8, "int16": torch.int16, "float16": torch.float16, "bfloat16": torch.bfloat16}


@triton.jit
def compare_kernel(x, out, NUMBER: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, (a > NUMBER).to(tl.int32) + (a == NUMBER).to(tl.int32) * 2 + (NUMBER >= a).to(tl.int32) * 4 + (NUMBER != a).to(tl.int32) * 8)


@triton.jit
def extrema_kernel(x, most, least, NUMBER: tl.constexpr, FACTOR: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(most + i, tl.maximum(a, NUMBER) * FACTOR)
    tl.store(least + i, tl.minimum(NUMBER, a) * FACTOR)


def values(name):
    """All that is near the numbers below, in the type; and their exact values."""
    if name in ("int8", "uint8", "int16"):
        x = torch.arange(N).to(TYPES[name]) * (3 if name == "uint8" else 2) - (0 if name == "uint8" else 64)
    else:
        x = torch.cat([torch.linspace(-2, 2, N - 4), torch.tensor([0.1, -0.1, 100.0, 1.5])]).to(TYPES[name])
    return x, x.double().numpy()


def scalar_of(number):
    return numpy.float64(numpy.float32(number)) if isinstance(number, float) else number


@pytest.mark.parametrize("name, number", [
    ("int8", 1000), ("int8", -129), ("int8", 60), ("uint8", -1), ("uint8", 300), ("uint8", 90), ("int16", 70000), ("int16", 0.5),
    ("float16", 0.1), ("float16", -0.1), ("float16", 1.5), ("float16", 100000.0), ("bfloat16", 0.1), ("bfloat16", 1.5)])
def test_comparisons(target, name, number):
    x, exact = values(name)
    out = torch.zeros(N, dtype=torch.int32)
    compare_kernel[(1,)](x, out, number, N)
    c = scalar_of(number)
    wanted = (exact > c) + (exact == c) * 2 + (c >= exact) * 4 + (c != exact) * 8
    assert out.tolist() == wanted.tolist()


@pytest.mark.parametrize("name, number, factor", [
    ("int8", 1, 100), ("int8", 1000, 1), ("uint8", -1, 2), ("int16", 7, 1000), ("float16", 0.1, 65536.0), ("float16", 1.5, 65536.0),
    ("bfloat16", 0.1, 3.0)])
def test_extrema(target, name, number, factor):
    x, exact = values(name)
    results = [torch.zeros(N, dtype=torch.float32 if x.is_floating_point() else torch.int32) for _ in range(2)]
    extrema_kernel[(1,)](x, *results, number, factor, N)
    c = scalar_of(number)
    for result, wanted in zip(results, [numpy.maximum(exact, c), numpy.minimum(exact, c)]):
        assert result.tolist() == (wanted.astype(numpy.float32) * numpy.float32(factor)).tolist()


def test_numbers_beside_f64_keep_their_digits(target):
    x, out = torch.tensor([0.1, 0.2], dtype=torch.float64), torch.zeros(2, dtype=torch.int32)
    compare_kernel[(1,)](x, out, 0.1, 2)
    assert out.tolist() == [0 + 2 + 4, 1 + 8]
