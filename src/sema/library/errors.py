"""Inverses of the error function of tl.extra.libdevice, and the normal distribution. All are computed in f64, where f32 is rounded
once at the end; docs/language/math-functions.md has the bounds."""
import triton
import triton.language as tl
from triton.language.extra import libdevice

INFINITY: tl.constexpr = float("inf")


@triton.jit
def check_float(x):
    tl.static_assert(x.dtype == tl.float32 or x.dtype == tl.float64, "libdevice takes fp32 or fp64")


@triton.jit
def scaled_erfc(x):
    # exp(x^2) erfc(x): up to 25 as it is, with what the square loses put back; beyond, the asymptotic series.
    near = tl.minimum(x, 25.0)
    square = near * near
    rest = libdevice.fma(near, near, -square)
    value = tl.exp(square) * libdevice.erfc(near)
    value = tl.where(value < INFINITY, value + value * rest, value)
    inverse = 1.0 / tl.maximum(x, 25.0)
    t = -0.5 * inverse * inverse
    series = 1.0 + t * (1.0 + 3.0 * t * (1.0 + 5.0 * t * (1.0 + 7.0 * t * (1.0 + 9.0 * t))))
    return tl.where(x < 25.0, value, tl.where(x != x, x, 0.5641895835477563 * inverse * series))


@triton.jit
def libdevice_erfcx(x: real):
    check_float(x)
    return scaled_erfc(x.to(tl.float64)).to(x.dtype)


@triton.jit
def erfc_inverse(c):
    # For c in (0, 1]. A start within some thousandths (S. Winitzki's formula), then Newton's steps: on the logarithm
    # where c is small, on erf itself where it is not.
    logarithm = tl.log(c * (2.0 - c))
    a = 4.330746750799873 + 0.5 * logarithm
    y = tl.sqrt(tl.maximum(tl.sqrt(tl.maximum(a * a - logarithm * 6.802721088435374, 0.0)) - a, 0.0))
    tail = tl.log(c)
    for _ in tl.static_range(4):
        scaled = scaled_erfc(y)
        step = (tl.log(scaled) - y * y - tail) * scaled * 0.886226925452758
        y = tl.where(c < 0.5, y + step, y)
    center = tl.minimum(y, 1.0)
    for _ in tl.static_range(3):
        step = (libdevice.erf(center) - (1.0 - c)) * 0.886226925452758 * tl.exp(center * center)
        center = center - step / (1.0 + center * step)
    return tl.where(c < 0.5, y, center)


@triton.jit
def libdevice_erfinv(x: real):
    check_float(x)
    wide = x.to(tl.float64)
    size = tl.abs(wide)
    # Near 0 the difference from 1 would lose the digits: there one more step on erf.
    y = erfc_inverse(tl.where(size < 1.0, 1.0 - size, 0.5))
    small = tl.minimum(y, 1.0)
    for _ in tl.static_range(2):
        step = (libdevice.erf(small) - size) * 0.886226925452758 * tl.exp(small * small)
        small = small - step / (1.0 + small * step)
    y = tl.where(size < 0.5, small, y)
    y = tl.where(size < 1e-8, 0.886226925452758 * size, y)
    y = tl.where(size == 1.0, INFINITY, tl.where(size < 1.0, y, float("nan")))
    return libdevice.copysign(y, wide).to(x.dtype)


@triton.jit
def inverse_of_erfc(c):
    above = c > 1.0
    tail = tl.where(above, 2.0 - c, c)
    y = erfc_inverse(tl.where((tail > 0) & (tail <= 1.0), tail, 0.5))
    y = tl.where(tail == 1.0, 0.0, y)
    y = tl.where(tail == 0, INFINITY, tl.where(tail > 0, y, float("nan")))
    return tl.where(above, -y, y)


@triton.jit
def libdevice_erfcinv(x: real):
    check_float(x)
    return inverse_of_erfc(x.to(tl.float64)).to(x.dtype)


@triton.jit
def libdevice_normcdf(x: real):
    check_float(x)
    # erfc(-x / sqrt 2) / 2; what rounding the argument loses is put back along the slope.
    wide = tl.minimum(tl.maximum(x.to(tl.float64), -40.0), 40.0)
    argument = -0.7071067811865476 * wide
    rest = libdevice.fma(-0.7071067811865476, wide, -argument) + 4.833646656726457e-17 * wide
    value = 0.5 * libdevice.erfc(argument) - 0.5641895835477563 * tl.exp(-argument * argument) * rest
    return tl.where(x != x, x, value.to(x.dtype))


@triton.jit
def libdevice_normcdfinv(x: real):
    check_float(x)
    return (-1.4142135623730951 * inverse_of_erfc(2.0 * x.to(tl.float64))).to(x.dtype)
