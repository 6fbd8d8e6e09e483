"""Clause M6: arguments may point into the same memory."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same, random
from kernels.softmax_wide import softmax_wide
from kernels.vector_add import add, add_kernel


@pytest.mark.parametrize("n", [1, 63, 64, 100, 127])
@pytest.mark.parametrize("distance", [-40, -8, -1, 0, 1, 2, 8, 16, 40])
def test_add_into_an_overlapping_output(target, n, distance):
    """One program, one tile: both inputs are read whole before the output is written."""
    if target in ("cuda", "sim"):
        pytest.skip("M12: of arguments that overlap a GPU promises nothing without a barrier")
    buffer, start = random(300, seed=1), 100
    x, y, out = buffer[start:], buffer[start + 5:], buffer[start + distance:]
    expected = buffer.clone()
    expected[start + distance:start + distance + n] = buffer[start:start + n] + buffer[start + 5:start + 5 + n]
    add_kernel[(1,)](x, y, out, n, BLOCK=128)
    assert_same(buffer, expected)


@pytest.mark.parametrize("n", [1, 100, 257])
def test_in_place(target, n):
    """The same address map for load and store: programs are independent, any grid is right."""
    x, y = random(n, seed=2), random(n, seed=3)
    expected = x + y
    add(x, y, x, block=64)
    assert_same(x, expected)


def test_the_same_array_three_times(target):
    x = random(500, seed=4)
    expected = x + x
    add(x, x, x, block=64)
    assert_same(x, expected)


def test_softmax_in_place(target):
    """Two passes read the row, the third writes it over itself, tile by tile."""
    x = random(4, 300, seed=5)
    expected = softmax_wide(x, torch.zeros_like(x))
    softmax_wide(x, x)
    assert_same(x, expected)


@triton.jit
def zero_then_sum(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(y + i, tl.zeros([B], tl.int32))
    tl.store(out, tl.sum(v))


@pytest.mark.parametrize("block", [2, 7, 64, 100])
def test_a_sum_has_what_was_loaded_before_a_store(target, block):
    """M1, M13: a reduction behind a store, in one loop with it, of the same elements"""
    if target in ("cuda", "sim"):
        pytest.skip("M12: of arguments that overlap a GPU promises nothing without a barrier")
    x, out = torch.arange(1, block + 1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    zero_then_sum[(1,)](x, x, out, B=block)
    assert out.item() == block * (block + 1) // 2 and not x.any()


@triton.jit
def copy_two_by_remainder(x, w, y, z, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = (i * 7 + 3) % n
    tl.store(y + i, tl.load(x + at))
    tl.store(z + i, tl.load(w + at))


def test_overlap_is_judged_by_the_indices_of_this_launch(target):
    """M13: indices that the loop itself keeps for later are not those that a launch before left in the buffer"""
    if target in ("cuda", "sim"):
        pytest.skip("M12: of arguments that overlap a GPU promises nothing without a barrier")
    memory, other = torch.arange(4000, dtype=torch.int64), torch.zeros(4000, dtype=torch.int64)
    at = (torch.arange(512) * 7 + 3) % 509
    expected = memory.clone()
    expected[3:515] = memory[at]
    expected[3000:3512] = expected[at]
    copy_two_by_remainder[(1,)](other, other, other[3:], other[3000:], 2, B=512)  # reads beside what it stores
    copy_two_by_remainder[(1,)](memory, memory, memory[3:], memory[3000:], 509, B=512)
    assert_same(memory, expected)


@triton.jit
def copy_by_index(x, index, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + tl.load(index + i)))


@pytest.mark.parametrize("block", [3, 64, 100, 128])
def test_one_index_that_reaches_into_the_output(target, block):
    """M13: whichever element it is, the load has what was there before the stores."""
    if target in ("cuda", "sim"):
        pytest.skip("M12: of arguments that overlap a GPU promises nothing without a barrier")
    for element in range(block):
        memory = torch.arange(1000, dtype=torch.int32)
        index = torch.arange(block, dtype=torch.int32)
        index[element] = 500 + (element + 1) % block
        expected = memory.clone()
        expected[500:500 + block] = memory[index.long()]
        copy_by_index[(1,)](memory, index, memory[500:], B=block)
        assert_same(memory, expected)


@pytest.mark.parametrize("block", [4, 64, 100])
@pytest.mark.parametrize("distance", [-8, -1, 0, 1, 3, 16])
def test_indices_that_the_output_overwrites(target, block, distance):
    """M13: both the indices and the elements are read before the first store."""
    if target in ("cuda", "sim"):
        pytest.skip("M12: of arguments that overlap a GPU promises nothing without a barrier")
    memory = torch.cat([torch.arange(300), torch.randperm(block) + 260, torch.arange(50)]).to(torch.int32)
    expected = memory.clone()
    expected[300 + distance:300 + distance + block] = memory[memory[300:300 + block].long()]
    copy_by_index[(1,)](memory, memory[300:], memory[300 + distance:], B=block)
    assert_same(memory, expected)
