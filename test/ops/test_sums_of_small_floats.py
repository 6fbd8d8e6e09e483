"""Sums of 8- and 16-bit floats compute in f32 and round once, at the end (N24). Addends are small integers, so that the
sum in f32 is exact in any order; each step rounded to the type would lose some of them."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import name_of

SMALL = [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]


@triton.jit
def sum_kernel(x_ptr, out_ptr, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr, KEPT: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + tl.arange(0, KEPT), tl.sum(tl.load(x_ptr + i), AXIS))


@triton.jit
def total_kernel(x_ptr, out_ptr, N: tl.constexpr, DTYPE: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, N)), dtype=DTYPE))


@triton.jit
def running_kernel(x_ptr, sum_ptr, product_ptr, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(sum_ptr + i, tl.cumsum(x, 0, reverse=REVERSE))
    tl.store(product_ptr + i, tl.cumprod(x, 0, reverse=REVERSE))


def integers(shape, dtype, low, high):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(7)).to(dtype)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", SMALL, ids=name_of)
def test_a_sum_rounds_once(target, dtype, axis):
    x = integers((45, 150), dtype, 0, 4)
    exact = x.float().sum(axis)
    out = torch.zeros(exact.shape, dtype=dtype)
    sum_kernel[(1,)](x, out, AXIS=axis, R=45, C=150, KEPT=exact.numel())
    assert torch.equal(out.float(), exact.to(dtype).float())


@pytest.mark.parametrize("given,asked", [(torch.float32, torch.float16), (torch.int32, torch.bfloat16)], ids=["float", "integer"])
def test_a_sum_in_a_small_type_rounds_once(target, given, asked):
    x = integers((3000,), given, 0, 3)
    out = torch.zeros(1, dtype=asked)
    total_kernel[(1,)](x, out, N=3000, DTYPE=getattr(tl, name_of(asked)))
    assert out.item() == x.float().sum().to(asked).item()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", SMALL, ids=name_of)
def test_running_sums_and_products_round_once_each(target, dtype, reverse):
    # The product is exact in f32: an odd part of at most 3^9.
    x = torch.tensor([1.5, 0.75, 3, 0.5, 1.5, 1.5, 3, 0.75, 1.5, 0.5, 6, 1.5]).to(dtype)
    given = torch.float32 if dtype == torch.bfloat16 else dtype  # cumsum and cumprod of bfloat16 give fp32
    sums, products = torch.zeros(12, dtype=given), torch.zeros(12, dtype=given)
    running_kernel[(1,)](x, sums, products, N=12, REVERSE=reverse)
    ordered = x.float().flip(0) if reverse else x.float()
    for out, exact in ((sums, ordered.cumsum(0)), (products, ordered.cumprod(0))):
        assert torch.equal(out.float(), (exact.flip(0) if reverse else exact).to(given).float())
