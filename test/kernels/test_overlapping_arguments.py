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


@triton.jit
def several_of_one_chain(x, a, b, c, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    w = tl.load(x + (BLOCK - 1 - i))
    for k in tl.static_range(STEPS):
        v = (v ^ (w << 1)) + k
        w = (w ^ (v >> 3)) * 5
    tl.store(a + i, v + w)
    tl.store(b + i * 2, v - w, mask=i < n)
    tl.store(c + i, tl.cumsum(v, 0) + w)
    tl.store(c + BLOCK + i, tl.flip(w) ^ v)


@pytest.mark.parametrize("block, n", [(64, 37), (64, 64), (8, 5), (100, 90)])
@pytest.mark.parametrize("steps", [2, 70])
def test_outputs_of_one_chain(target, block, n, steps):
    """M13: what they have in common comes from the memory as it was, computed once or for each of them."""
    if target in ("cuda", "sim"):
        pytest.skip("M12: of arguments that overlap a GPU promises nothing without a barrier")
    for at in [(0, 0, 0), (1, 2, 0), (3, 0, 1), (200, 150, 400), (0, 150, 400), (200, 2, 1)]:
        memory = (torch.arange(1000, dtype=torch.int64) * 2654435761 % 1000003).to(torch.int32)
        expected = memory.clone()
        i = torch.arange(block)
        v, w = torch.where(i < n, memory[:block], 0), memory[:block].flip(0)
        for k in range(steps):
            v = (v ^ (w << 1)) + k
            w = (w ^ (v >> 3)) * 5
        a, b, c = (expected[start:] for start in at)
        a[:block] = v + w
        b[:2 * n:2] = (v - w)[:n]
        c[:block] = v.cumsum(0, dtype=torch.int32) + w
        c[block:2 * block] = w.flip(0) ^ v
        several_of_one_chain[(1,)](memory, *(memory[start:] for start in at), n, BLOCK=block, STEPS=steps)
        assert_same(memory, expected)


@triton.jit
def words_of_a_hash(x, y, BLOCK: tl.constexpr, ROUNDS: tl.constexpr, OUTPUTS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    words = ()
    for k in tl.static_range(8):
        words = words + (tl.load(x + i * 8 + k), )
    for r in tl.static_range(ROUNDS):
        turned = ()
        for k in tl.static_range(8):
            turned = turned + ((words[k] ^ (words[(k + 1) % 8] << 3)) + words[(k + 5) % 8] * 7, )
        words = turned
    for k in tl.static_range(OUTPUTS):
        tl.store(y + i * 8 + k, words[k])


def test_outputs_share_the_code_of_their_values():
    """Also where the stores may overlap the loads, and are made one after the other."""
    words_of_a_hash.target = "cpu"
    x = torch.zeros(256, dtype=torch.int32)
    one, eight = (len(words_of_a_hash[(1,)](x, torch.zeros_like(x), BLOCK=32, ROUNDS=12, OUTPUTS=count).asm["llir"]) for count in (1, 8))
    assert eight < 2 * one


@triton.jit
def product_in_place(x, y, w, out, T, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    right = tl.load(w + at)
    acc = tl.zeros([N, N], tl.float32)
    for _ in range(T):
        v = tl.load(x + at)
        acc = tl.dot(v, right, acc)
        tl.store(y + at, (v + 1).to(tl.float16))
        tl.debug_barrier()
    tl.store(out + at, acc)


@triton.jit
def carried_by_memory(x, y, T, STAGES: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N) * 16
    for t in tl.range(T, num_stages=STAGES):
        v = tl.load(x + i + t)
        tl.store(y + i + t + 1, v + 1)
        tl.debug_barrier()


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("overlaps", [True, False])
def test_a_barrier_keeps_a_product_s_loads_behind_stores(target, stages, overlaps):
    """M12: the loads of later trips run ahead, but not ahead of a barrier."""
    x = torch.zeros(16, 16, dtype=torch.float16)
    y, out = x if overlaps else x.clone(), torch.empty(16, 16)
    product_in_place[(1,)](x, y, torch.eye(16, dtype=torch.float16), out, 5, 16, num_stages=stages)
    assert (out == (10 if overlaps else 0)).all() and (y == (5 if overlaps else 1)).all()


@pytest.mark.parametrize("stages", [None, 1, 2, 4])
def test_a_barrier_keeps_loads_of_asked_stages_behind_stores(target, stages, monkeypatch):
    monkeypatch.setenv("TEGULA_PROGRAMS_ALONE", "1000000")
    x = torch.zeros(32, 16)
    carried_by_memory[(1,)](x, x, 6, stages, 32)
    assert torch.equal(x[:, :8], torch.tensor([0.0, 1, 2, 3, 4, 5, 6, 0]).expand(32, 8))
