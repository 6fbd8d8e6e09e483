"""Floats of 8 bits: stored, converted, and computed with in f32, rounded after each operation (N8, N13)."""
import ml_dtypes
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from test_casts import FLOATS, as_argument, cast_kernel, floats, numpy_type, same


EIGHT_BITS = {"float8e4nv": (torch.float8_e4m3fn, ml_dtypes.float8_e4m3fn, 448.0),
              "float8e5": (torch.float8_e5m2, ml_dtypes.float8_e5m2, 57344.0)}


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
