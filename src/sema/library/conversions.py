"""Conversions that round as they say: rn to nearest, rz to 0, rd down, ru up. Those of tl.extra.libdevice (unsigned results have the bits of
a signed type, as upstream declares them), and to narrow floats, of arithmetic that rounds in a direction."""
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def step_towards(result, side, direction: tl.constexpr):
    # The neighbour of a result that was rounded to nearest, where the exact value lies on the other side of it.
    bits: tl.constexpr = result.dtype.primitive_bitwidth
    as_bits: tl.constexpr = tl.core.get_int_dtype(bits, signed=True)
    word = result.to(as_bits, bitcast=True)
    smallest: tl.constexpr = -(2 ** (bits - 1))
    is_negative = word < 0
    above = tl.where(is_negative, word - 1, word + 1)
    below = tl.where(is_negative, word + 1, word - 1)
    if direction == "rz":
        moves = tl.where(is_negative, side > 0, side < 0) & (result != 0)
        word = tl.where(moves, word - 1, word)
    elif direction == "ru":
        word = tl.where(side > 0, tl.where(result == 0, 1, above), word)
    else:
        word = tl.where(side < 0, tl.where(result == 0, smallest + 1, below), word)
    moved = word.to(result.dtype, bitcast=True)
    return tl.where(result != result, result, moved)


@triton.jit
def narrowed_in_direction(x, like, direction: tl.constexpr):
    # x in the type of `like`. An infinity that a finite x became lies beyond it.
    result = x.to(like.dtype)
    back = result.to(x.dtype)
    moved = step_towards(result, tl.where(x > back, 1, tl.where(x < back, -1, 0)), direction)
    if like.dtype.primitive_bitwidth == 8:
        # These saturate, and some have NaN in the place of -0.
        otherwise = tl.where(tl.abs(x) < tl.abs(back), 0.0, back).to(like.dtype)
        moved = tl.where(tl.abs(moved.to(tl.float32)) < float("inf"), moved, tl.where(x != x, result, otherwise))
    return moved


@triton.jit
def integer_of(x, dtype: tl.constexpr, direction: tl.constexpr):
    if direction == "rn":
        x = libdevice.rint(x)
    elif direction == "rd":
        x = tl.floor(x)
    elif direction == "ru":
        x = tl.ceil(x)
    return x.to(dtype)


@triton.jit
def bits_of_integer(x, bits: tl.constexpr, direction: tl.constexpr):
    unsigned: tl.constexpr = tl.core.get_int_dtype(bits, signed=False)
    return integer_of(x, unsigned, direction).to(tl.core.get_int_dtype(bits, signed=True), bitcast=True)


@triton.jit
def float_of(x, dtype: tl.constexpr, direction: tl.constexpr):
    # The exact value lies on one side of the nearest float, which may be one above all integers of the type.
    result = x.to(dtype)
    beyond: tl.constexpr = 2.0 ** (x.dtype.primitive_bitwidth - (1 if x.dtype.is_int_signed() else 0))
    back = result.to(x.dtype)
    side = tl.where((x < back) | (result >= beyond), -1, tl.where(x > back, 1, 0))
    return result if direction == "rn" else step_towards(result, side, direction)


@triton.jit
def libdevice_float2half_rn(x: real):
    return x.to(tl.float16)


@triton.jit
def libdevice_half2float(x: real):
    return x.to(tl.float32)


@triton.jit
def libdevice_double2float_rn(x: real):
    return x.to(tl.float32)


@triton.jit
def libdevice_double2loint(x: real):
    return (x.to(tl.float64).to(tl.int64, bitcast=True) & 0xFFFFFFFF).to(tl.int32)


@triton.jit
def libdevice_double2hiint(x: real):
    return (x.to(tl.float64).to(tl.int64, bitcast=True) >> 32).to(tl.int32)


@triton.jit
def libdevice_hiloint2double(x: integer, y: integer):
    low = y.to(tl.uint32, bitcast=True).to(tl.int64)
    return ((x.to(tl.int64) << 32) | low).to(tl.float64, bitcast=True)


@triton.jit
def libdevice_double2float_rz(x: real):
    return narrowed_in_direction(x.to(tl.float64), tl.zeros_like(x).to(tl.float32), "rz")


@triton.jit
def libdevice_double2float_rd(x: real):
    return narrowed_in_direction(x.to(tl.float64), tl.zeros_like(x).to(tl.float32), "rd")


@triton.jit
def libdevice_double2float_ru(x: real):
    return narrowed_in_direction(x.to(tl.float64), tl.zeros_like(x).to(tl.float32), "ru")


@triton.jit
def libdevice_float2int_rn(x: real):
    return integer_of(x, tl.int32, "rn")


@triton.jit
def libdevice_float2int_rz(x: real):
    return integer_of(x, tl.int32, "rz")


@triton.jit
def libdevice_float2int_rd(x: real):
    return integer_of(x, tl.int32, "rd")


@triton.jit
def libdevice_float2int_ru(x: real):
    return integer_of(x, tl.int32, "ru")


@triton.jit
def libdevice_float2uint_rn(x: real):
    return bits_of_integer(x, 32, "rn")


@triton.jit
def libdevice_float2uint_rz(x: real):
    return bits_of_integer(x, 32, "rz")


@triton.jit
def libdevice_float2uint_rd(x: real):
    return bits_of_integer(x, 32, "rd")


@triton.jit
def libdevice_float2uint_ru(x: real):
    return bits_of_integer(x, 32, "ru")


@triton.jit
def libdevice_float2ll_rn(x: real):
    return integer_of(x, tl.int64, "rn")


@triton.jit
def libdevice_float2ll_rz(x: real):
    return integer_of(x, tl.int64, "rz")


@triton.jit
def libdevice_float2ll_rd(x: real):
    return integer_of(x, tl.int64, "rd")


@triton.jit
def libdevice_float2ll_ru(x: real):
    return integer_of(x, tl.int64, "ru")


@triton.jit
def libdevice_float2ull_rn(x: real):
    return bits_of_integer(x, 64, "rn")


@triton.jit
def libdevice_float2ull_rz(x: real):
    return bits_of_integer(x, 64, "rz")


@triton.jit
def libdevice_float2ull_rd(x: real):
    return bits_of_integer(x, 64, "rd")


@triton.jit
def libdevice_float2ull_ru(x: real):
    return bits_of_integer(x, 64, "ru")


@triton.jit
def libdevice_double2int_rn(x: real):
    return integer_of(x, tl.int32, "rn")


@triton.jit
def libdevice_double2int_rz(x: real):
    return integer_of(x, tl.int32, "rz")


@triton.jit
def libdevice_double2int_rd(x: real):
    return integer_of(x, tl.int32, "rd")


@triton.jit
def libdevice_double2int_ru(x: real):
    return integer_of(x, tl.int32, "ru")


@triton.jit
def libdevice_double2uint_rn(x: real):
    return bits_of_integer(x, 32, "rn")


@triton.jit
def libdevice_double2uint_rz(x: real):
    return bits_of_integer(x, 32, "rz")


@triton.jit
def libdevice_double2uint_rd(x: real):
    return bits_of_integer(x, 32, "rd")


@triton.jit
def libdevice_double2uint_ru(x: real):
    return bits_of_integer(x, 32, "ru")


@triton.jit
def libdevice_double2ll_rn(x: real):
    return integer_of(x, tl.int64, "rn")


@triton.jit
def libdevice_double2ll_rz(x: real):
    return integer_of(x, tl.int64, "rz")


@triton.jit
def libdevice_double2ll_rd(x: real):
    return integer_of(x, tl.int64, "rd")


@triton.jit
def libdevice_double2ll_ru(x: real):
    return integer_of(x, tl.int64, "ru")


@triton.jit
def libdevice_double2ull_rn(x: real):
    return bits_of_integer(x, 64, "rn")


@triton.jit
def libdevice_double2ull_rz(x: real):
    return bits_of_integer(x, 64, "rz")


@triton.jit
def libdevice_double2ull_rd(x: real):
    return bits_of_integer(x, 64, "rd")


@triton.jit
def libdevice_double2ull_ru(x: real):
    return bits_of_integer(x, 64, "ru")


@triton.jit
def libdevice_int2float_rn(x: integer):
    return float_of(x.to(tl.int32), tl.float32, "rn")


@triton.jit
def libdevice_int2float_rz(x: integer):
    return float_of(x.to(tl.int32), tl.float32, "rz")


@triton.jit
def libdevice_int2float_rd(x: integer):
    return float_of(x.to(tl.int32), tl.float32, "rd")


@triton.jit
def libdevice_int2float_ru(x: integer):
    return float_of(x.to(tl.int32), tl.float32, "ru")


@triton.jit
def libdevice_int2double_rn(x: integer):
    return float_of(x.to(tl.int32), tl.float64, "rn")


@triton.jit
def libdevice_uint2float_rn(x: integer):
    return float_of(x.to(tl.uint32), tl.float32, "rn")


@triton.jit
def libdevice_uint2float_rz(x: integer):
    return float_of(x.to(tl.uint32), tl.float32, "rz")


@triton.jit
def libdevice_uint2float_rd(x: integer):
    return float_of(x.to(tl.uint32), tl.float32, "rd")


@triton.jit
def libdevice_uint2float_ru(x: integer):
    return float_of(x.to(tl.uint32), tl.float32, "ru")


@triton.jit
def libdevice_uint2double_rn(x: integer):
    return float_of(x.to(tl.uint32), tl.float64, "rn")


@triton.jit
def libdevice_ll2float_rn(x: integer):
    return float_of(x.to(tl.int64), tl.float32, "rn")


@triton.jit
def libdevice_ll2float_rz(x: integer):
    return float_of(x.to(tl.int64), tl.float32, "rz")


@triton.jit
def libdevice_ll2float_rd(x: integer):
    return float_of(x.to(tl.int64), tl.float32, "rd")


@triton.jit
def libdevice_ll2float_ru(x: integer):
    return float_of(x.to(tl.int64), tl.float32, "ru")


@triton.jit
def libdevice_ll2double_rn(x: integer):
    return float_of(x.to(tl.int64), tl.float64, "rn")


@triton.jit
def libdevice_ll2double_rz(x: integer):
    return float_of(x.to(tl.int64), tl.float64, "rz")


@triton.jit
def libdevice_ll2double_rd(x: integer):
    return float_of(x.to(tl.int64), tl.float64, "rd")


@triton.jit
def libdevice_ll2double_ru(x: integer):
    return float_of(x.to(tl.int64), tl.float64, "ru")


@triton.jit
def libdevice_ull2float_rn(x: integer):
    return float_of(x.to(tl.uint64), tl.float32, "rn")


@triton.jit
def libdevice_ull2float_rz(x: integer):
    return float_of(x.to(tl.uint64), tl.float32, "rz")


@triton.jit
def libdevice_ull2float_rd(x: integer):
    return float_of(x.to(tl.uint64), tl.float32, "rd")


@triton.jit
def libdevice_ull2float_ru(x: integer):
    return float_of(x.to(tl.uint64), tl.float32, "ru")


@triton.jit
def libdevice_ull2double_rn(x: integer):
    return float_of(x.to(tl.uint64), tl.float64, "rn")


@triton.jit
def libdevice_ull2double_rz(x: integer):
    return float_of(x.to(tl.uint64), tl.float64, "rz")


@triton.jit
def libdevice_ull2double_rd(x: integer):
    return float_of(x.to(tl.uint64), tl.float64, "rd")


@triton.jit
def libdevice_ull2double_ru(x: integer):
    return float_of(x.to(tl.uint64), tl.float64, "ru")
