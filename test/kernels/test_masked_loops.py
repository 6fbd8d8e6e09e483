"""Sums of masked products: whichever trips the masks matter in, and wherever indices wrap around, each element counts as the mask says."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same

B = 16


@triton.jit
def sums_kernel(x, y, out, first, last, limit, B: tl.constexpr, STEP: tl.constexpr, FORM: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i[:, None] * B + i[None, :])
    b = tl.load(y + i[:, None] * B + i[None, :])
    rows = limit + i
    acc = tl.zeros([B, B], tl.float32)
    for start in range(first, last, STEP):
        columns = start + i
        s = tl.dot(a, b)
        if FORM == "below":
            seen = columns[None, :] < limit
        elif FORM == "diagonal":
            seen = rows[:, None] >= columns[None, :]
        elif FORM == "both":
            seen = (columns[None, :] < limit) & (columns[None, :] <= rows[:, None])
        elif FORM == "window":
            seen = (rows[:, None] >= columns[None, :]) & (rows[:, None] - columns[None, :] < 40)
        elif FORM == "ahead":
            seen = (columns + 40)[None, :] < limit
        elif FORM == "times":
            seen = (columns * 3)[None, :] < limit
        elif FORM == "down":
            seen = (limit - columns)[None, :] > 0
        elif FORM == "up":
            seen = (limit - columns)[None, :] < 0
        elif FORM == "wide":
            seen = (columns.to(tl.int64) + 40)[None, :] < limit
        else:
            seen = (i < limit - start)[None, :]
        acc += tl.where(seen, s, 0.0)
    tl.store(out + i[:, None] * B + i[None, :], acc)


def number_seen(form, first, last, limit, step):
    """For each element the number of trips in which it is seen, as integers of 32 bits have it."""
    count = np.zeros((B, B))
    i = np.arange(B, dtype=np.int32)
    with np.errstate(over="ignore"):
        rows, limit = np.int32(limit) + i, np.int32(limit)
        for start in range(first, last, step):
            columns = np.int32(start) + i
            r, c = rows[:, None], columns[None, :]
            seen = {"below": lambda: c < limit, "diagonal": lambda: r >= c, "both": lambda: (c < limit) & (c <= r),
                    "window": lambda: (r >= c) & (r - c < 40), "ahead": lambda: c + np.int32(40) < limit,
                    "times": lambda: c * np.int32(3) < limit, "down": lambda: limit - c > 0, "up": lambda: limit - c < 0,
                    "wide": lambda: c.astype(np.int64) + 40 < limit, "less": lambda: i[None, :] < limit - np.int32(start)}[form]()
            count += np.broadcast_to(seen, (B, B))
    return count


FORMS = ["below", "diagonal", "both", "window", "ahead", "times", "down", "up", "wide", "less"]
MOST = 2**31 - 1
CASES = [(0, 160, 80), (0, 160, 81), (0, 160, 95), (0, 160, 0), (0, 160, 1000), (0, 0, 16), (32, 16, 100), (-48, 50, 7), (5, 100, 37), (0, 16, 15),
         (0, 150, -5), (MOST - 100, MOST, MOST - 30), (MOST - 100, MOST - 3, 0), (-MOST, -MOST + 90, 50), (-MOST, -MOST + 90, MOST - 20)]


def check(form, first, last, limit, step):
    i = torch.arange(B, dtype=torch.float32)
    x, y = (i[:, None] - i[None, :]).half() % 5, (i[:, None] + 2 * i[None, :]).half() % 3
    out = torch.full((B, B), float("nan"))
    sums_kernel[(1,)](x, y, out, first, last, limit, B=B, STEP=step, FORM=form)
    seen = torch.from_numpy(number_seen(form, first, last, limit, step))
    assert_same(out, ((x.double() @ y.double()) * seen).float())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first, last, limit", CASES)
def test_each_element_counts_in_the_trips_in_which_it_is_seen(target, form, first, last, limit):
    check(form, first, last, limit, B)


@pytest.mark.parametrize("step", [1, 8, 24])
@pytest.mark.parametrize("form", ["below", "diagonal", "ahead", "down"])
def test_steps_are_not_the_tile(target, form, step):
    for first, last, limit in ((0, 90, 40), (3, 77, 41), (MOST - 60, MOST, MOST - 21)):
        check(form, first, last, limit, step)
