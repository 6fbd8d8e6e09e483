"""Finds the way of summing that gives the recorded results of mma: `python fit_sums.py`, half a minute.

For each type of operand, every candidate of float/MatrixSum.cpp's table (products of a block, bits kept below the largest
exponent, bits kept of the sum, whether the exponents of products with zero count; of eight bits, whether they are multiplied as
f16) is run in Python over all recorded elements. It prints the candidates by how many elements they miss: the first row is what
belongs into the table. Where several miss none, the recording does not tell them apart.
"""
import itertools
import math

import numpy as np
from forms import matrix_forms, operands
from golden import read
from matrices import described, number, results, taken_apart
from matrix_forms import BITS, EXPONENT

BLOCKS = (4, 8, 16, 32)
FRACTIONS = range(12, 29)


def split(kind, bits):
    """(significand with its sign, exponent, bits of fraction); None where it is no finite number."""
    value = number(kind, bits)
    if math.isnan(value) or math.isinf(value):
        return None
    e, m = EXPONENT[kind]
    field = bits >> m & ((1 << e) - 1)
    exponent = max(field, 1) - (1 << (e - 1)) + 1 - m
    return int(math.ldexp(value, -exponent)), exponent, m


def as_half(part):
    """An eight-bit float's parts as those of the same f16: subnormal numbers may become normal."""
    significand, exponent, _ = part
    shift = max(0, min(11 - abs(significand).bit_length(), exponent + 24))
    return significand << shift, exponent - shift, 10


def cut(significand, exponent, unit):
    shift = unit - exponent
    size = abs(significand) << -shift if shift <= 0 else abs(significand) >> shift
    return -size if significand < 0 else size


def as_f32(total, unit, kept):
    """Cut to `kept` bits below the leading one, as f32."""
    if not total:
        return 0
    size, sign = abs(total), (total < 0) << 31
    top = size.bit_length() - 1 + unit
    if top > 127:
        return sign | 0x7F800000
    lead = size.bit_length() - 1
    if lead > kept:
        size = size >> (lead - kept) << (lead - kept)
    last = max(top, -126) - 23
    size = size >> (last - unit) if last > unit else size << (unit - last)
    if not size:
        return 0
    return sign | (size if top < -126 else size - (1 << 23) + ((top + 127) << 23))


def as_f16(total, unit):
    if not total:
        return 0
    size, sign = abs(total), (total < 0) << 15
    top = size.bit_length() - 1 + unit
    last = max(top, -14) - 10
    if last > unit:
        shift = last - unit
        rest, half = size & ((1 << shift) - 1), 1 << (shift - 1)
        size >>= shift
        size += rest > half or (rest == half and size & 1)
    else:
        size <<= unit - last
    bits = min((0 if top < -14 else (top + 14) << 10) + size, 0x7C00)
    return sign | bits if bits else 0


def summed_as_halves(row, column, c, sums, *model):
    """Eight-bit floats as f16: of each four, the lower two first; c at the end."""
    order = sorted(range(len(row)), key=lambda k: (k % 4 >= 2, k))
    products = summed([as_half(row[k]) for k in order], [as_half(column[k]) for k in order], 0, sums, *model)
    parts = np.array([products, c], np.uint32).view(np.float32)
    return int((parts[:1] + parts[1:]).view(np.uint32)[0])


def summed(row, column, c, sums, block, fraction, kept, zerosCount, asHalves=False):
    """The model's bits; None for sums with NaN or infinity."""
    if asHalves:
        return summed_as_halves(row, column, c, sums, block, fraction, kept, zerosCount)
    for begin in range(0, len(row), block):
        start = split(sums, c)
        if start is None:
            return None
        parts, exponents = [start[:2]], [start[1] + start[2]] if start[0] else []
        for x, y in zip(row[begin:begin + block], column[begin:begin + block]):
            parts.append((x[0] * y[0], x[1] + y[1]))
            if x[0] and y[0] or zerosCount:
                exponents.append(x[1] + y[1] + x[2] + y[2])
        if not exponents:
            c = 0
            continue
        unit = max(exponents) - fraction
        total = sum(cut(significand, exponent, unit) for significand, exponent in parts)
        c = as_f16(total, unit) if sums == "f16" else as_f32(total, unit, kept)
    return c


def samples(recorded):
    """(types of A, B and sums, K): [(row, column, c, recorded bits)] of the elements without NaN and infinities."""
    found = {}
    for form in matrix_forms():
        if not form.inputs or form.text not in recorded or form.inputs[3] not in ("f16", "f32"):
            continue
        _, _, k, sums, a, b, _ = described(form.text)
        parts = list(taken_apart(form, operands(form)))
        for warp, row, column, bits in results(form, recorded[form.text]):
            A, B, C = parts[warp]
            x, y = [split(a, one) for one in A[row]], [split(b, one) for one in B[column]]
            if None not in x + y and split(sums, C[row][column]):
                found.setdefault((a, b, sums, k), []).append((x, y, C[row][column], bits))
    return found


def main():
    for kinds, elements in samples(read()).items():
        rows = []
        ways = (False, True) if BITS[kinds[0]] == 8 else (False,)
        for block, fraction, zeros, halves in itertools.product([b for b in BLOCKS if b <= kinds[3]], FRACTIONS, (False, True), ways):
            for kept in sorted({fraction, 23} - {k for k in (fraction,) if k > 23}):
                few = elements[::max(1, len(elements) // 200)]
                missed = sum(summed(*one[:3], kinds[2], block, fraction, kept, zeros, halves) != one[3] for one in few)
                rows.append((missed / len(few), block, fraction, kept, zeros, halves))
        rows.sort(key=lambda row: (row[0], abs(row[2] - 25)))  # of those that fit alike, the usual one
        best = [(sum(summed(*one[:3], kinds[2], *row[1:]) != one[3] for one in elements), *row[1:]) for row in rows[:4]]
        print(f"{'.'.join(map(str, kinds))}: {len(elements)} elements")
        for missed, block, fraction, kept, zeros, halves in sorted(best):
            print(f"  {missed} missed: blocks of {block}, {fraction} bits below, {kept} of the sum, zeros {'count' if zeros else 'do not count'}"
                  + ", as f16" * halves)


if __name__ == "__main__":
    main()
