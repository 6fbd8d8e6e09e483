"""Arithmetic of tl.extra.libdevice that rounds in a direction: rz to 0, rd down, ru up. A result that was rounded to
nearest is moved to its neighbour where the exact value lies on the other side of it."""
import triton
import triton.language as tl
from triton.language.extra import libdevice

INFINITY: tl.constexpr = float("inf")


@triton.jit
def two_sum(x, y):
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@triton.jit
def exponent_within(x):
    # Of a normal f64; of smaller ones what that of the smallest is.
    return (((x.to(tl.int64, bitcast=True) >> 52) & 2047) - 1023).to(tl.int32)


@triton.jit
def normalized(x):
    # A number times a power of two from 1 up to 2 in size, and the power.
    tiny = tl.abs(x) < 2.2250738585072014e-308
    scaled = tl.where(tiny, x * 18014398509481984.0, x)
    exponent = exponent_within(scaled)
    fraction = libdevice.ldexp(scaled, tl.where(scaled == 0, 0, -exponent))
    return fraction, tl.where(x == 0, -100000, tl.where(tiny, exponent - 54, exponent))


@triton.jit
def side_of(x, y, z, result):
    # The sign of x y + z - result, where the result is near the sum or 0: all brought near 1 first, where the smaller
    # one of product and z need not be farther down than 200 binary places. The product's two halves and z are then four
    # numbers, whose signs tell one after the other.
    fx, ex = normalized(x)
    fy, ey = normalized(y)
    fz, ez = normalized(z)
    of_product = ex + ey
    top = tl.maximum(of_product, ez)
    fx = libdevice.ldexp(fx, tl.maximum(of_product - top, -200))
    fz = libdevice.ldexp(fz, tl.maximum(ez - top, -200))
    near = libdevice.ldexp(result, -tl.maximum(top, -3000))
    high = libdevice.mul_rn(fx, fy)
    low = libdevice.fma(fx, fy, -high)
    upper, lower = two_sum(fz, low)
    first, second = two_sum(high, upper)
    total, rest = two_sum(first - near, second)
    rest = rest + lower
    decides = tl.where(total == 0, rest, total)
    return tl.where(decides > 0, 1, tl.where(decides < 0, -1, 0))


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
def is_finite(x):
    return tl.abs(x) < INFINITY


@triton.jit
def in_direction(x, y, z, result, finite, direction: tl.constexpr):
    # The result of x y + z, rounded to nearest, in a direction; one that overflowed lies beyond the exact value.
    wide = result.to(tl.float64)
    works = finite & is_finite(wide)
    side = side_of(tl.where(works, x.to(tl.float64), 0.0), tl.where(works, y.to(tl.float64), 0.0),
                   tl.where(works, z.to(tl.float64), 0.0), tl.where(works, wide, 0.0))
    side = tl.where(finite & (tl.abs(wide) == INFINITY), tl.where(wide > 0, -1, 1), side)
    return step_towards(result, side, direction), side


@triton.jit
def directed_fma(x, y, z, direction: tl.constexpr):
    result = libdevice.fma(x, y, z)
    rounded, side = in_direction(x, y, z, result, is_finite(x) & is_finite(y) & is_finite(z), direction)
    if direction == "rd":
        # A sum of 0 that neither was +0 is -0 downwards.
        other = -libdevice.fma(-x, y, -z)
        rounded = tl.where((result == 0) & (side == 0), other, rounded)
    return rounded


@triton.jit
def directed_div(x, y, direction: tl.constexpr):
    result = libdevice.div_rn(x, y)
    finite = is_finite(x) & is_finite(y) & (y != 0)
    wide = result.to(tl.float64)
    works = finite & is_finite(wide)
    side = side_of(tl.where(works, -wide, 0.0), tl.where(works, y.to(tl.float64), 0.0), tl.where(works, x.to(tl.float64), 0.0),
                   tl.zeros_like(wide))
    side = tl.where(y < 0, -side, side)
    side = tl.where(finite & (tl.abs(wide) == INFINITY), tl.where(wide > 0, -1, 1), side)
    moved = step_towards(result, side, direction)
    # A quotient that is 0 keeps its sign where it does not move.
    return tl.where(side == 0, result, moved)


@triton.jit
def directed_sqrt(x, direction: tl.constexpr):
    result = libdevice.sqrt(x.to(tl.float64)).to(x.dtype)
    if x.dtype == tl.float32:
        result = libdevice.sqrt_rn(x)
    wide = result.to(tl.float64)
    works = is_finite(wide)
    side = side_of(tl.where(works, -wide, 0.0), tl.where(works, wide, 0.0), tl.where(works, x.to(tl.float64), 0.0),
                   tl.zeros_like(wide))
    return tl.where(x == 0, x, step_towards(result, side, direction))


@triton.jit
def directed_add(x, y, direction: tl.constexpr):
    return directed_fma(x, tl.full(x.shape, 1.0, x.dtype), y, direction)


@triton.jit
def directed_sub(x, y, direction: tl.constexpr):
    return directed_fma(x, tl.full(x.shape, 1.0, x.dtype), -y, direction)


@triton.jit
def directed_mul(x, y, direction: tl.constexpr):
    # The addend takes the sign of the product, so that a product of 0 keeps its own.
    zero = libdevice.copysign(tl.zeros_like(x * y), x * y)
    return directed_fma(x, y, zero, direction)


@triton.jit
def directed_rcp(x, direction: tl.constexpr):
    return directed_div(tl.full(x.shape, 1.0, x.dtype), x, direction)
