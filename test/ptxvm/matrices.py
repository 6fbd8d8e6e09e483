"""The operands and results of the forms of mma as matrices of Python numbers, and what the exact products are.

Fragments as the PTX manual has them ("Matrix Fragments for mma..."): g = lane / 4, t = lane mod 4, e elements a register.
"""
import math
import re

import numpy as np
from matrix_forms import BITS, EXPONENT, registers

NAME = re.compile(r"mma\.sync\.aligned\.(m(\d+)n8k(\d+))\S*?\.(\w+)\.(\w+)\.(\w+)\.(\w+) ")


def described(text):
    """(shape, m, k, sums, kind of A, kind of B, half)"""
    shape, m, k, sums, a, b, _ = NAME.search(text).groups()
    return shape, int(m), int(k), sums, a, b, int(re.match(r"\w+_(\d):", text)[1])


def number(kind, bits):
    """The value of an element's bits: an integer, or a float that holds it exactly; nan and inf as they are."""
    bits = int(bits)
    if kind in ("u8", "s8", "s32"):
        top = 1 << (BITS[kind] - 1)
        return bits - 2 * top if kind != "u8" and bits >= top else bits
    e, m = EXPONENT[kind]
    sign, exponent, mantissa = bits >> (e + m), bits >> m & ((1 << e) - 1), bits & ((1 << m) - 1)
    if kind == "tf32":
        mantissa &= ~0x1FFF
    if kind == "e4m3":
        if exponent == 15 and mantissa == 7:
            return math.nan
    elif exponent == (1 << e) - 1:
        return math.nan if mantissa else math.copysign(math.inf, -sign)
    value = math.ldexp(mantissa + (1 << m) * (exponent > 0), max(exponent, 1) - (1 << (e - 1)) + 1 - m)
    return -value if sign else value


def elements(slots, bits, count):
    """Slot -> its elements; `count` of a thread, from its slot and then from that of the other warp."""
    per = 64 // bits
    cut = (1 << bits) - 1
    split = [[int(slot) >> (bits * i) & cut for i in range(per)] for slot in slots]
    return [(split[t] + split[t ^ 32])[:count] for t in range(len(slots))]


def taken_apart(form, operands):
    """For each warp: A by rows, B by columns, C by rows, as bits."""
    shape, m, k, sums, a, b, _ = described(form.text)
    wide = 64 if a == "f64" else 32
    e, counts = wide // BITS[a], registers(shape, a, sums) if a != "f64" else (1, 1, 2)
    per_sum = max(1, 32 // BITS[sums])
    lanes = [elements(operands[0], BITS[a], counts[0] * e), elements(operands[1], BITS[b], counts[1] * e),
             elements(operands[2], BITS[sums], counts[2] * per_sum)]
    for warp in range(2):
        A, B, C = ([[None] * k for _ in range(m)], [[None] * k for _ in range(8)], [[None] * 8 for _ in range(m)])
        for lane in range(32):
            g, t = divmod(lane, 4)
            for i, bits in enumerate(lanes[0][32 * warp + lane]):
                r, j = divmod(i, e)
                low, step = (r % 2, r // 2) if m == 16 else (0, r)
                A[g + 8 * low][e * t + j + 4 * e * step] = bits
            for i, bits in enumerate(lanes[1][32 * warp + lane]):
                r, j = divmod(i, e)
                B[g][e * t + j + 4 * e * r] = bits
            for i, bits in enumerate(lanes[2][32 * warp + lane]):
                C[g + 8 * (i // 2)][2 * t + i % 2] = bits
        yield A, B, C


def results(form, slots):
    """(warp, row, column, bits) of each element of D that the form returns."""
    _, m, _, sums, _, _, half = described(form.text)
    bits = BITS[sums]
    per = 64 // bits
    for thread, slot in enumerate(slots):
        warp, (g, t) = thread // 32, divmod(thread % 32, 4)
        for j in range(per):
            i = half * per + j
            yield warp, g + 8 * (i // 2), 2 * t + i % 2, int(slot) >> (bits * j) & ((1 << bits) - 1)


def terms(a, b, kinds):
    return [(number(kinds[0], x), number(kinds[1], y)) for x, y in zip(a, b)]


def exact(a, b, c, kinds):
    """(the sum of all products and c, the largest magnitude among them); nan where IEEE has none."""
    products = []
    for x, y in terms(a, b, kinds):
        products.append(math.nan if math.isinf(x) and y == 0 or math.isinf(y) and x == 0 else x * y)
    products.append(number(kinds[2], c))
    if any(math.isnan(p) for p in products) or (math.inf in products and -math.inf in products):
        return math.nan, 0
    if math.inf in products or -math.inf in products:
        return (math.inf if math.inf in products else -math.inf), 0
    return math.fsum(products), max(abs(p) for p in products)


def operands_as_u64(arrays):
    return [np.asarray(array, np.uint64) for array in arrays]
