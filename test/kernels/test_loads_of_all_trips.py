"""Tiles that each trip of a loop loads from the same addresses: values are those of the loop as it is written, and a loop without a trip reads nothing."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def weigh_kernel(x, w, scale, y, rows, inner, width, B: tl.constexpr):
    part = tl.program_id(0)
    i = part * B + tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for k in range(rows):
        weight = tl.load(w + i, mask=i < width, other=2.0)
        for j in range(inner):
            row = tl.load(x + (k * inner + j) * width + i, mask=i < width, other=0.0)
            total += row * weight * tl.load(scale + k) + tl.load(scale)
    tl.store(y + i, total, mask=i < width)


@pytest.mark.parametrize("rows, inner", [(0, 3), (1, 1), (3, 0), (3, 4)])
def test_values_are_those_of_the_loop(target, rows, inner):
    width, block = 100, 64
    x, w = torch.randn(max(rows * inner, 1), width), torch.randn(width)
    scale, y = torch.randn(rows + 1), torch.full((width,), float("nan"))
    weigh_kernel[(2,)](x, w, scale, y, rows, inner, width, B=block)
    factors = scale[:rows].repeat_interleave(inner)
    wanted = (x[:rows * inner] * factors[:, None]).sum(0) * w + rows * inner * scale[0]
    torch.testing.assert_close(y, wanted, rtol=1e-5, atol=1e-5)


@triton.jit
def offset_kernel(x, y, n, far, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for k in range(n):
        total += tl.load(x + far + i) * k
    tl.store(y + i, total)


def test_a_loop_without_a_trip_reads_nothing(target):
    y = torch.full((64,), float("nan"))
    offset_kernel[(1,)](torch.ones(64), y, 0, 1 << 40, B=64)
    assert torch.all(y == 0)


@triton.jit
def product_kernel(a, b, y, n, D: tl.constexpr):
    at = tl.arange(0, D)[:, None] * D + tl.arange(0, D)[None, :]
    total = tl.zeros([D, D], tl.float32)
    for k in range(n):
        total += tl.dot(tl.load(a + at), tl.load(b + k * D * D + at))
    tl.store(y + at, total)


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("d, warps", [(16, 8), (64, 4)])
def test_a_factor_of_all_products(target, d, warps, n):
    a, b = torch.randn(d, d).half(), torch.randn(max(n, 1), d, d).half()
    y = torch.full((d, d), float("nan"))
    product_kernel[(1,)](a, b, y, n, D=d, num_warps=warps)
    torch.testing.assert_close(y, (a.float() @ b[:n].float().sum(0)), rtol=2e-3, atol=2e-2)


@triton.jit
def running_kernel(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        tl.store(y + i, tl.load(y + i) + tl.load(x + k * B + i))


def test_what_the_loop_writes_is_read_anew(target):
    n, block = 6, 128
    x, y = torch.randn(n, block), torch.zeros(block)
    running_kernel[(1,)](x, y, n, B=block)
    torch.testing.assert_close(y, x.sum(0))
