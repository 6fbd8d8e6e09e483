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
def integer_of_float(x, source: tl.constexpr, to: tl.constexpr, direction: tl.constexpr):
    if direction == "rn":
        x = libdevice.rint(x)
    elif direction == "rd":
        x = tl.floor(x)
    elif direction == "ru":
        x = tl.ceil(x)
    return x.to(to)


@triton.jit
def bits_of_float(x, source: tl.constexpr, to: tl.constexpr, direction: tl.constexpr):
    # An unsigned integer, as the signed one of the same bits.
    signed: tl.constexpr = tl.core.get_int_dtype(to.primitive_bitwidth, signed=True)
    return integer_of_float(x, source, to, direction).to(signed, bitcast=True)


@triton.jit
def float_of_integer(x, source: tl.constexpr, to: tl.constexpr, direction: tl.constexpr):
    # The exact value lies on one side of the nearest float, which may be one above all integers of the type.
    x = x.to(source)
    result = x.to(to)
    beyond: tl.constexpr = 2.0 ** (source.primitive_bitwidth - (1 if source.is_int_signed() else 0))
    back = result.to(source)
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