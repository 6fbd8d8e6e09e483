"""One op after another on a tile of addresses that repeat: all elements are read before any is written (M2)."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def shared_kernel(p_ptr, N: tl.constexpr, EACH: tl.constexpr):
    place = p_ptr + tl.arange(0, N) // EACH
    tl.store(place, tl.load(place) + 1)


@triton.jit
def overlapping_rows_kernel(p_ptr, stride, R: tl.constexpr, C: tl.constexpr):
    place = p_ptr + tl.arange(0, R)[:, None] * stride + tl.arange(0, C)[None, :]
    tl.store(place, tl.load(place) + 1)


@triton.jit
def listed_kernel(p_ptr, index_ptr, N: tl.constexpr):
    place = p_ptr + tl.load(index_ptr + tl.arange(0, N))
    tl.store(place, tl.load(place) + 1)


@pytest.mark.parametrize("n,each", [(64, 2), (256, 3), (1000, 7), (128, 128)])
def test_neighbours_share_an_element(target, n, each):
    x = np.arange(n // each + 1).astype(np.int32)
    expected = x + (np.arange(x.size) <= (n - 1) // each)
    shared_kernel[(1,)](x, N=n, EACH=each)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("stride", [0, 1, 5, 64])
def test_rows_overlap(target, stride):
    x = np.zeros(7 * stride + 64, np.int32)
    overlapping_rows_kernel[(1,)](x, stride, R=8, C=64)
    expected = np.zeros_like(x)
    for row in range(8):
        expected[row * stride:row * stride + 64] = 1
    np.testing.assert_array_equal(x, expected)


def test_a_list_names_an_element_twice(target):
    index = np.random.default_rng(0).integers(0, 40, 500).astype(np.int32)
    x, expected = np.zeros(40, np.int32), np.zeros(40, np.int32)
    expected[index] = 1
    listed_kernel[(1,)](x, index, N=500)
    np.testing.assert_array_equal(x, expected)
