"""Loops in which some programs write: both versions give what one loop with a condition gives, and so without a trip."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def add_up_kernel(x, places, seen, y, last, n, width, B: tl.constexpr, ELSE: tl.constexpr):
    part = tl.program_id(0)
    i = part * B + tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    reached = -1
    for k in range(n):
        row = tl.load(places + k)
        value = tl.load(x + row * width + i)
        if part == 1:
            tl.store(seen + row, k + 1.0)
            value = -value
            reached = row
        else:
            if ELSE:
                reached = k
        total += value
    tl.store(y + i, total)
    tl.store(last + part, reached)


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_programs_that_write_and_do_not(target, n, other):
    rows, parts, block = 9, 3, 64
    x = torch.randn(rows, parts * block)
    places = torch.tensor([3, 0, 8, 5, 1, 7, 2], dtype=torch.int32)
    seen, y = torch.zeros(rows), torch.zeros(parts * block)
    last = torch.full((parts,), -9, dtype=torch.int32)
    add_up_kernel[(parts,)](x, places, seen, y, last, n, parts * block, B=block, ELSE=other)
    chosen = places[:n].long()
    wanted = x[chosen].sum(0)
    wanted[block:2 * block] *= -1
    torch.testing.assert_close(y, wanted)
    marks = torch.zeros(rows)
    marks[chosen] = torch.arange(1, n + 1, dtype=torch.float32)
    assert torch.equal(seen, marks)
    end = n - 1 if other and n else -1
    assert last.tolist() == [end, int(chosen[-1]) if n else -1, end]
