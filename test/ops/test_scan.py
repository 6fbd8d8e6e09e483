"""Scans along each axis, both ways, by any function; histograms."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_close, name_of, random


@triton.jit
def scan_1d_kernel(x_ptr, out_ptr, OP: tl.constexpr, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if OP == "sum":
        z = tl.cumsum(x, axis=0, reverse=REVERSE)
    else:
        z = tl.cumprod(x, axis=0, reverse=REVERSE)
    tl.store(out_ptr + i, z)


@triton.jit
def scan_2d_kernel(x_ptr, out_ptr, AXIS: tl.constexpr, REVERSE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + i, tl.cumsum(tl.load(x_ptr + i), axis=AXIS, reverse=REVERSE))


@triton.jit
def compose(scale_a, shift_a, scale_b, shift_b):
    """The function x -> scale x + shift after another: associative, not commutative."""
    return scale_a * scale_b, shift_a * scale_b + shift_b


@triton.jit
def linear_kernel(scale_ptr, shift_ptr, out_scale_ptr, out_shift_ptr, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    scale, shift = tl.associative_scan((tl.load(scale_ptr + i), tl.load(shift_ptr + i)), 0, compose, reverse=REVERSE)
    tl.store(out_scale_ptr + i, scale)
    tl.store(out_shift_ptr + i, shift)


@triton.jit
def greatest_divisor(a, b):
    while b != 0:
        rest = a % b
        a = b
        b = rest
    return a


@triton.jit
def smaller_in_steps(a, b):
    """A minimum by branches and a loop of its own."""
    if a < b:
        result = a
    else:
        result = b
        for _ in range(0, 3):
            result += 0
    return result


@triton.jit
def control_flow_kernel(x_ptr, divisor_ptr, smallest_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(divisor_ptr + i, tl.associative_scan(x, 0, greatest_divisor, reverse=True))
    tl.store(smallest_ptr + i, tl.associative_scan(x, 0, smaller_in_steps))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_maximum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A scan between masked accesses, in a loop."""
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=float("-inf"))
        tl.store(out_ptr + i, tl.associative_scan(x, 0, larger), mask=i < n)


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=i < n))


def cumulative(function, x, axis, reverse):
    return np.flip(function(np.flip(x, axis), axis), axis) if reverse else function(x, axis)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("n", [1, 2, 5, 32, 48, 64, 100, 257, 3000])
def test_1d_integers_wrap(target, n, op, reverse):
    x = np.random.default_rng(n).integers(-2**31, 2**31, n).astype(np.int32)
    out = np.zeros_like(x)
    scan_1d_kernel[(1,)](x, out, OP=op, REVERSE=reverse, BLOCK=n)
    function = {"sum": np.cumsum, "prod": np.cumprod}[op]
    np.testing.assert_array_equal(out, cumulative(lambda v, axis: function(v, axis, dtype=np.int32), x, 0, reverse))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64"])
def test_narrow_integers_widen(target, dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, 60, dtype=dtype, endpoint=True)
    out = np.zeros(60, np.int64)
    scan_1d_kernel[(1,)](x, out, OP="sum", REVERSE=False, BLOCK=60)
    wide = {"int64": "int64", "uint8": "uint32"}.get(dtype, "int32")
    np.testing.assert_array_equal(out, x.cumsum(dtype=wide).astype(np.int64))


@pytest.mark.parametrize("n", [1, 33, 128])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=name_of)
def test_1d_floats(target, dtype, n):
    x, out = random(n, dtype=dtype, seed=n), torch.zeros(n)
    scan_1d_kernel[(1,)](x, out, OP="sum", REVERSE=False, BLOCK=n)
    unit = 2.0**-11 if dtype == torch.float16 else 2.0**-24
    assert_close(out, x.double().cumsum(0), error=n * unit * x.double().abs().sum())


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (3, 5), (16, 16), (5, 48), (48, 5), (33, 65), (8, 300)], ids=str)
def test_2d(target, shape, axis, reverse):
    x = np.random.default_rng(shape[0]).integers(-9, 10, shape).astype(np.float32)
    out = np.zeros_like(x)
    scan_2d_kernel[(1,)](x, out, AXIS=axis, REVERSE=reverse, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(out, cumulative(np.cumsum, x, axis, reverse))


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("shape, dtype", [((64, 32), "int32"), ((128, 32), "int16"), ((100, 48), "int64")], ids=str)
def test_columns_over_warps(target, shape, dtype, warps, reverse):
    """Warps lie along the scanned rows, and each thread has several columns: it reads those of the warps before its own."""
    x = np.random.default_rng(warps).integers(-1000, 1000, shape).astype(dtype)
    out = np.zeros_like(x)
    scan_2d_kernel[(1,)](x, out, AXIS=0, REVERSE=reverse, R=shape[0], C=shape[1], num_warps=warps)
    np.testing.assert_array_equal(out, cumulative(lambda v, axis: np.cumsum(v, axis, dtype=dtype), x, 0, reverse))


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("n", [1, 9, 64])
def test_functions_of_the_user_keep_the_order(target, n, reverse):
    scale, shift = np.random.default_rng(n).integers(-2, 3, (2, n)).astype(np.int32)
    out_scale, out_shift = np.zeros_like(scale), np.zeros_like(shift)
    linear_kernel[(1,)](scale, shift, out_scale, out_shift, REVERSE=reverse, BLOCK=n)
    order = range(n - 1, -1, -1) if reverse else range(n)
    a, b = np.int32(1), np.int32(0)
    with np.errstate(over="ignore"):
        for i in order:
            a, b = a * scale[i], b * scale[i] + shift[i]
            assert (out_scale[i], out_shift[i]) == (a, b)


@triton.jit
def transposed_kernel(scale_ptr, shift_ptr, out_scale_ptr, out_shift_ptr, REVERSE: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
                      C: tl.constexpr, COLUMNS: tl.constexpr):
    rows: tl.constexpr = A * B * C // COLUMNS
    i = tl.arange(0, A * B * C)
    scale = tl.permute(tl.reshape(tl.load(scale_ptr + i), (A, B, C)), (2, 1, 0)).reshape(rows, COLUMNS)
    shift = tl.permute(tl.reshape(tl.load(shift_ptr + i), (A, B, C)), (2, 1, 0)).reshape(rows, COLUMNS)
    scale, shift = tl.associative_scan((scale, shift), 0, compose, reverse=REVERSE)
    at = tl.arange(0, rows)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_scale_ptr + at, scale)
    tl.store(out_shift_ptr + at, shift)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("warps", [1, 2, 8, 16])
@pytest.mark.parametrize("shape, columns", [((8, 4, 8), 1), ((8, 4, 8), 2), ((8, 8, 4), 4), ((16, 4, 4), 2), ((4, 16, 8), 2)], ids=str)
def test_transposed_tiles(target, shape, columns, warps, reverse):
    """Lanes lie along the axis in another order than by their numbers, with warps between them."""
    generator = np.random.default_rng(0)
    scale, shift = generator.choice(np.array([-1, 1, 3], np.int32), shape), generator.integers(-9, 9, shape, np.int32)
    out_scale, out_shift = (torch.zeros(scale.size // columns, columns, dtype=torch.int32) for _ in range(2))
    transposed_kernel[(1, )](*(torch.from_numpy(x) for x in (scale, shift)), out_scale, out_shift, reverse, *shape, columns, num_warps=warps)
    order = slice(None, None, -1 if reverse else 1)
    expected = [x.transpose(2, 1, 0).reshape(-1, columns)[order].copy() for x in (scale, shift)]
    for row in range(1, len(expected[0])):
        expected[1][row] += expected[1][row - 1] * expected[0][row]
        expected[0][row] *= expected[0][row - 1]
    assert (out_scale.numpy() == expected[0][order]).all() and (out_shift.numpy() == expected[1][order]).all()


@pytest.mark.parametrize("n", [5, 64])
def test_functions_with_control_flow(target, n):
    x = np.random.default_rng(n).integers(1, 1000, n).astype(np.int32) * 6
    divisor, smallest = np.zeros_like(x), np.zeros_like(x)
    control_flow_kernel[(1,)](x, divisor, smallest, BLOCK=n)
    np.testing.assert_array_equal(smallest, np.minimum.accumulate(x))
    if n == 64:
        np.testing.assert_array_equal(divisor, np.gcd.accumulate(x[::-1])[::-1])


@pytest.mark.parametrize("n", [0, 1, 63, 200])
def test_between_masked_accesses(target, n):
    x, out = np.random.default_rng(n).standard_normal(n).astype(np.float32), np.zeros(n, np.float32)
    running_maximum_kernel[(1,)](x, out, n, BLOCK=64)
    for start in range(0, n, 64):
        np.testing.assert_array_equal(out[start:start + 64], np.maximum.accumulate(x[start:start + 64]))


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "int64"])
@pytest.mark.parametrize("bins", [1, 5, 16, 200])
@pytest.mark.parametrize("n", [0, 1, 100, 128])
def test_histogram(target, n, bins, dtype):
    x = np.random.default_rng(bins).integers(0, 100, n).astype(dtype)
    x[:n // 4] = 201 if dtype == "uint8" else -1  # without a bin
    out = np.full(bins, 99, np.int32)
    histogram_kernel[(1,)](x, out, n, BINS=bins, BLOCK=128)
    counted = x.astype(np.int64)
    counted = counted[(counted >= 0) & (counted < bins)]
    np.testing.assert_array_equal(out, np.bincount(counted, minlength=bins))


@triton.jit
def checked_add(a, b):
    tl.device_assert(a + b <= 9, "the sum is too large")
    return a + b


@triton.jit
def checked_maximum(a, b):
    tl.device_assert((a > 0) & (b > 0), "this element is none of the tile's")
    return tl.maximum(a, b)


@triton.jit(debug=True)
def checked_sums_kernel(x_ptr, out_ptr, total_ptr, REVERSE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.associative_scan(x, 1, checked_add, reverse=REVERSE))
    tl.store(total_ptr + tl.arange(0, R), tl.reduce(x + 10, 1, checked_maximum))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rows, columns", [(1, 512), (4, 64), (3, 40), (5, 7)])
def test_assertions_see_what_is_combined_only(target, rows, columns, reverse):
    """Sums of neighbours are 0 or 9; twice an element, or an element outside of the tile, would be more."""
    x = np.zeros((rows, columns), np.int32)
    x[:, 0::2], x[:, 1::2] = 9, -9
    out, total = torch.zeros(x.shape, dtype=torch.int32), torch.zeros(rows, dtype=torch.int32)
    checked_sums_kernel[(1, )](torch.from_numpy(x), out, total, reverse, rows, columns)
    expected = np.flip(np.cumsum(np.flip(x, 1), 1), 1) if reverse else np.cumsum(x, 1)
    assert (out.numpy() == expected).all() and (total.numpy() == 19).all()


@pytest.mark.parametrize("rows, columns", [(1, 512), (4, 64), (5, 7)])
def test_assertions_of_what_is_combined_fail_in_each_thread(target, rows, columns):
    if target == "cuda":
        pytest.skip("a failed assertion ends the process's use of the device")
    x = np.zeros((rows, columns), np.int32)
    x[-1, -2:] = 9
    out, total = torch.zeros(x.shape, dtype=torch.int32), torch.zeros(rows, dtype=torch.int32)
    with pytest.raises(triton.DeviceAssertionError, match="the sum is too large"):
        checked_sums_kernel[(1, )](torch.from_numpy(x), out, total, False, rows, columns)
