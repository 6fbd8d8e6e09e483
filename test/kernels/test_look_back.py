"""Clauses M21, P3 and P7: programs that publish a word and poll the words of programs before them, as device-wide
scans in one launch do. `ptxvm` says where a poll and a store race, or lanes of a program part."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same

# A word holds a number and, above it, a flag: 1, the program's sum; 2, the sum up to and with it; 0, nothing yet.


@triton.jit
def packed(flag, value):
    return (flag.to(tl.int64) << 32) | (value.to(tl.int64) & 0xFFFFFFFF)


@triton.jit
def before(words, pid):
    """The sum of all programs before this one: their sums, back to the first that knows its prefix."""
    total = 0
    k = pid - 1
    while k >= 0:
        word = tl.load(words + k, volatile=True)
        flag = word >> 32
        if flag != 0:
            total += word.to(tl.int32)
            k = tl.where(flag == 2, -1, k - 1)
    return total


@triton.jit
def scan_by_stores(x, out, words, n, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0)
    own = tl.sum(v)
    tl.store(words + pid, packed(tl.where(pid == 0, 2, 1), own))
    prefix = before(words, pid)
    if pid > 0:
        tl.store(words + pid, packed(2, prefix + own))
    tl.store(out + i, tl.cumsum(v) + prefix, mask=i < n)


@triton.jit
def scan_by_exchange(x, out, words, n, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0)
    own = tl.sum(v)
    tl.atomic_xchg(words + pid, packed(tl.where(pid == 0, 2, 1), own), sem="relaxed")
    prefix = before(words, pid)
    if pid > 0:
        tl.atomic_xchg(words + pid, packed(2, prefix + own), sem="relaxed")
    tl.store(out + i, tl.cumsum(v) + prefix, mask=i < n)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("n", [1, 128, 129, 1000, 5000])
@pytest.mark.parametrize("kernel", [scan_by_stores, scan_by_exchange], ids=lambda kernel: kernel.__name__)
def test_scan_over_all_programs(target, kernel, n, warps):
    x = (torch.arange(n, dtype=torch.int32) * 7919) % 101 - 50
    out, words = torch.zeros(n, dtype=torch.int32), torch.zeros(triton.cdiv(n, 128), dtype=torch.int64)
    kernel[(triton.cdiv(n, 128),)](x, out, words, n, B=128, num_warps=warps)
    assert_same(out, x.cumsum(0).to(torch.int32))


@triton.jit
def sum_of_all(x, out, words, P: tl.constexpr):
    """The last program polls all words at once, by a masked tile."""
    pid = tl.program_id(0)
    tl.store(words + pid, packed(1, tl.load(x + pid)))
    if pid == P - 1:
        k = tl.arange(0, P)
        word = tl.load(words + k, mask=k < P, other=0, volatile=True)
        while tl.sum(word >> 32) < P:
            word = tl.load(words + k, mask=k < P, other=0, volatile=True)
        tl.store(out, tl.sum(word.to(tl.int32)))


@pytest.mark.parametrize("programs", [1, 4, 32, 200])
def test_a_tile_of_words_is_polled(target, programs):
    x = torch.arange(programs, dtype=torch.int32) - 3
    out, words = torch.zeros(1, dtype=torch.int32), torch.zeros(programs, dtype=torch.int64)
    sum_of_all[(programs,)](x, out, words, P=programs)
    assert out.item() == x.sum().item()


@triton.jit
def paired(value):
    """An integer, and the same number as a float, in one word."""
    return (value.to(tl.int64) << 32) | value.to(tl.float32).to(tl.uint32, bitcast=True).to(tl.int64)


@triton.jit
def polls_pairs(word, out, n):
    pid = tl.program_id(0)
    wrong = 0
    for k in range(n):
        tl.store(word, paired(pid * n + k))
        seen = tl.load(word, volatile=True)
        wrong += (seen != paired((seen >> 32).to(tl.int32))).to(tl.int32)
    tl.store(out + pid, wrong)


def test_a_polled_word_is_no_mixture(target):
    """M21: one access a word, though its halves are made in different registers."""
    programs, trips = (64, 2000) if target == "cpu" else (4, 5)
    word, out = torch.zeros(1, dtype=torch.int64), torch.full((programs,), -1, dtype=torch.int32)
    polls_pairs[(programs,)](word, out, trips)
    assert not out.any()
