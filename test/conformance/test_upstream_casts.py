"""Conversions between types, and bit casts."""
import numpy as np
import pytest
import torch
import triton
import triton.language as tl

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64"]


@triton.jit
def cast_kernel(x_ptr, out_ptr, BITCAST: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x.to(out_ptr.dtype.element_ty, bitcast=BITCAST))


def cast(x, dtype, bitcast=False):
    out = torch.zeros(x.shape, dtype=dtype, device=x.device)
    cast_kernel[(1,)](x, out, BITCAST=bitcast, N=x.numel())
    return out


@pytest.mark.parametrize("to", [*NUMBERS, "bool"])
@pytest.mark.parametrize("of", NUMBERS)
def test_numbers_that_both_types_have(device, of, to):
    values = [0, 1, 2, 3, 100, 127, 64, 17] if "u" in of + to else [0, 1, -1, -2, 100, 127, -128, 17]
    x = torch.tensor(values).to(getattr(torch, of)).to(device)
    assert torch.equal(cast(x, getattr(torch, to)), x.to(getattr(torch, to)))


@pytest.mark.parametrize("of, to", [("int64", "int8"), ("int32", "uint8"), ("int64", "int32"), ("int16", "int8")])
def test_narrow_integers_keep_the_low_bits(device, of, to):
    x = torch.tensor([0, 255, 256, -1, -129, 300, 32767, -32768], dtype=getattr(torch, of), device=device)
    assert torch.equal(cast(x, getattr(torch, to)), x.to(getattr(torch, to)))


@pytest.mark.parametrize("to", ["int8", "int32", "int64"])
@pytest.mark.parametrize("of", ["float16", "bfloat16", "float32", "float64"])
def test_floats_truncate_toward_zero(device, of, to):
    x = torch.tensor([0.9, -0.9, 1.5, -1.5, 2.999, -2.999, 63.5, -63.5], dtype=getattr(torch, of), device=device)
    assert torch.equal(cast(x, getattr(torch, to)), x.double().trunc().to(getattr(torch, to)))


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_narrow_floats_round_to_nearest_even(device, to):
    unit = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[to]
    x = torch.tensor([1 + unit / 2, 1 + 3 * unit / 2, 1 + unit / 4, 1 + 0.75 * unit, 1e30, -1e30, 3e-8, float("nan")], device=device)
    assert torch.equal(cast(x, getattr(torch, to)).float().nan_to_num(nan=9), x.to(getattr(torch, to)).float().nan_to_num(nan=9))


@triton.jit
def toward_zero_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 8)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.float16, fp_downcast_rounding="rtz"))


def test_rounding_toward_zero(device):
    unit = 2.0**-10
    x = torch.tensor([1 + unit / 2, 1 + 3 * unit / 2, 1 + 0.99 * unit, -1 - 0.99 * unit, 1.0, 0.0, 2 + 3 * unit, -0.5], device=device)
    out = torch.zeros(8, dtype=torch.float16, device=device)
    toward_zero_kernel[(1,)](x, out)
    assert out.tolist() == [1, 1 + unit, 1, -1, 1, 0, 2 + 2 * unit, -0.5]


@pytest.mark.parametrize("of, to", [("float32", "int32"), ("int32", "float32"), ("float16", "int16"), ("bfloat16", "int16"),
                                    ("int16", "bfloat16"), ("float64", "int64"), ("int8", "uint8"), ("float16", "bfloat16")])
def test_bit_casts(device, of, to):
    bits = torch.from_numpy(np.random.default_rng(0).integers(0, 100, 256).astype(np.uint8))
    x = bits.view(getattr(torch, of)).to(device)
    out = cast(x, getattr(torch, to), bitcast=True)
    assert torch.equal(out.view(torch.uint8), x.view(torch.uint8))


@triton.jit
def is_nonzero_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 8)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.int1).to(tl.int32))


@pytest.mark.parametrize("name", NUMBERS)
def test_truth_is_being_nonzero(device, name):
    x = torch.tensor([0, 2, 0, 4, 1, 0, 16, 3], dtype=getattr(torch, name), device=device)
    out = torch.zeros(8, dtype=torch.int32, device=device)
    is_nonzero_kernel[(1,)](x, out)
    assert out.tolist() == [0, 1, 0, 1, 1, 0, 1, 1]


@triton.jit
def int1_widens_unsigned_kernel(out_ptr):
    i = tl.arange(0, 8)
    m = i < 4
    tl.store(out_ptr + i, m.to(tl.int32))
    tl.store(out_ptr + 8 + i, m.to(tl.float32).to(tl.int32))
    tl.store(out_ptr + 16 + i, m + m)


def test_true_is_one(device):
    out = torch.zeros(24, dtype=torch.int32, device=device)
    int1_widens_unsigned_kernel[(1,)](out)
    assert out[:16].tolist() == [1, 1, 1, 1, 0, 0, 0, 0] * 2


@triton.jit
def stored_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 8)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


@pytest.mark.parametrize("of, to", [("float32", "float16"), ("float32", "int32"), ("int32", "float32"), ("int64", "int8"),
                                    ("int32", "bool"), ("float16", "float64")])
def test_stores_convert(device, of, to):
    x = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7], dtype=getattr(torch, of), device=device)
    out = torch.zeros(8, dtype=getattr(torch, to), device=device)
    stored_kernel[(1,)](x, out)
    assert torch.equal(out, x.to(out.dtype))


@triton.jit
def fp8_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_eight_bit_floats_saturate(device, name):
    dtype = getattr(torch, name)
    x = torch.tensor([0, 1, -1, 1.06, 17.5, 300, 0.01, -0.3], device=device)
    out = torch.zeros(8, dtype=dtype, device=device)
    fp8_kernel[(1,)](x, out, N=8)
    assert torch.equal(out.float(), x.to(dtype).float())
    back = torch.zeros(8, device=device)
    fp8_kernel[(1,)](out, back, N=8)
    assert torch.equal(back, out.float())


@triton.jit
def types_kernel(x_ptr, EXPECTED: tl.constexpr, BITS: tl.constexpr, FLOATING: tl.constexpr):
    tl.static_assert(x_ptr.dtype.is_ptr())
    tl.static_assert(x_ptr.dtype.element_ty == EXPECTED)
    tl.static_assert(x_ptr.type.element_ty == EXPECTED)
    tl.static_assert(x_ptr.dtype.element_ty.primitive_bitwidth == BITS)
    tl.static_assert(x_ptr.dtype.element_ty.is_floating() == FLOATING)
    x = tl.load(x_ptr + tl.arange(0, 4)[:, None] + tl.arange(0, 8)[None, :] * 0)
    tl.static_assert(x.dtype == EXPECTED)
    tl.static_assert(x.shape[0] == 4 and x.shape[1] == 8)
    tl.static_assert(x.type.scalar == EXPECTED)
    tl.static_assert(x.numel == 32)


@pytest.mark.parametrize("name, bits", [("int8", 8), ("int64", 64), ("float16", 16), ("bfloat16", 16), ("float32", 32), ("float64", 64)])
def test_types_are_constants(device, name, bits):
    x = torch.zeros(16, dtype=getattr(torch, name), device=device)
    types_kernel[(1,)](x, EXPECTED=getattr(tl, name), BITS=bits, FLOATING="float" in name)
