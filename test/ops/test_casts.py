"""N6, N7, N12, N13: every pair of types."""
import ml_dtypes
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from integers import TYPES, interesting, wrapped

FLOATS = ["float16", "bfloat16", "float32", "float64"]


@triton.jit
def cast_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x.to(out_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def bitcast_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x.to(out_ptr.dtype.element_ty, bitcast=True), mask=i < n)


def numpy_type(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def as_argument(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return array


def floats(name):
    wide = np.array([0.0, -0.0, 0.5, -0.5, 1.0, 1.5, 2.5, -2.5, 3.999, 127.0, 128.0, -128.0, -129.0, 255.5, 256.0, 32767.0,
                     32768.0, 65504.0, 65519.0, 65520.0, 70000.0, 2.0**31 - 1, 2.0**31, -2.0**31, -2.0**31 - 1000, 2.0**32,
                     2.0**63, -2.0**63, 2.0**64, 1e-8, 6e-8, 1e-40, 1e38, 3.5e38, -1e300, 1e300, np.inf, -np.inf, np.nan,
                     1.00048828125, 1.001, 1.0009765625 * 1.0004, 0.1, 1 / 3])
    rng = np.random.default_rng(1)
    wide = np.concatenate([wide, rng.standard_normal(40) * 10.0 ** rng.integers(-9, 12, 40)])
    with np.errstate(over="ignore", invalid="ignore"):
        return wide.astype(numpy_type(name))


def saturated(values, dtype):
    """N12"""
    if np.dtype(dtype).itemsize == 1:
        return saturated(values, np.dtype(dtype).kind + "2").astype(dtype)
    info, out = np.iinfo(dtype), []
    for value in values.astype(np.float64):
        if np.isnan(value):
            out.append(0)
        else:
            out.append(info.max if value >= info.max else info.min if value <= info.min else int(value))
    return np.array(out, dtype=dtype)


def rounded(values, dtype):
    """To nearest even, once. The sources are exact in f64 or integers."""
    if values.dtype.kind in "iu" and dtype in ("float16", "bfloat16", "float32"):
        exact = np.array([float_once(int(v), dtype) for v in values])
        return exact.astype(numpy_type(dtype))
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "bfloat16":  # ml_dtypes rounds f64 twice
            return np.array([small_once(v) for v in values.astype(np.float64)]).astype(numpy_type(dtype))
        return values.astype(np.float64).astype(numpy_type(dtype))


def small_once(value):
    """An f64 rounded once to bf16, as an f64 that is exact in it."""
    if not np.isfinite(value) or value == 0:
        return value
    step = 2.0 ** max(np.frexp(value)[1] - 8, -133)
    return np.copysign(np.rint(value / step) * step, value)


def float_once(integer, dtype):
    """An integer rounded once to `dtype`, as an f64 that is exact in it."""
    digits = {"float16": 11, "bfloat16": 8, "float32": 24}[dtype]
    sign, magnitude = (-1 if integer < 0 else 1), abs(integer)
    drop = max(0, magnitude.bit_length() - digits)
    low, half = magnitude & ((1 << drop) - 1), (1 << drop) >> 1
    kept = magnitude >> drop
    if drop and (low > half or (low == half and kept & 1)):
        kept += 1
    value = sign * float(kept) * 2.0**drop
    return np.inf * sign if dtype == "float16" and abs(value) >= 65520 else value


def run(kernel, x, dtype):
    out = np.zeros(x.size, dtype=numpy_type(dtype))
    kernel[(1,)](as_argument(x), as_argument(out), x.size, BLOCK=128)
    return out


def same(actual, expected):
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    return ((actual == expected) & (np.signbit(actual) == np.signbit(expected))) | (np.isnan(actual) & np.isnan(expected))


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("result", TYPES)
def test_integer_to_integer(target, source, result):
    x = interesting(source)
    np.testing.assert_array_equal(run(cast_kernel, x, result), wrapped(x, result))


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("result", TYPES)
def test_float_to_integer_saturates(target, source, result):
    x = floats(source)
    np.testing.assert_array_equal(run(cast_kernel, x, result), saturated(x, result))


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("result", FLOATS)
def test_integer_to_float_rounds_once(target, source, result):
    x = interesting(source)
    if source.endswith("64"):  # just beside the middle of two bf16: a first rounding to f64 or f32 would land on it
        x[:3] = [(0x181 << 40) - 1, (0x181 << 40) + 1, 0x181 << 40]
    assert same(run(cast_kernel, x, result), rounded(x, result)).all()


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("result", FLOATS)
def test_float_to_float(target, source, result):
    x = floats(source)
    if source == "float64":  # just beside the middle of two f16: a first rounding to f32 would land on it
        x[:3] = [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11 - 2.0**-40, 1 + 2.0**-11]
    assert same(run(cast_kernel, x, result), rounded(x, result)).all()


@pytest.mark.parametrize("source", TYPES + FLOATS)
def test_to_bool_is_not_zero(target, source):
    """N7"""
    x = floats(source) if source in FLOATS else interesting(source)
    out = np.zeros(x.size, dtype=np.bool_)
    cast_kernel[(1,)](as_argument(x), out, x.size, BLOCK=128)
    np.testing.assert_array_equal(out, x.astype(np.float64) != 0)


@pytest.mark.parametrize("result", TYPES + FLOATS)
def test_from_bool(target, result):
    x = np.array([True, False, True, True, False])
    np.testing.assert_array_equal(run(cast_kernel, x, result).astype(np.float64), x.astype(np.float64))


@pytest.mark.parametrize("pair", [("float32", "int32"), ("int32", "float32"), ("float16", "int16"), ("bfloat16", "uint16"),
                                  ("float64", "uint64"), ("uint8", "int8")], ids=str)
def test_bitcast(target, pair):
    x = floats(pair[0]) if pair[0] in FLOATS else interesting(pair[0])
    out = run(bitcast_kernel, x, pair[1])
    np.testing.assert_array_equal(out.view(np.uint8), x.view(np.uint8))


@triton.jit
def interleaved_kernel(x_ptr, out_ptr, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    both = tl.interleave((x & 15).to(tl.float32), (x >> 4).to(tl.float32))
    tl.store(out_ptr + tl.arange(0, 2 * B), (both * 0.5).to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("size, warps", [(64, 1), (1024, 4), (2048, 8)])
def test_narrowed_behind_an_interleaving(target, size, warps):
    x = torch.randint(0, 256, (size,), generator=torch.Generator().manual_seed(size)).to(torch.uint8)
    out = torch.full((2 * size,), float("nan"), dtype=torch.float16)
    interleaved_kernel[(1,)](x, out, B=size, num_warps=warps)
    assert torch.equal(out, (torch.stack([x & 15, x >> 4], 1).reshape(-1) * 0.5).to(torch.float16))


@triton.jit
def turned_kernel(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    both = tl.load(x_ptr + i * B + j) * tl.load(y_ptr + i * B + j)
    tl.store(out_ptr + j * B + i, (both * 0.5).to(out_ptr.dtype.element_ty))


@pytest.mark.sim
def test_what_moves_between_threads_is_narrow_already(monkeypatch):
    monkeypatch.setattr(turned_kernel, "target", "ptxvm")
    x = torch.empty(64, 64)
    kernel = turned_kernel.warmup(x, x, x.half(), B=64, num_warps=4, arch="sm80", grid=(1,))
    assert kernel.metadata.shared == 64 * 64 * 2  # once each as f16, not as f32
