"""Loops over tiles of rows whose length no vector divides: whole tiles are accessed wide, the rest element by element, and nothing beyond the rows."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same

B = 64
BEYOND = 96  # elements of canary on both sides


@triton.jit
def twice_kernel(x, y, total, first, last, n, step, B: tl.constexpr, STEP: tl.constexpr, FORM: tl.constexpr):
    sums = tl.zeros([B], tl.int32)
    for start in range(first, last, STEP if STEP else step):
        i = start + tl.arange(0, B)
        if FORM == "below":
            mask = i < n
        elif FORM == "at most":
            mask = i <= n - 1
        elif FORM == "more than":
            mask = n > i
        elif FORM == "between":
            mask = (i < n) & (i >= 8)
        elif FORM == "count":
            mask = tl.arange(0, B) < n - start
        else:
            mask = start + tl.arange(0, B).to(tl.int64) < n
        value = tl.load(x + i, mask=mask, other=0)
        sums += tl.where(mask, value, 1).to(tl.int32)
        tl.store(y + i, value * 2, mask=mask)
    tl.store(total + tl.arange(0, B), sums)


def check(form, first, last, n, step, constant=True, dtype=torch.int16):
    data = (torch.arange(2 * BEYOND + 1024) % 251).to(dtype)
    out = torch.full_like(data, -7)
    total = torch.zeros(B, dtype=torch.int32)
    twice_kernel[(1,)](data[BEYOND:], out[BEYOND:], total, first, last, n, step, B=B, STEP=step if constant else 0, FORM=form)
    expected, sums = torch.full_like(data, -7), torch.zeros(B, dtype=torch.int32)
    for start in range(first, last, step):
        i = torch.arange(start, start + B)
        seen = (i < n) & ((i >= 8) | (form != "between"))
        expected[BEYOND:][i[seen]] = data[BEYOND:][i[seen]] * 2
        sums += torch.where(seen, data[BEYOND:][torch.where(seen, i, 0)], torch.ones_like(i)).int()
    assert_same(out, expected)
    assert_same(total, sums)


FORMS = ["below", "at most", "more than", "between", "count", "wide"]
BOUNDS = [(0, 320, 320), (0, 320, 319), (0, 320, 257), (0, 320, 256), (0, 320, 255), (0, 320, 63), (0, 320, 0), (0, 320, -5), (64, 32, 50), (16, 900, 777)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first, last, n", BOUNDS)
def test_each_element_is_seen_once(target, form, first, last, n):
    check(form, first, last, n, B)


@pytest.mark.parametrize("step", [128, 96, 16])
def test_steps_from_outside(target, step):
    for first, last, n in ((0, 320, 317), (16, 700, 333), (0, 0, 9)):
        check("below", first, last, n, step, constant=False)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64])
def test_elements_of_each_size(target, dtype):
    check("below", 0, 320, 301, B, dtype=dtype)


def test_steps_that_leave_the_integers(target):
    check("below", 0, 2**31 - 1, 301, 2**30, constant=False)
    check("below", 64, 2**31 - 1, 131, 2**31 - 1, constant=False)
