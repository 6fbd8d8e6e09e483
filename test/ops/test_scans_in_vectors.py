"""Scans along the lanes and across them keep the order of the elements, whatever extents and functions are."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same


@triton.jit
def affine(a, b, c, d):
    """x -> a·x + b, then c·x + d: not commutative."""
    return a * c, b * c + d


@triton.jit
def latest(x, y):
    return y


@triton.jit
def affine_kernel(a_ptr, b_ptr, out_a_ptr, out_b_ptr, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    a, b = tl.associative_scan((tl.load(a_ptr + at), tl.load(b_ptr + at)), AXIS, affine, reverse=REVERSE)
    tl.store(out_a_ptr + at, a)
    tl.store(out_b_ptr + at, b)


def reference(a, b, axis, reverse):
    a, b = (t.long().movedim(axis, 0) for t in (a, b))
    if reverse:
        a, b = a.flip(0), b.flip(0)
    results = [(a[0], b[0])]
    for c, d in zip(a[1:], b[1:]):
        before = results[-1]
        results.append((before[0] * c, before[1] * c + d))
    outs = (torch.stack(parts) for parts in zip(*results))
    return [(out.flip(0) if reverse else out).movedim(0, axis).contiguous() for out in outs]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 16), (3, 64), (16, 1), (8, 40), (40, 24), (5, 7), (33, 16)], ids=str)
def test_a_function_that_does_not_commute(target, shape, axis, reverse):
    generator = torch.Generator().manual_seed(shape[0] * 100 + shape[1])
    a, b = (torch.randint(-9, 10, shape, generator=generator, dtype=torch.int32) for _ in range(2))
    outs = [torch.zeros_like(a), torch.zeros_like(b)]
    affine_kernel[(1,)](a, b, *outs, *shape, AXIS=axis, REVERSE=reverse)
    for out, exact in zip(outs, reference(a, b, axis, reverse)):
        assert_same(out, ((exact + 2**31) % 2**32 - 2**31).int())


@triton.jit
def latest_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + at, tl.associative_scan(tl.load(x_ptr + at), AXIS, latest, reverse=REVERSE))


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.bfloat16, torch.float64, torch.int64], ids=str)
@pytest.mark.parametrize("axis, reverse", [(0, False), (0, True), (1, False), (1, True)])
def test_every_element_is_its_own_latest(target, axis, reverse, dtype):
    """A lane that saw another's element, or none, shows."""
    x = (torch.arange(20 * 48) % 120).view(20, 48).to(dtype)
    out = torch.zeros_like(x)
    latest_kernel[(1,)](x, out, 20, 48, AXIS=axis, REVERSE=reverse)
    assert_same(out, x)
