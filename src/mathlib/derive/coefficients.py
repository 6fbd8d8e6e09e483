#!/usr/bin/env python3
"""Writes ../Coefficients.h: every polynomial of the vector math library. Needs mpmath; takes a few minutes.

Run it by hand when a polynomial changes: python3 coefficients.py > ../Coefficients.h
Each row says which function is fitted, over which interval, with which weight, so that the header can be
derived again from nothing but this file.
"""
import sys
from mpmath import mp, mpf, exp, expm1, log, log1p, sin, cos, tan, tanh, atan, asin, erf, erfc, sqrt, pi, inf
from minimax import fit, literal, roundTo

LN2 = log(mpf(2))


def show(name, comment, coefficients, error, fmt):
    ctype = {"f32": "float", "f64": "double"}[fmt]
    print(f"// {comment}; weighted error 2^{float(log(error) / LN2):.1f}")
    print(f"static const {ctype} {name}[] = {{")
    for c in coefficients:
        print(f"    {literal(c, fmt)},")
    print("};\n")
    sys.stdout.flush()


def exponentials(fmt, degree):
    tag = fmt.upper()
    half = LN2 / 2 * mpf("1.0005")
    c, e = fit(exp, lambda x: exp(-x), range(2, degree + 1), (-half, half), fmt, {0: 1, 1: 1})
    show(f"kExp{tag}", "exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2, relative", c, e, fmt)
    two = lambda x: mpf(2) ** x
    c, e = fit(two, lambda x: 1 / two(x), range(1, degree + 1), (-0.5, 0.5), fmt, {0: 1})
    show(f"kExp2{tag}", "2^r = 1 + r P(r), |r| <= 1/2, relative", c, e, fmt)
    c, e = fit(expm1, lambda x: 1 / expm1(x), range(2, degree + 1), (-half, half), fmt, {1: 1})
    show(f"kExpm1{tag}", "expm1(r) = r + r^2 P(r), |r| <= ln2/2, relative", c, e, fmt)


def trigonometry(fmt, sinTerms, cosTerms):
    tag = fmt.upper()
    top = (pi / 4 * mpf("1.01")) ** 2
    f = lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z
    c, e = fit(f, lambda z: z * sqrt(z) / sin(sqrt(z)), range(sinTerms), (mpf(2) ** -40, top), fmt)
    show(f"kSin{tag}", "sin(r) = r + r^3 P(r^2), |r| <= pi/4, relative", c, e, fmt)
    f = lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2
    c, e = fit(f, lambda z: z ** 2 / cos(sqrt(z)), range(cosTerms), (mpf(2) ** -40, top), fmt)
    show(f"kCos{tag}", "cos(r) = 1 - r^2/2 + r^4 P(r^2), |r| <= pi/4, relative", c, e, fmt)


def logarithmF32():
    f = lambda x: (log1p(x) - x + x ** 2 / 2) / x ** 3
    c, e = fit(f, lambda x: x ** 3 / log1p(x), range(8), (mpf(-1) / 3, mpf(1) / 3), "f32", points=301)
    show("kLogF32", "log(1+f) = f - f^2/2 + f^3 P(f), 2/3 <= 1+f <= 4/3, relative", c, e, "f32")
    interval = (sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1)
    c, e = fit(f, lambda x: x ** 3 / log1p(x), range(9), interval, "f32", points=301)
    show("kLogWideF32", "the same over sqrt(1/2) <= 1+f <= sqrt(2), for log2", c, e, "f32")


def tanhF32():
    f = lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z
    c, e = fit(f, lambda z: z * sqrt(z) / tanh(sqrt(z)), range(5), (mpf(2) ** -40, mpf("0.56") ** 2), "f32")
    show("kTanhF32", "tanh(x) = x + x^3 P(x^2), |x| <= 0.56, relative", c, e, "f32")


def erfF32():
    split = mpf("0.9")
    f = lambda z: erf(sqrt(z)) / sqrt(z) - 1
    c, e = fit(f, lambda z: sqrt(z) / erf(sqrt(z)), range(6), (mpf(2) ** -40, split ** 2), "f32")
    show("kErfSmallF32", "erf(x) = x + x P(x^2), |x| <= 0.9, relative", c, e, "f32")
    f = lambda x: log(erfc(x)) / LN2
    c, e = fit(f, lambda x: erfc(x), range(8), (split, 4), "f32")
    show("kErfLargeF32", "erfc(x) = 2^P(x), 0.9 <= x <= 4, absolute in units of erfc", c, e, "f32")


def main():
    print("// Coefficients of the polynomials, lowest power first, made by derive/coefficients.py: do not edit.")
    print("#pragma once\n")
    exponentials("f32", 6)
    trigonometry("f32", 3, 3)
    logarithmF32()
    tanhF32()
    erfF32()


main()
