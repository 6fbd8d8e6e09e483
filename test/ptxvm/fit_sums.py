"""Finds the way of summing that gives mma's recorded results: `python fit_sums.py`, when golden.npz has them.

For each type of operand, every candidate of float/MatrixSum.cpp's table (products of a block, bits kept below the largest
exponent, bits kept of the sum, whether the exponents of products with zero count) is run in Python over all recorded elements.
It prints the candidates by how many elements they miss: the first row is what belongs into the table.
"""
import itertools
import math

from forms import matrix_forms, operands
from golden import read
from matrices import described, number, results, taken_apart
from matrix_forms import EXPONENT

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
    bits = (0 if top < -14 else (top + 14) << 10) + size
    return sign | min(bits, 0x7C00)


def summed(row, column, c, sums, block, fraction, kept, zerosCount):
    """The model's bits; None for sums with NaN or infinity."""
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
        for block, fraction, zeros in itertools.product([b for b in BLOCKS if b <= kinds[3]], FRACTIONS, (False, True)):
            for kept in sorted({fraction, 23} - {k for k in (fraction,) if k > 23}):
                few = elements[::max(1, len(elements) // 200)]
                missed = sum(summed(*one[:3], kinds[2], block, fraction, kept, zeros) != one[3] for one in few)
                rows.append((missed / len(few), block, fraction, kept, zeros))
        rows.sort(key=lambda row: (row[0], abs(row[2] - 25)))  # of those that fit alike, the usual one
        best = [(sum(summed(*one[:3], kinds[2], *row[1:]) != one[3] for one in elements), *row[1:]) for row in rows[:4]]
        print(f"{'.'.join(map(str, kinds))}: {len(elements)} elements")
        for missed, block, fraction, kept, zeros in sorted(best):
            print(f"  {missed} missed: blocks of {block}, {fraction} bits below, {kept} of the sum, zeros {'count' if zeros else 'do not count'}")


if __name__ == "__main__":
    main()
