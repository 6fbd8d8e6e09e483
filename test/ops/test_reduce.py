"""Reductions along each axis, of each type, at odd extents (N14, N16)."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import FLOATS, assert_close, name_of, random


@triton.jit
def reduce_1d_kernel(x_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if OP == "sum":
        z = tl.sum(x, axis=0)
    elif OP == "max":
        z = tl.max(x, axis=0)
    else:
        z = tl.min(x, axis=0)
    tl.store(out_ptr, z)


@triton.jit
def reduce_2d_kernel(x_ptr, out_ptr, OP: tl.constexpr, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * C + c[None, :])
    if OP == "sum":
        z = tl.sum(x, axis=AXIS)
    elif OP == "max":
        z = tl.max(x, axis=AXIS)
    else:
        z = tl.min(x, axis=AXIS)
    if AXIS == 0:
        tl.store(out_ptr + c, z)
    else:
        tl.store(out_ptr + r, z)


@triton.jit
def add_up(a, b):
    return a + b


@triton.jit
def larger_pair(value_a, index_a, value_b, index_b):
    take_b = value_b > value_a
    return tl.where(take_b, value_b, value_a), tl.where(take_b, index_b, index_a)


@triton.jit
def custom_kernel(x_ptr, sum_ptr, max_ptr, index_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(sum_ptr, tl.reduce(x, 0, add_up))
    value, index = tl.reduce((x, i), 0, larger_pair)
    tl.store(max_ptr, value)
    tl.store(index_ptr, index)


@triton.jit
def row_statistics_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    """Reductions whose results go back into the tile."""
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * C + c[None, :])
    centred = x - tl.sum(x, axis=1, keep_dims=True) / C
    scaled = centred / tl.sqrt(tl.sum(centred * centred, axis=1) / C + 1e-3)[:, None]
    shifted = scaled - tl.max(scaled, axis=0)[None, :]
    tl.store(out_ptr + r[:, None] * C + c[None, :], shifted)


EXTENTS = [1, 2, 3, 5, 16, 17, 48, 64, 80, 100, 257]


@pytest.mark.parametrize("op", ["sum", "max", "min"])
@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
def test_1d_floats(target, dtype, n, op):
    x = random(n, dtype=dtype, seed=n)
    out = torch.zeros(1, dtype=torch.float32)
    reduce_1d_kernel[(1,)](x, out, n, OP=op, BLOCK=n)
    if op == "sum":
        unit = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
        assert_close(out, x.double().sum().reshape(1), error=n * unit * x.double().abs().sum())
    else:
        assert out.item() == (x.max() if op == "max" else x.min()).item()


@pytest.mark.parametrize("op", ["sum", "max", "min"])
@pytest.mark.parametrize("n", [1, 5, 48, 100])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
def test_1d_integers_widen_to_32_bits(target, dtype, n, op):
    info = np.iinfo(dtype)
    x = np.random.default_rng(n).integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    out = np.zeros(1, dtype=np.int64)
    reduce_1d_kernel[(1,)](x, out, n, OP=op, BLOCK=n)
    if op == "sum":
        wide = {"int64": "int64", "uint8": "uint32", "uint32": "uint32"}.get(dtype, "int32")
        assert out[0] == x.astype(wide).sum(dtype=wide).astype(np.int64)
    else:
        expected = x.max() if op == "max" else x.min()
        assert out[0] == int(expected) or dtype == "uint32" and np.uint32(out[0] & 0xFFFFFFFF) == expected


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", ["sum", "max", "min"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (3, 5), (16, 16), (5, 48), (48, 5), (33, 65)], ids=str)
def test_2d(target, shape, op, axis):
    x = random(*shape, seed=shape[0])
    out = torch.zeros(shape[1 - axis])
    reduce_2d_kernel[(1,)](x, out, OP=op, AXIS=axis, R=shape[0], C=shape[1])
    if op == "sum":
        assert_close(out, x.double().sum(dim=axis), error=2.0**-24 * shape[axis] * x.double().abs().sum(dim=axis))
    else:
        assert torch.equal(out, x.amax(dim=axis) if op == "max" else x.amin(dim=axis))


def test_nan_is_ignored_by_max_and_min(target):
    x = random(40, seed=1)
    x[3] = x[17] = float("nan")
    for op, expected in (("max", np.nanmax), ("min", np.nanmin)):
        out = torch.zeros(1)
        reduce_1d_kernel[(1,)](x, out, 40, OP=op, BLOCK=40)
        assert out.item() == expected(x.numpy())


@pytest.mark.parametrize("n", [1, 7, 64, 100])
def test_functions_of_the_user(target, n):
    x = torch.from_numpy(np.random.default_rng(n).permutation(n).astype(np.float32))
    total, value, index = torch.zeros(1), torch.zeros(1), torch.zeros(1, dtype=torch.int32)
    custom_kernel[(1,)](x, total, value, index, BLOCK=n)
    assert total.item() == x.sum().item()
    assert value.item() == x.max().item() and index.item() == x.argmax().item()


@pytest.mark.parametrize("shape", [(1, 3), (4, 17), (16, 64), (9, 80)], ids=str)
def test_statistics_go_back_into_the_tile(target, shape):
    x = random(*shape, seed=2)
    out = torch.zeros_like(x)
    row_statistics_kernel[(1,)](x, out, R=shape[0], C=shape[1])
    xd = x.double()
    centred = xd - xd.mean(dim=1, keepdim=True)
    scaled = centred / torch.sqrt((centred * centred).mean(dim=1, keepdim=True) + 1e-3)
    assert_close(out, scaled - scaled.amax(dim=0), error=1e-5)


@triton.jit
def arg_kernel(x_ptr, max_ptr, min_ptr, value_ptr, index_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * C + c[None, :])
    tl.store(max_ptr + r, tl.argmax(x, axis=1))
    tl.store(min_ptr + c, tl.argmin(x, axis=0))
    value, index = tl.max(x, axis=1, return_indices=True)
    tl.store(value_ptr + r, value)
    tl.store(index_ptr + r, index)


@triton.jit
def bits_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.xor_sum(x, axis=0))
    tl.store(out_ptr + 1, tl.reduce_or(x, axis=0))


@triton.jit
def whole_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(out_ptr, tl.sum(x))
    tl.store(out_ptr + 1, tl.max(x))
    tl.store(out_ptr + 2, tl.sum(tl.sum(x, axis=1), axis=0))


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (8, 33), (17, 64)], ids=str)
def test_indices_of_extremes_take_the_first(target, shape):
    x = np.random.default_rng(6).integers(0, 4, shape).astype(np.float32)
    largest, smallest = np.zeros(shape[0], np.int32), np.zeros(shape[1], np.int32)
    value, index = np.zeros(shape[0], np.float32), np.zeros(shape[0], np.int32)
    arg_kernel[(1,)](x, largest, smallest, value, index, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(largest, x.argmax(axis=1))
    np.testing.assert_array_equal(smallest, x.argmin(axis=0))
    np.testing.assert_array_equal(value, x.max(axis=1))
    np.testing.assert_array_equal(index, x.argmax(axis=1))


@pytest.mark.parametrize("n", [1, 9, 100])
def test_reductions_of_bits(target, n):
    x = np.random.default_rng(n).integers(-2**31, 2**31, n).astype(np.int32)
    out = np.zeros(2, np.int32)
    bits_kernel[(1,)](x, out, BLOCK=n)
    np.testing.assert_array_equal(out, [np.bitwise_xor.reduce(x), np.bitwise_or.reduce(x)])


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (16, 32)], ids=str)
def test_over_all_axes(target, shape):
    x = np.random.default_rng(7).integers(-9, 10, shape).astype(np.float32)
    out = np.zeros(3, np.float32)
    whole_kernel[(1,)](x, out, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(out, [x.sum(), x.max(), x.sum()])


@triton.jit
def columns_kernel(x_ptr, sum_ptr, largest_ptr, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + r * C + c)
    tl.store(sum_ptr + c, tl.sum(x, axis=0, keep_dims=True))
    tl.store(largest_ptr + c, tl.max(x, axis=0, keep_dims=True))


@pytest.mark.parametrize("warps", [1, 4, 8, 16, 32])
@pytest.mark.parametrize("shape", [(2048, 1), (1024, 2), (512, 4), (512, 3), (128, 16)], ids=str)
def test_few_columns_that_neighbouring_lanes_hold(target, shape, warps):
    """Each column's warps are put together with those of no other one."""
    x = np.random.default_rng(9).integers(-9, 10, shape).astype(np.float32)
    total, largest = np.zeros(shape[1], np.float32), np.zeros(shape[1], np.float32)
    columns_kernel[(1,)](x, total, largest, R=shape[0], C=shape[1], num_warps=warps)
    np.testing.assert_array_equal(total, x.sum(axis=0))
    np.testing.assert_array_equal(largest, x.max(axis=0))


@triton.jit
def many_columns_kernel(x_ptr, rows_ptr, out_ptr, place_ptr, trips, R: tl.constexpr, C: tl.constexpr):
    """Sums of rows keep the warps across them, so that warps share each column."""
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    for _ in range(trips):
        x = tl.load(x_ptr + r * C + c)
        for k in range(3):
            x += tl.sum(x, 1)[:, None] + k
        tl.store(rows_ptr + tl.arange(0, R), tl.max(x, 1))
        tl.store(out_ptr + tl.arange(0, C), tl.sum(x, 0))
        tl.store(place_ptr + tl.arange(0, C), tl.argmax(x % 17, 0))
        tl.store(x_ptr + r * C + c, x + tl.sum(x, 0)[None, :])


@pytest.mark.parametrize("warps", [2, 4, 8, 16])
@pytest.mark.parametrize("shape", [(16, 256), (8, 1024), (32, 512), (64, 64), (20, 256)], ids=str)
def test_many_columns_that_warps_share(target, shape, warps):
    rng = np.random.default_rng(10)
    x = rng.integers(-9, 10, shape).astype(np.int32)
    y, rows = x.copy(), np.zeros(shape[0], np.int32)
    sums, places = np.zeros(shape[1], np.int32), np.zeros(shape[1], np.int32)
    many_columns_kernel[(1,)](x, rows, sums, places, 2, R=shape[0], C=shape[1], num_warps=warps)
    for _ in range(2):
        before = y.copy()
        for k in range(3):
            before += before.sum(1, dtype=np.int32)[:, None] + np.int32(k)
        y = before + before.sum(0, dtype=np.int32)[None, :]
    np.testing.assert_array_equal(rows, before.max(1))
    np.testing.assert_array_equal(sums, before.sum(0, dtype=np.int32))
    np.testing.assert_array_equal(places, np.fmod(before, 17).argmax(0))
    np.testing.assert_array_equal(x, y)


@triton.jit
def weighted_columns_kernel(x_ptr, out_ptr, n, R: tl.constexpr, C: tl.constexpr):
    column = tl.arange(0, C)
    total = 2.0 * tl.load(x_ptr + column)
    largest = -100.0
    for start in range(0, n, R):
        row = start + tl.arange(0, R)
        x = tl.load(x_ptr + row[:, None] * C + column[None, :], row[:, None] < n, other=0.0)
        sums = tl.sum(x, axis=1)
        before, largest = largest, tl.maximum(largest, tl.max(sums, axis=0))
        weight = tl.exp2((sums - largest) * 0.125)
        total = total * tl.exp2((before - largest) * 0.125) + tl.sum(x * weight[:, None], axis=0)
    tl.store(out_ptr + column, total)


# One number scales the sums of all columns in each trip; the rows are as many as the warps, more, or fewer.
@pytest.mark.parametrize("shape", [(2, 1024), (4, 512), (8, 512), (16, 64)], ids=str)
def test_columns_weighted_by_their_rows(target, shape):
    rows, columns = shape
    x = random(5, columns)
    total, largest = 2.0 * x[0].double(), torch.tensor(-100.0, dtype=torch.float64)
    for start in range(0, 5, rows):
        tile = torch.zeros(shape, dtype=torch.float64)
        tile[: min(rows, 5 - start)] = x[start : start + rows]
        sums = tile.sum(1)
        before, largest = largest, torch.maximum(largest, sums.max())
        weight = torch.exp2((sums - largest) * 0.125)
        total = total * torch.exp2((before - largest) * 0.125) + (tile * weight[:, None]).sum(0)
    out = torch.zeros(columns)
    weighted_columns_kernel[(1,)](x, out, 5, rows, columns, num_warps=4)
    torch.testing.assert_close(out.double(), total, rtol=1e-4, atol=1e-4)


@triton.jit
def sums_with_arithmetic_between_kernel(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    total = tl.sum(x, axis=0)
    shift = (total & 7) + 1
    squares = tl.sum(x * x, axis=0)
    shifted = tl.sum(tl.load(x_ptr + i + shift) * shift, axis=0)
    tl.store(x_ptr + i, x + shift)
    behind = tl.sum(tl.load(x_ptr + i), axis=0)
    last = tl.load(x_ptr + B + (behind & 7))
    tl.store(out_ptr + tl.arange(0, 1), total)
    tl.store(out_ptr + 1, squares)
    tl.store(out_ptr + 2, shifted)
    tl.store(out_ptr + 3, behind)
    tl.store(out_ptr + 4, last)


@pytest.mark.parametrize("block", [16, 40, 128])
def test_arithmetic_between_sums_keeps_the_order_of_loads_and_stores(target, block):
    x = np.random.default_rng(block).integers(-50, 50, block + 8).astype(np.int32)
    before, out = x.copy(), np.zeros(5, dtype=np.int32)
    sums_with_arithmetic_between_kernel[(1,)](x, out, B=block)
    total = int(before[:block].sum())
    shift = (total & 7) + 1
    after = before[:block] + shift
    shifted = int(before[shift:block + shift].sum()) * shift
    behind = int(after.sum())
    assert out.tolist() == [total, int((before[:block] ** 2).sum()), shifted, behind, int(before[block + (behind & 7)])]
    np.testing.assert_array_equal(x, np.concatenate([after, before[block:]]))


@triton.jit
def words_kernel(x_ptr, out_ptr, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    tl.store(out_ptr, tl.sum(x, 0))
    tl.store(out_ptr + 1, tl.max(x, 0))
    tl.store(out_ptr + 2, tl.min(x, 0))
    tl.store(out_ptr + 3, tl.xor_sum(x, 0))
    tl.store(out_ptr + 4, tl.max(x.to(tl.uint32, bitcast=True), 0).to(tl.int32, bitcast=True))
    tl.store(out_ptr + 5, tl.sum((x > 3).to(tl.int32), 0))


@pytest.mark.parametrize("size, warps", [(16, 1), (32, 1), (64, 4), (1024, 4), (1024, 8)])
def test_words(target, size, warps):
    x = torch.randint(-2**31, 2**31 - 1, (size,), generator=torch.Generator().manual_seed(size), dtype=torch.int64).to(torch.int32)
    out = torch.zeros(6, dtype=torch.int32)
    words_kernel[(1,)](x, out, B=size, num_warps=warps)
    number = x.numpy()
    expected = [number.sum(dtype=np.int32), number.max(), number.min(), np.bitwise_xor.reduce(number), number.view(np.uint32).max().view(np.int32),
                (number > 3).sum(dtype=np.int32)]
    np.testing.assert_array_equal(out.numpy(), np.array(expected, dtype=np.int32))


@pytest.mark.sim
def test_words_of_all_lanes_take_one_instruction(monkeypatch):
    monkeypatch.setattr(words_kernel, "target", "ptxvm")
    x = torch.empty(64, dtype=torch.int32)
    text = words_kernel.warmup(x, x, B=64, num_warps=1, arch="sm80", grid=(1,)).asm["ptx"]
    assert text.count("redux.sync") == 6 and "shfl" not in text
    assert "redux.sync" not in words_kernel.warmup(x, x, B=64, num_warps=1, arch="sm75", grid=(1,)).asm["ptx"]
