"""N8 to N11, N16 to N18, N20."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_close, assert_same, name_of, random

TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 65504.0, 1e-7, 6e-8, 1e-40, 1e38, float("inf"), -float("inf"), float("nan")]


@triton.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    if OP == "add":
        z = x + y
    elif OP == "sub":
        z = x - y
    elif OP == "mul":
        z = x * y
    elif OP == "div":
        z = x / y
    elif OP == "mod":
        z = x % y
    elif OP == "max":
        z = tl.maximum(x, y)
    elif OP == "min":
        z = tl.minimum(x, y)
    elif OP == "max_nan":
        z = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
    else:
        tl.static_assert(OP == "min_nan")
        z = tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + i, z, mask=i < n)


@triton.jit
def compare_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x < y, mask=i < n)
    tl.store(out_ptr + n + i, x <= y, mask=i < n)
    tl.store(out_ptr + 2 * n + i, x > y, mask=i < n)
    tl.store(out_ptr + 3 * n + i, x >= y, mask=i < n)
    tl.store(out_ptr + 4 * n + i, x == y, mask=i < n)
    tl.store(out_ptr + 5 * n + i, x != y, mask=i < n)


@triton.jit
def chain_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, (x + y) * x - y, mask=i < n)


def pairs(dtype):
    special = torch.tensor(SPECIAL, dtype=torch.float64)
    x, y = (grid.flatten() for grid in torch.meshgrid(special, special, indexing="ij"))
    generator = torch.Generator().manual_seed(1)
    more = torch.randn(2, 400, generator=generator, dtype=torch.float64) * 10.0 ** torch.randint(
        -4, 5, (2, 400), generator=generator)
    return torch.cat([x, more[0]]).to(dtype), torch.cat([y, more[1]]).to(dtype)


@triton.jit
def large_divisor_kernel(x_ptr, y_ptr, out_ptr, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    if FORM == "size":
        z = x / (1.0 + tl.abs(y))
    elif FORM == "larger size":
        z = x / (tl.abs(y) + 3.0)
    else:
        z = 1.0 / (1.0 + tl.exp2(y))
    tl.store(out_ptr + i, z, mask=i < n)


def run(op, x, y, dtype=None):
    out = torch.zeros(x.numel(), dtype=dtype or x.dtype)
    binary_kernel[(triton.cdiv(x.numel(), 100),)](x, y, out, x.numel(), OP=op, BLOCK=100)
    return out


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("dtype", TYPES, ids=name_of)
def test_rounds_once(target, dtype, op):
    """N8, N9"""
    x, y = pairs(dtype)
    expected = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}[op](x, y)
    assert_same(run(op, x, y), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=name_of)
def test_no_intermediate_keeps_f32(target, dtype):
    """N9"""
    x, y = pairs(dtype)
    out = torch.zeros_like(x)
    chain_kernel[(1,)](x, y, out, x.numel(), BLOCK=1024)
    assert_same(out, ((x + y).to(dtype) * x).to(dtype) - y)


@pytest.mark.parametrize("dtype", TYPES, ids=name_of)
def test_division(target, dtype):
    """N11; 16-bit operands are divided in f32, and the result is f32"""
    x, y = pairs(dtype)
    wide = dtype if dtype == torch.float64 else torch.float32
    expected = x.to(wide) / y.to(wide)
    out = run("div", x, y, wide)
    if dtype == torch.float64:
        assert_same(out, expected)
    else:
        assert_close(out, expected, ulps=2)


@pytest.mark.parametrize("form", ["size", "larger size", "exponential"])
def test_division_by_one_and_more(target, form):
    """N11 where the divisor is known to be 1 or more: quotients that are subnormal, and that nearly overflow"""
    edges = torch.tensor([0.0, 1.0, 3e38, -3.4e38, 1.4e-45, 4.2e-45, 1e-38, 2.5e-38, -88.0, 126.5, 127.9, 125.0, 128.0, 8.5e37, 8.6e37, 1.7e38, float("inf"),
                          -float("inf"), float("nan")], dtype=torch.float32)
    x, y = (grid.flatten() for grid in torch.meshgrid(edges, edges, indexing="ij"))
    x, y = torch.cat([x, random(512, scale=50.0)]), torch.cat([y, random(512, scale=50.0, seed=1)])
    out = torch.zeros_like(x)
    large_divisor_kernel[(1,)](x, y, out, x.numel(), FORM=form, BLOCK=1024)
    wide = y.double()
    if form == "exponential":
        expected = 1.0 / (1.0 + torch.exp2(wide).float()).double()
        assert_close(out, expected, ulps=6)  # 2^-22.5 of exp2, the sum, and the division
    else:
        divisor = (1.0 + y.abs() if form == "size" else y.abs() + 3.0).double()
        assert_close(out, x.double() / divisor, ulps=2, error=2 * 2.0**-149)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=name_of)
def test_remainder_is_fmod(target, dtype):
    """N18"""
    x, y = pairs(dtype)
    with np.errstate(invalid="ignore"):
        expected = torch.from_numpy(np.fmod(x.numpy(), y.numpy()))
    assert_same(run("mod", x, y), expected)


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("propagate", [False, True], ids=["ignore", "propagate"])
@pytest.mark.parametrize("dtype", TYPES, ids=name_of)
def test_maximum_and_minimum(target, dtype, propagate, op):
    """N16"""
    x, y = pairs(dtype)
    function = {("max", False): torch.fmax, ("min", False): torch.fmin,
                ("max", True): torch.maximum, ("min", True): torch.minimum}[op, propagate]
    out = run(op + ("_nan" if propagate else ""), x, y)
    expected = function(x, y)
    assert ((out == expected) | (out.isnan() & expected.isnan())).all()


@pytest.mark.parametrize("dtype", TYPES, ids=name_of)
def test_comparisons_with_nan(target, dtype):
    """N17"""
    x, y = pairs(dtype)
    out = torch.zeros(6, x.numel(), dtype=torch.bool)
    compare_kernel[(1,)](x, y, out, x.numel(), BLOCK=1024)
    for row, expected in zip(out, [x < y, x <= y, x > y, x >= y, x == y, x != y]):
        assert torch.equal(row, expected)


@triton.jit
def zeros_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    count = tl.sum(x.to(tl.int32)).to(x.dtype)  # 0, which nobody knows, and no NaN
    tl.store(out_ptr + i, tl.where(x < 0, x, 0.0), mask=i < n)
    tl.store(out_ptr + n + i, tl.where(x > 0, x, 0.0), mask=i < n)
    tl.store(out_ptr + 2 * n + i, tl.where(x > -0.0, x, -0.0), mask=i < n)
    tl.store(out_ptr + 3 * n + i, tl.where(x < -0.0, x, -0.0), mask=i < n)
    tl.store(out_ptr + 4 * n + i, tl.where(x < count, x, count), mask=i < n)
    tl.store(out_ptr + 5 * n + i, tl.where(x < 0, 0.0, x), mask=i < n)
    tl.store(out_ptr + 6 * n + i, tl.where(x > 0, 0.0, x), mask=i < n)


@pytest.mark.parametrize("dtype", TYPES, ids=name_of)
def test_choices_between_zeros_keep_the_sign(target, dtype):
    """N10: on GPUs `where(x < 0, x, 0)` was the minimum, which is -0 of two zeros."""
    x = torch.tensor([0.0, -0.0, 0.25, -0.25], dtype=dtype)
    out = torch.zeros(7, 4, dtype=dtype)
    zeros_kernel[(1,)](x, out, 4, BLOCK=4)
    zero = torch.zeros((), dtype=dtype)
    assert_same(out, torch.stack([torch.where(x < 0, x, zero), torch.where(x > 0, x, zero), torch.where(x > 0, x, -zero), torch.where(x < 0, x, -zero),
                                  torch.where(x < 0, x, zero), torch.where(x < 0, zero, x), torch.where(x > 0, zero, x)]))
