"""Names that the condition of a `while` assigns are there in its body and behind it."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def count_kernel(out, n):
    total = 0
    while (left := n) > 0:
        total += left * 10
        n -= 1
    tl.store(out, total + left)


@triton.jit
def chain_kernel(table, out, start):
    """Follows a list until its end, which is negative."""
    at = start
    steps = 0
    while (following := tl.load(table + at)) >= 0:
        at = following
        steps += 1
    tl.store(out, steps)
    tl.store(out + 1, at)
    tl.store(out + 2, following)


@triton.jit
def claimed_kernel(counter, out, limit):
    """The condition changes memory: it runs once a trip."""
    while (mine := tl.atomic_add(counter, 1)) < limit:
        tl.store(out + mine, mine * mine)


@triton.jit
def tiles_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    offset = 0
    total = tl.zeros((BLOCK,), tl.float32)
    while tl.sum((mask := offset + i < n).to(tl.int32), 0) > 0:
        total += tl.load(x + offset + i, mask=mask, other=0.0)
        offset += BLOCK
    tl.store(out, tl.sum(total, 0) + tl.sum(mask.to(tl.float32), 0))


@triton.jit
def left_kernel(table, out, n):
    total = 0
    i = 0
    while (value := tl.load(table + i)) != 0:
        if value < 0:
            break
        total += value
        i += 1
    tl.store(out, total)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_scalar(target, n):
    out = torch.zeros(1, dtype=torch.int32)
    count_kernel[(1,)](out, n)
    assert out.item() == 10 * sum(range(n + 1))


@pytest.mark.parametrize("length", [1, 2, 7])
def test_what_was_loaded(target, length):
    table = torch.tensor([*range(1, length), -5], dtype=torch.int32)
    out = torch.zeros(3, dtype=torch.int32)
    chain_kernel[(1,)](table, out, 0)
    assert out.tolist() == [length - 1, length - 1, -5]


def test_a_condition_with_effects_runs_once_a_trip(target):
    counter, out = torch.zeros(1, dtype=torch.int32), torch.full((8,), -1, dtype=torch.int32)
    claimed_kernel[(1,)](counter, out, 6, num_warps=1)
    assert counter.item() == 7 and out.tolist() == [0, 1, 4, 9, 16, 25, -1, -1]


@pytest.mark.parametrize("n", [0, 3, 16, 41])
def test_a_tile(target, n):
    x, out = torch.arange(64, dtype=torch.float32), torch.full((1,), -1.0)
    tiles_kernel[(1,)](x, out, n, 16, num_warps=1)
    assert out.item() == x[:n].sum().item()


@pytest.mark.parametrize("table", [[3, 4, 0], [3, -1, 5, 0], [0]])
def test_in_a_loop_that_is_left(target, table):
    out = torch.zeros(1, dtype=torch.int32)
    left_kernel[(1,)](torch.tensor(table, dtype=torch.int32), out, len(table))
    end = next(i for i, value in enumerate(table) if value <= 0)
    assert out.item() == sum(table[:end])
