"""Floats of 8 bits: stored, converted, and computed with in f32, rounded after each operation (N8, N13)."""
import ml_dtypes
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from test_casts import FLOATS, as_argument, cast_kernel, floats, numpy_type, same


EIGHT_BITS = {"float8e4nv": (torch.float8_e4m3fn, ml_dtypes.float8_e4m3fn, 448.0),
              "float8e5": (torch.float8_e5m2, ml_dtypes.float8_e5m2, 57344.0),
              "float8e4b8": (torch.float8_e4m3fnuz, ml_dtypes.float8_e4m3fnuz, 240.0),
              "float8e5b16": (torch.float8_e5m2fnuz, ml_dtypes.float8_e5m2fnuz, 57344.0)}


@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("source", EIGHT_BITS)
def test_all_eight_bit_floats(target, source, result):
    dtype, reference, _ = EIGHT_BITS[source]
    bits = np.arange(256, dtype=np.uint8)
    out = np.zeros(256, numpy_type(result))
    cast_kernel[(1,)](torch.from_numpy(bits).view(dtype), as_argument(out), 256, BLOCK=256)
    with np.errstate(invalid="ignore"):
        assert same(out, bits.view(reference).astype(np.float64).astype(out.dtype)).all()


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("result", EIGHT_BITS)
def test_to_eight_bit_floats_saturates(target, source, result):
    """N13"""
    dtype, reference, largest = EIGHT_BITS[result]
    x = np.concatenate([floats(source), [1.0625, 1.1875, 440, 448, 460, 464, 465, 2.0**-9, 2.0**-10, 2.0**-11 * 3, 60000, 61440, 61441]])
    x = x.astype(numpy_type(source))
    out = torch.zeros(len(x), dtype=torch.uint8).view(dtype)
    cast_kernel[(1,)](as_argument(x), out, len(x), BLOCK=128)
    with np.errstate(invalid="ignore"):
        wide = x.astype(np.float64)
        expected = np.where(np.isnan(wide), wide, np.clip(wide, -largest, largest)).astype(reference)
    assert same(out.view(torch.uint8).numpy().view(reference).astype(np.float64), expected.astype(np.float64)).all()


@triton.jit
def eight_bit_arithmetic_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.where(x > 1.0, x + x, -x))


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_eight_bit_arithmetic_rounds_each_result(target, name):
    dtype, reference, largest = EIGHT_BITS[name]
    bits = np.arange(256, dtype=np.uint8)
    x = bits.view(reference).astype(np.float64)
    finite = bits[np.isfinite(x)]
    x = finite.view(reference).astype(np.float64)
    out = torch.zeros(len(finite), dtype=torch.uint8).view(dtype)
    eight_bit_arithmetic_kernel[(1,)](torch.from_numpy(finite.copy()).view(dtype), out, BLOCK=len(finite))
    expected = np.where(x > 1, np.minimum(x + x, largest), -x).astype(reference)
    np.testing.assert_array_equal(out.view(torch.uint8).numpy().view(reference).astype(np.float64), expected.astype(np.float64))


# --- float8e4b15: four bits of exponent with bias 15, neither infinity nor NaN; no host has it -------

E4B15 = np.array([(-1.0) ** (code >> 7) * (((code & 7) / 8 + (code >> 3 & 15 != 0)) * 2.0 ** (max(code >> 3 & 15, 1) - 15))
                  for code in range(256)])


def nearest_e4b15(x):
    """Codes of the nearest values, the even one of two; NaN and what is greater become 1.75, as upstream."""
    codes = np.arange(0x7F)
    magnitude = np.minimum(np.where(np.isnan(x), 1.75, np.abs(x)), 1.75)[:, None]
    off = np.abs(magnitude - E4B15[codes][None, :])
    nearest = off == off.min(1)[:, None]
    return ((nearest * (2 - (codes & 1))).argmax(1) + 0x80 * np.signbit(x)).astype(np.uint8)


@triton.jit
def from_e4b15_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr.to(tl.pointer_type(tl.float8e4b15)) + i)
    tl.store(out_ptr + i, x.to(out_ptr.dtype.element_ty))


@triton.jit
def to_e4b15_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr.to(tl.pointer_type(tl.float8e4b15)) + i, tl.load(x_ptr + i))


@pytest.mark.parametrize("result", FLOATS)
def test_all_of_e4b15(target, result):
    out = np.zeros(256, numpy_type(result))
    from_e4b15_kernel[(1,)](np.arange(256, dtype=np.uint8), as_argument(out), BLOCK=256)
    np.testing.assert_array_equal(out.astype(np.float64), E4B15)
    assert np.signbit(out.astype(np.float64)[128])


@pytest.mark.parametrize("source", FLOATS)
def test_to_e4b15_rounds_once(target, source):
    near = np.concatenate([E4B15[:-1] + (E4B15[1:] - E4B15[:-1]) * part for part in (0.25, 0.5, 0.5 + 2.0**-30)])
    x = np.concatenate([floats(source).astype(np.float64), near, -near]).astype(numpy_type(source))
    out = np.zeros(len(x), np.uint8)
    to_e4b15_kernel[(1,)](as_argument(x), out, BLOCK=len(x))
    np.testing.assert_array_equal(out, nearest_e4b15(x.astype(np.float64)))


@triton.jit
def cut_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty, fp_downcast_rounding="rtz"))


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_rounding_toward_zero(target, name):
    dtype, reference, largest = EIGHT_BITS[name]
    with np.errstate(invalid="ignore"):
        values = np.arange(256, dtype=np.uint8).view(reference).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    x = np.concatenate([values, values * (1 + 2.0**-20), values * (1 - 2.0**-20), [2.0**-30, -2.0**-30, 1e9, -np.inf]])
    x = x.astype(np.float32)
    out = torch.zeros(len(x), dtype=torch.uint8).view(dtype)
    cut_kernel[(1,)](x, out, BLOCK=len(x))
    up, down = values[values >= 0], values[values <= 0]
    expected = [up[up <= v].max() if v >= 0 else down[down >= v].min() for v in x.astype(np.float64)]
    np.testing.assert_array_equal(out.view(torch.uint8).numpy().view(reference).astype(np.float64), expected)


@triton.jit
def constants_kernel(out_ptr, tile_ptr, argument: tl.float8e4b8, N: tl.constexpr):
    element: tl.constexpr = out_ptr.dtype.element_ty
    tl.store(out_ptr, 3.3)
    tl.store(out_ptr + 1, 1000000)
    tl.store(out_ptr + 2, tl.full((), -0.0, element))
    tl.store(out_ptr + 3, float("nan"))
    tl.store(out_ptr + 4, argument)
    i = tl.arange(0, N)
    x = tl.full((N,), 2.5, element) + i.to(element)
    tl.store(tile_ptr + i, tl.where(x == 2.5, tl.clamp(x, 3.0, 3.5), -x))


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_constants_and_arguments(target, name):
    dtype, reference, largest = EIGHT_BITS[name]
    out, tiles = torch.zeros(5, dtype=torch.uint8).view(dtype), torch.zeros(8, dtype=torch.uint8).view(dtype)
    constants_kernel[(1,)](out, tiles, 0.3, N=8)
    exact = np.array([3.3, largest, -0.0, np.nan, 0.3125]).astype(reference).astype(np.float64)
    np.testing.assert_array_equal(out.view(torch.uint8).numpy().view(reference).astype(np.float64), exact)
    sums = (2.5 + np.arange(8)).astype(reference).astype(np.float64)
    np.testing.assert_array_equal(tiles.view(torch.uint8).numpy().view(reference).astype(np.float64),
                                  np.where(sums == 2.5, 3.0, -sums))


@triton.jit
def sum_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr, tl.max(x, 0))
    tl.store(out_ptr + 1, tl.argmax(x, 0))
    tl.store(out_ptr + 2, tl.sum(tl.cumsum(x.to(tl.float32), 0), 0))
    tl.store(out_ptr + 3, tl.sum(tl.sort(x) * tl.where(i == 0, 1, 0).to(x.dtype), 0))


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_reductions_of_eight_bit_floats(target, name):
    dtype, reference, _ = EIGHT_BITS[name]
    x = np.array([1.5, -2.0, 3.0, 0.25, 3.0, -0.5, 0.0, 1.0])
    out = np.zeros(4, np.float32)
    sum_kernel[(1,)](torch.from_numpy(x.astype(reference).view(np.uint8)).view(dtype), out, BLOCK=8)
    np.testing.assert_array_equal(out, [3.0, 2, np.cumsum(x).sum(), -2.0])


@triton.jit
def print_kernel(x_ptr):
    tl.device_print("x", tl.load(x_ptr))


def test_prints_values_not_bytes(target, capfd):
    if target == "cuda":
        pytest.skip("printed by the driver")
    print_kernel[(1,)](torch.tensor([1.5]).to(torch.float8_e4m3fnuz))
    assert "1.5" in capfd.readouterr().out


# --- products ---------------------------------------------------------------------------------------


@triton.jit
def product_kernel(a_ptr, b_ptr, out_ptr, N: tl.constexpr, K: tl.constexpr):
    m, k = tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + m[None, :])
    tl.store(out_ptr + m[:, None] * N + m[None, :], tl.dot(a, b))


@pytest.mark.parametrize("right", EIGHT_BITS)
@pytest.mark.parametrize("left", EIGHT_BITS)
def test_products_of_any_two_eight_bit_floats(target, left, right):
    rng = np.random.default_rng(7)
    values = np.array([-3, -1.5, -1, -0.5, 0, 0.25, 1, 2, 3.5])
    x, y = rng.choice(values, (16, 32)), rng.choice(values, (32, 16))
    bits = [torch.from_numpy(v.astype(EIGHT_BITS[n][1]).view(np.uint8)).view(EIGHT_BITS[n][0]) for v, n in ((x, left), (y, right))]
    out = np.zeros((16, 16), np.float32)
    product_kernel[(1,)](*bits, out, N=16, K=32)
    np.testing.assert_array_equal(out, x @ y)


@triton.jit
def few_rows_kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(a, b))


@pytest.mark.parametrize("left, right", [("float8e4nv", "float8e5"), ("float8e5", "float8e4nv")])
def test_few_rows_of_one_type_times_another(target, left, right):
    """Operands of two types keep their order, though the other one would fit few rows better."""
    rng = np.random.default_rng(8)
    x, y = rng.integers(-3, 4, (4, 32)).astype(float), rng.integers(-3, 4, (32, 64)).astype(float)
    bits = [torch.from_numpy(v.astype(EIGHT_BITS[n][1]).view(np.uint8)).view(EIGHT_BITS[n][0]) for v, n in ((x, left), (y, right))]
    out = np.zeros((4, 64), np.float32)
    few_rows_kernel[(1,)](*bits, out, M=4, N=64, K=32)
    np.testing.assert_array_equal(out, x @ y)
