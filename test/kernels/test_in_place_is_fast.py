"""In place, shifted, and side by side in one array, the vector code runs; only stores that meet take the variant in scalars.

The two are told apart by a sum that shares their loops: one adds lane by lane, the other element by element, and the
last bits of a float sum remember the order.
"""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same, random


@triton.jit
def line_kernel(x_ptr, out_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    total = tl.sum(x, axis=0)
    tl.store(out_ptr + i, x * 2, mask=mask)
    tl.store(sum_ptr, total)


@triton.jit
def halves_kernel(left_ptr, right_ptr, new_left_ptr, new_right_ptr, sum_ptr, stride, ROWS: tl.constexpr, HALF: tl.constexpr):
    """A rotation of two halves of each row, as rotary embeddings do."""
    offsets = tl.arange(0, ROWS)[:, None] * stride + tl.arange(0, HALF)[None, :]
    left = tl.load(left_ptr + offsets)
    right = tl.load(right_ptr + offsets)
    sums = tl.sum(left + right, axis=1)
    tl.store(new_left_ptr + offsets, left - right)
    tl.store(new_right_ptr + offsets, left + right)
    tl.store(sum_ptr + tl.arange(0, ROWS), sums)


@pytest.fixture(autouse=True)
def cpu():
    import tegula
    tegula.set_target("cpu")


def line(x, out, n):
    total = torch.zeros(1)
    line_kernel[(1,)](x, out, total, n, BLOCK=1024)
    return total


@pytest.mark.parametrize("n", [1000, 1024])
def test_a_line_in_place(n):
    x = random(1100, seed=1, scale=1e3)
    apart = line(x.clone(), torch.zeros_like(x), n)
    shifted = x.clone()
    assert_same(line(shifted, shifted[1:], n), apart)
    assert_same(shifted[1:n + 1], x[:n] * 2)
    expected = x.clone()
    expected[:n] *= 2
    assert_same(line(x, x, n), apart)
    assert_same(x, expected)


def halves(array, new):
    sums = torch.zeros(8)
    half = array.shape[1] // 2
    halves_kernel[(1,)](array, array[:, half:], new, new[:, half:], sums, array.stride(0), ROWS=8, HALF=half)
    return sums


@pytest.mark.parametrize("width", [128, 200])
@pytest.mark.parametrize("padding", [0, 3])
def test_halves_of_rows_in_place(width, padding):
    array = random(8, width + padding, seed=2, scale=1e3)[:, :width]
    left, right = array[:, :width // 2].clone(), array[:, width // 2:].clone()
    apart = halves(array, torch.zeros_like(random(8, width + padding))[:, :width])
    assert_same(halves(array, array), apart)
    assert_same(array.contiguous(), torch.cat([left - right, left + right], dim=1))


def test_stores_that_meet_are_told_apart():
    """The second half begins one element too early: each tile is still read whole before the first store."""
    buffer = random(8 * 128 + 1, seed=3, scale=1e3)
    array = buffer[:1024].view(8, 128)
    left, right = array[:, :64].clone(), array[:, 63:127].clone()
    apart, sums = torch.zeros(8), torch.zeros(8)
    out = torch.zeros(8, 128)
    halves_kernel[(1,)](array, buffer[63:], out, out[:, 64:], apart, 128, ROWS=8, HALF=64)
    halves_kernel[(1,)](array, buffer[63:], array, buffer[63:], sums, 128, ROWS=8, HALF=64)
    assert not torch.equal(apart, sums)
    expected = torch.cat([left - right, torch.zeros(8, 64)], dim=1)
    expected[:, 63:127] = left + right  # stored last
    assert_same(array[:, :127].contiguous(), expected[:, :127].contiguous())


@triton.jit
def masked_halves_kernel(left_ptr, right_ptr, new_left_ptr, new_right_ptr, sum_ptr, stride, n, ROWS: tl.constexpr, HALF: tl.constexpr):
    """Rows of n columns in longer tiles, as for any extent that is no power of two."""
    columns = tl.arange(0, HALF)[None, :]
    offsets = tl.arange(0, ROWS)[:, None] * stride + columns
    left = tl.load(left_ptr + offsets, mask=columns < n, other=0.0)
    right = tl.load(right_ptr + offsets, mask=columns < n, other=0.0)
    sums = tl.sum(left + right, axis=1)
    tl.store(new_left_ptr + offsets, left - right, mask=columns < n)
    tl.store(new_right_ptr + offsets, left + right, mask=columns < n)
    tl.store(sum_ptr + tl.arange(0, ROWS), sums)


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("n", [0, 1, 50, 100, 127, 128])
def test_what_masks_turn_off_does_not_overlap(rows, n):
    """The tiles reach into each other, what they store does not."""
    x = random(4, 2 * n + 3, seed=2, scale=1e3)
    left, right = x[:, :n].clone(), x[:, n:2 * n].clone()

    def halves(x, out):
        sums = torch.zeros(rows)
        masked_halves_kernel[(1,)](x, x[:, n:], out, out[:, n:], sums, x.stride(0), n, ROWS=rows, HALF=128)
        return sums

    far = torch.zeros(2 * 4, 300)
    sums = torch.zeros(rows)
    near = torch.zeros(4, 300)
    near[:, :n], near[:, 128:128 + n] = left, right
    masked_halves_kernel[(1,)](near, near[:, 128:], far, far[4:], sums, 300, n, ROWS=rows, HALF=128)
    expected = torch.cat([left - right, left + right], dim=1)[:rows]
    out = torch.zeros_like(x)
    assert_same(halves(x, out), sums)
    assert_same(out[:rows, :2 * n], expected)
    assert not out[rows:].any() and not out[:, 2 * n:].any()
    kept = x[:, 2 * n:].clone()
    assert_same(halves(x, x), sums)
    assert_same(x[:rows, :2 * n], expected)
    assert_same(x[:, 2 * n:], kept)
