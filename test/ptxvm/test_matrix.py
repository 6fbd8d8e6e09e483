"""Products of matrices on the machine are within their bound of the exact ones, for every form and kind of operands.

The bound is that of float/MatrixSum.h for sm_90: each addend is cut 25 bits below the unit of the largest, the sum as many
bits below its own as its format has. Elements of eight bits are summed in two steps: then one addend is the sum of the first
step, up to 16 times the others. Integers and f64 have less room: none, and IEEE's. This holds of any row of the table;
test_golden.py has the bits of sm_90.
"""
import math

import machine
import matrices
import numpy as np
import pytest
from forms import COUNT, kernel, matrix_forms, operands

FORMS = {form.text: form for form in matrix_forms() if form.inputs}
GREATEST = {"f16": 65504, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}


def bound(kinds, k, exact, largest):
    eight, sums = kinds[0] in ("e4m3", "e5m2"), kinds[2]
    if sums == "f64":  # k roundings
        return k * 2**-52 * (k + 1) * largest
    cut = (k + 1) * largest * (16 if eight else 1) * 2.0**-25
    if sums == "f16":
        return cut + abs(exact) * 2**-11 + 2**-25
    return cut + abs(exact) * 2.0**-23 + 2**-149


def is_near(kinds, k, got, exact, largest):
    if math.isnan(exact) or math.isinf(exact):
        return math.isnan(got) if math.isnan(exact) else got == exact
    room = bound(kinds, k, exact, largest)
    if math.isinf(got):
        return abs(exact) + room > GREATEST[kinds[2]] and (got > 0) == (exact > 0)
    return abs(got - exact) <= room


def run(form):
    slots = np.zeros(COUNT, np.uint64)
    assert machine.run(kernel(form), [*operands(form), slots], block=(COUNT, 1, 1)) == ""
    return slots


def expected_integer(form, kinds, row, column, c):
    total = matrices.number("s32", c) + sum(x * y for x, y in matrices.terms(row, column, kinds))
    if ".satfinite" in form.text:
        return min(max(total, -2**31), 2**31 - 1)
    return (total + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("text", FORMS)
def test_a_product_is_within_its_bound(text):
    form = FORMS[text]
    _, _, k, sums, a, b, _ = matrices.described(text)
    kinds = (a, b, sums)
    parts = list(matrices.taken_apart(form, operands(form)))
    for warp, row, column, bits in matrices.results(form, run(form)):
        A, B, C = (part for part in parts[warp])
        got = matrices.number(sums, bits)
        if sums == "s32":
            assert got == expected_integer(form, kinds, A[row], B[column], C[row][column])
            continue
        exact, largest = matrices.exact(A[row], B[column], C[row][column], kinds)
        assert is_near(kinds, k, got, exact, largest), (got, exact, largest, warp, row, column)
