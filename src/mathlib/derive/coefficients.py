#!/usr/bin/env python3
"""Writes ../Coefficients.h: every polynomial and constant of the vector math library.

Needs mpmath and numpy; takes about a minute. Run it by hand when a polynomial changes:
    python3 coefficients.py > ../Coefficients.h
Each row says which function is fitted, over which interval, with which weight, so that the header can be
derived again from nothing but this folder. Numbers of terms are (binary32, binary64).
"""
import sys
from mpmath import (mpf, exp, expm1, log, log10, log1p, sin, cos, tan, tanh, sinh, atan, asin, erf, erfc,
                    sqrt, pi, floor, frexp, ldexp)
from minimax import fit, literal, roundTo

LN2 = log(mpf(2))
FORMATS = ("f32", "f64")
DIGITS = {"f32": 24, "f64": 53}
TINY = mpf(2) ** -40


def emit(line=""):
    print(line)
    sys.stdout.flush()


def table(name, comment, fmt, function, weight, powers, interval, fixed=None):
    coefficients, error = fit(function, weight, powers, interval, fmt, fixed)
    emit(f"// {comment}; weighted error 2^{float(log(error) / LN2):.1f}")
    emit(f"static const {'float' if fmt == 'f32' else 'double'} k{name}_{fmt}[] = {{")
    for c in coefficients:
        emit(f"    {literal(c, fmt)},")
    emit("};\n")


def odd(name, text, fmt, function, terms, top):
    """function(x) = x + x^3 P(x^2) on |x| <= top, relative."""
    scaled = lambda z: (function(sqrt(z)) / sqrt(z) - 1) / z
    weight = lambda z: z * sqrt(z) / function(sqrt(z))
    table(name, f"{text} = x + x^3 P(x^2), |x| <= {float(top):.4}, relative", fmt, scaled, weight,
          range(terms), (TINY, mpf(top) ** 2))


def constant(name, value, fmt):
    number = literal(roundTo(value, fmt), fmt)
    emit(f"static const {'float' if fmt == 'f32' else 'double'} k{name}_{fmt} = {number};")


def down(value, fmt):
    """The value's leading bits, rounded towards zero: what they leave is positive too."""
    mantissa, exponent = frexp(value)
    return ldexp(floor(ldexp(mantissa, DIGITS[fmt])), exponent - DIGITS[fmt])


def split(name, value, fmt, parts):
    """name1, name2, ...: leading bits first, all positive, so that 0 times them keeps the sign of a zero."""
    for k in range(1, parts + 1):
        part = value if k == parts else down(value, fmt)
        constant(f"{name}{k}", part, fmt)
        value -= part


def hiLo(name, value, fmt):
    high = roundTo(value, fmt)
    constant(name, high, fmt)
    constant(name + "Low", value - high, fmt)


def constants(fmt):
    split("Ln2_", LN2, fmt, 2)
    split("HalfPi_", pi / 2, fmt, 3)
    hiLo("HalfPi", pi / 2, fmt)
    hiLo("Log2e", 1 / LN2, fmt)
    hiLo("Log10e", 1 / log(mpf(10)), fmt)
    hiLo("Log10of2", log10(mpf(2)), fmt)
    hiLo("Third", mpf(1) / 3, fmt)
    hiLo("TwoLog2e", 2 / LN2, fmt)
    constant("TwoOverPi", 2 / pi, fmt)
    emit()


def exponentials(fmt, degree):
    half = LN2 / 2 * mpf("1.0005")
    table("Exp", "exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2, relative", fmt, exp, lambda x: exp(-x),
          range(2, degree + 1), (-half, half), {0: 1, 1: 1})
    two = lambda x: mpf(2) ** x
    table("Exp2", "2^r = 1 + r P(r), |r| <= 1/2, relative", fmt, two, lambda x: 1 / two(x),
          range(1, degree + 1), (-0.5, 0.5), {0: 1})
    table("Expm1", "expm1(r) = r + r^2 P(r), |r| <= ln2/2, relative", fmt, expm1, lambda x: 1 / expm1(x),
          range(2, degree + 1), (-half, half), {1: 1})


def logarithms(fmt, terms, wideTerms):
    f = lambda x: (log1p(x) - x + x ** 2 / 2) / x ** 3
    weight = lambda x: x ** 3 / log1p(x)
    third = mpf(1) / 3
    table("Log", "log(1+f) = f - f^2/2 + f^3 P(f), 2/3 <= 1+f <= 4/3, relative", fmt, f, weight, range(terms),
          (-third, third * mpf("1.0001")))
    f = lambda x: (log1p(x) - x) / LN2 / x ** 2
    table("Log2", "log2(1+f) = f/ln2 + f^2 P(f), sqrt(1/2) <= 1+f <= sqrt(2), relative", fmt, f,
          lambda x: x ** 2 / log1p(x) * LN2, range(wideTerms), (sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1))


def erfs(fmt, smallTerms, split, largeTerms, top):
    f = lambda z: erf(sqrt(z)) / sqrt(z) - 1
    table("ErfSmall", f"erf(x) = x + x P(x^2), |x| <= {split}, relative", fmt, f,
          lambda z: sqrt(z) / erf(sqrt(z)), range(smallTerms), (TINY, mpf(split) ** 2))
    constant("ErfSplit", mpf(split), fmt)
    constant("ErfTop", mpf(top), fmt)
    emit()
    start = roundTo(mpf(split), fmt)
    f = lambda t: log(erfc(t + start)) / LN2
    table("ErfLarge", f"erfc(x) = 2^P(x - {split}), {split} <= x <= {top}, weight erfc(x)", fmt, f,
          lambda t: erfc(t + start), range(largeTerms), (0, mpf(top) - start))


def erfcs(fmt, terms, top):
    """erfc(x) = exp(-x^2) P(t) / (1 + 2x), t = (x - K) / (x + K), after Shepherd and Laframboise (1981)."""
    k = mpf("3.75")
    x = lambda t: k * (1 + t) / (1 - t)
    f = lambda t: (1 + 2 * x(t)) * exp(x(t) ** 2) * erfc(x(t))
    constant("ErfcTop", mpf(top), fmt)
    table("Erfc", f"erfc(x) = exp(-x^2) P(t) / (1 + 2x), t = (x - 3.75) / (x + 3.75), 0 <= x <= {top}, relative", fmt, f,
          lambda t: 1 / f(t), range(terms), (-1, (mpf(top) - k) / (mpf(top) + k)))


def powers():
    f = lambda x: log1p(x) / LN2 / x
    table("PowLog", "log2(1+f) = f P(f), sqrt(1/2) <= 1+f <= sqrt(2), for pow in binary32", "f64", f,
          lambda x: 1 / f(x), range(15), (sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1))
    two = lambda x: mpf(2) ** x
    table("PowExp2", "2^r = 1 + r P(r), |r| <= 1/2, for pow in binary32", "f64", two, lambda x: 1 / two(x),
          range(1, 8), (-0.5, 0.5), {0: 1})
    # atanh(s)/s = 1 + z/3 + z^2 P(z), z = s^2
    top = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2 * mpf("1.0001")
    f = lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) / (2 * sqrt(z)) - 1 - z / 3) / z ** 2
    table("PowAtanh", "atanh(s) = s (1 + z/3 + z^2 P(z)), z = s^2, for pow in binary64", "f64", f,
          lambda z: z ** 2, range(9), (mpf(2) ** -20, top))


def main():
    emit("// Polynomials, lowest power first, and constants, made by derive/coefficients.py: do not edit.")
    emit("#pragma once\n")
    for k, fmt in enumerate(FORMATS):
        constants(fmt)
        exponentials(fmt, (6, 11)[k])
        logarithms(fmt, (8, 19)[k], (9, 21)[k])
        odd("Sin", "sin(x)", fmt, sin, (3, 7)[k], pi / 4 * mpf("1.01"))
        f = lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2
        table("Cos", "cos(r) = 1 - r^2/2 + r^4 P(r^2), |r| <= pi/4, relative", fmt, f,
              lambda z: z ** 2 / cos(sqrt(z)), range((3, 6)[k]), (TINY, (pi / 4 * mpf("1.01")) ** 2))
        odd("Tan", "tan(x)", fmt, tan, (7, 14)[k], pi / 4 * mpf("1.01"))
        odd("Tanh", "tanh(x)", fmt, tanh, (5, 11)[k], "0.56")
        odd("Sinh", "sinh(x)", fmt, sinh, (4, 8)[k], "1.01")
        odd("Atan", "atan(x)", fmt, atan, (9, 20)[k], 1)
        odd("Asin", "asin(x)", fmt, asin, (5, 13)[k], "0.5")
        erfs(fmt, (6, 13)[k], ("0.9", "1")[k], (8, 23)[k], (4, 6)[k])
        erfcs(fmt, (11, 22)[k], (11, 28)[k])
    powers()


main()
