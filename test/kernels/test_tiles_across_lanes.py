"""Tiles that lie across the lanes: blocks of them are transposed, pairs taken apart and put together, exactly."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same


def counting(*shape, dtype=torch.float32):
    """Neighbours differ, in every type."""
    count = torch.arange(torch.Size(shape).numel()).view(shape)
    return (count % 251 - 125).to(torch.int8) if dtype == torch.int8 else (count % 2039).to(dtype)


@triton.jit
def add_transposed_kernel(x_ptr, y_ptr, out_ptr, x_stride, y_stride, rows, columns, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    mask = (r[:, None] < rows) & (c[None, :] < columns)
    x = tl.load(x_ptr + r[:, None] * x_stride + c[None, :], mask=mask, other=7)
    y = tl.load(y_ptr + r[:, None] + c[None, :] * y_stride, mask=mask, other=7)
    tl.store(out_ptr + r[:, None] * x_stride + c[None, :], x + y, mask=mask)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("block", [(16, 16), (32, 48), (16, 40), (64, 8)], ids=str)
@pytest.mark.parametrize("shape", [(16, 16), (67, 45), (1, 130)], ids=str)
def test_one_factor_lies_across(target, shape, block, dtype):
    x, y = counting(*shape, dtype=dtype), counting(*reversed(shape), dtype=dtype)
    out = torch.zeros_like(x)
    grid = tuple(triton.cdiv(extent, size) for extent, size in zip(shape, block))
    add_transposed_kernel[grid](x, y, out, shape[1], shape[0], *shape, R=block[0], C=block[1])
    assert_same(out, x + y.T)


@triton.jit
def with_its_transpose_kernel(x_ptr, out_ptr, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] * stride + i[None, :])
    tl.store(out_ptr + i[:, None] * stride + i[None, :], 2 * x + tl.trans(x))


@pytest.mark.parametrize("overlap", ["apart", "in place", "shifted"])
@pytest.mark.parametrize("n", [16, 32, 48])
def test_a_tile_and_its_transpose(target, n, overlap):
    memory = counting(n + 1, n)
    x = memory[:n]
    out = {"apart": torch.zeros_like(x), "in place": x, "shifted": memory[1:]}[overlap]
    expected = 2 * x + x.T
    with_its_transpose_kernel[(1,)](x, out, n, N=n)
    assert_same(out, expected)


@triton.jit
def costly_transpose_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] + i[None, :] * N)
    y = tl.load(y_ptr + i[:, None] * N + i[None, :])
    for _ in tl.static_range(12):
        x = (x * 3 + y) & 0xFFFFF
        y = (y * 5 + x) & 0xFFFFF
    tl.store(out_ptr + i[:, None] * N + i[None, :], x + y)


def test_a_long_expression_of_a_transposed_tile(target):
    """Its places are a loop: the block is in memory."""
    x, y = counting(32, 32, dtype=torch.int32), counting(32, 32, dtype=torch.int32).flip(0).contiguous()
    out = torch.zeros_like(x)
    costly_transpose_kernel[(1,)](x, y, out, N=32)
    a, b = x.T.long(), y.long()
    for _ in range(12):
        a = (a * 3 + b) & 0xFFFFF
        b = (b * 5 + a) & 0xFFFFF
    assert_same(out, (a + b).int())


@triton.jit
def permuted_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, ORDER: tl.constexpr):
    x = tl.reshape(tl.load(x_ptr + tl.arange(0, A * B * C)), [A, B, C])
    tl.store(out_ptr + tl.arange(0, A * B * C), tl.reshape(tl.permute(x, ORDER), [A * B * C]))


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float32, torch.int64], ids=str)
@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (2, 0, 1), (1, 2, 0)], ids=str)
@pytest.mark.parametrize("shape", [(16, 2, 16), (4, 16, 32), (32, 2, 2), (2, 32, 4), (16, 8, 1), (64, 2, 4), (3, 16, 5)], ids=str)
def test_dimensions_in_any_order(target, shape, order, dtype):
    x = counting(*shape, dtype=dtype)
    out = torch.zeros(x.numel(), dtype=dtype)
    permuted_kernel[(1,)](x, out, *shape, ORDER=order)
    assert_same(out, x.permute(order).contiguous().flatten())


@triton.jit
def butterfly_kernel(x_ptr, out_ptr, N: tl.constexpr, HALF: tl.constexpr):
    x = tl.reshape(tl.load(x_ptr + tl.arange(0, N)), [N // (2 * HALF), 2, HALF])
    low, high = tl.split(tl.permute(x, (0, 2, 1)))
    joined = tl.permute(tl.join(low + high, low - high), (0, 2, 1))
    tl.store(out_ptr + tl.arange(0, N), tl.reshape(joined, [N]))


@pytest.mark.parametrize("dtype", [torch.int32, torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("half", [1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize("n", [128, 256])
def test_butterflies_of_any_distance(target, n, half, dtype):
    x = (counting(n, dtype=torch.int32) % 50).to(dtype)
    out = torch.zeros_like(x)
    butterfly_kernel[(1,)](x, out, N=n, HALF=half)
    low, high = x.view(-1, 2, half).unbind(1)
    assert_same(out, torch.stack((low + high, low - high), 1).flatten())


@triton.jit
def conditions_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 2 * N))
    even, odd = tl.split(tl.reshape(x > 0, [N, 2]))
    both = tl.reshape(tl.join(odd, even), [2 * N])
    tl.store(out_ptr + tl.arange(0, 2 * N), both.to(tl.int8))


@pytest.mark.parametrize("n", [1, 4, 16, 40])
def test_conditions_change_places(target, n):
    x = counting(2 * n) % 3 - 1
    out = torch.zeros(2 * n, dtype=torch.int8)
    conditions_kernel[(1,)](x, out, N=n)
    assert_same(out, (x > 0).view(n, 2).flip(1).flatten().to(torch.int8))
