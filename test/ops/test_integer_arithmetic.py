import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from integers import TYPES, apply, interesting, wrapped


@triton.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, wide_ptr, half_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    if OP == "add":
        z = x + y
    elif OP == "sub":
        z = x - y
    elif OP == "mul":
        z = x * y
    elif OP == "floordiv":
        z = x // y
    elif OP == "mod":
        z = x % y
    elif OP == "and":
        z = x & y
    elif OP == "or":
        z = x | y
    elif OP == "xor":
        z = x ^ y
    elif OP == "shl":
        z = x << y
    elif OP == "shr":
        z = x >> y
    elif OP == "max":
        z = tl.maximum(x, y)
    elif OP == "min":
        z = tl.minimum(x, y)
    elif OP == "neg":
        z = -x
    else:
        tl.static_assert(OP == "not")
        z = ~x
    tl.store(out_ptr + i, z, mask=i < n)
    tl.store(wide_ptr + i, z.to(tl.int64), mask=i < n)
    tl.store(half_ptr + i, z >> 1, mask=i < n)


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
def scalar_kernel(x_ptr, y_ptr, out_ptr):
    x = tl.load(x_ptr)
    y = tl.load(y_ptr)
    tl.store(out_ptr, x // y)
    tl.store(out_ptr + 1, x % y)
    tl.store(out_ptr + 2, x << y)
    tl.store(out_ptr + 3, x >> y)
    tl.store(out_ptr + 4, x * y)


def pairs(dtype):
    """Every interesting value beside every other, and shift amounts around the width."""
    values = interesting(dtype, 24)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    width = np.iinfo(dtype).bits
    amounts = np.array([0, 1, width - 1, width, min(width + 1, np.iinfo(dtype).max)], dtype=dtype)
    more_x, more_y = (grid.ravel() for grid in np.meshgrid(values, amounts))
    return np.concatenate([x, more_x]), np.concatenate([y, more_y])


@pytest.mark.parametrize("op", ["add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "shl", "shr", "max", "min",
                                "neg", "not"])
@pytest.mark.parametrize("dtype", TYPES)
def test_binary(target, dtype, op):
    """N1 to N5: x // 0, INT_MIN // -1 and shifts by the width included; a result wraps before more is done with it"""
    x, y = pairs(dtype)
    out, wide, half = np.zeros_like(x), np.zeros(x.size, np.int64), np.zeros_like(x)
    binary_kernel[(triton.cdiv(x.size, 100),)](x, y, out, wide, half, x.size, OP=op, BLOCK=100)
    expected = apply(op, x, y, dtype)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(wide, expected.astype(np.int64))
    np.testing.assert_array_equal(half, expected >> 1)


@pytest.mark.parametrize("dtype", TYPES)
def test_compare(target, dtype):
    x, y = pairs(dtype)
    out = np.zeros((6, x.size), dtype=np.bool_)
    compare_kernel[(1,)](x, y, out, x.size, BLOCK=1024)
    for row, expected in zip(out, [x < y, x <= y, x > y, x >= y, x == y, x != y]):
        np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("values", [(7, 0), (-7, 2), (-128, -1), (-1, 9), (5, 8)], ids=str)
def test_scalars(target, values):
    """The same rules for scalars"""
    x, y = (np.array([v], dtype=np.int8) for v in values)
    out = np.zeros(5, dtype=np.int8)
    scalar_kernel[(1,)](x, y, out)
    expected = [apply(op, x, y, "int8")[0] for op in ("floordiv", "mod", "shl", "shr", "mul")]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("types", [("int8", "int32", "int32"), ("uint8", "int8", "uint8"), ("int16", "uint16", "uint16"),
                                   ("uint8", "int32", "int32"), ("uint32", "int64", "int64"), ("int32", "uint64", "uint64")],
                         ids=str)
def test_mixed_types_promote(target, types):
    """The usual conversions by width, without promotion to int32"""
    x, y = interesting(types[0], 40, 1), interesting(types[1], 40, 2)
    out = np.zeros(40, dtype=np.int64)
    binary_kernel[(1,)](x, y, out, np.zeros_like(out), np.zeros_like(out), 40, OP="add", BLOCK=64)
    both = wrapped([int(a) + int(b) for a, b in zip(wrapped(x, types[2]), wrapped(y, types[2]))], types[2])
    np.testing.assert_array_equal(out, both.astype(np.int64))


@triton.jit
def by_one_divisor_kernel(x_ptr, quotients, remainders, n, divisor, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.full((), divisor, tl.int64).to(x.dtype)
    tl.store(quotients + i, x // y, mask=i < n)
    tl.store(remainders + i, x % y, mask=i < n)


@pytest.mark.parametrize("dtype", TYPES)
def test_quotients_by_one_divisor(target, dtype):
    """N3: a divisor that all elements share, next to and at its multiples, where an estimate of the quotient is off by one."""
    info = np.iinfo(dtype)
    divisors = [d for d in interesting(dtype, 28, seed=3).tolist() + [5, 10, 49, 96, 98, 100, 103, 107] if -2**63 <= d < 2**63]
    for divisor in divisors:
        most = info.max // max(abs(divisor), 1)
        near = [k * abs(divisor) + off for k in (0, 1, 2, most // 3, most // 2, most - 1, most) for off in (-1, 0, 1)]
        near += [-v for v in near]
        x = np.array([v for v in near if info.min <= v <= info.max] + interesting(dtype, 20).tolist(), dtype=dtype)
        x = np.pad(x, (0, 64 - x.size))
        out = np.zeros((2, 64), dtype)  # whole tiles: where those of two stores meet, code in scalars runs
        by_one_divisor_kernel[(1,)](x, out[0], out[1], 64, divisor, BLOCK=64)
        for op, found in zip(("floordiv", "mod"), out):
            expected = apply(op, x, np.full_like(x, divisor), dtype)
            np.testing.assert_array_equal(found, expected, err_msg=f"{op} by {divisor}")
