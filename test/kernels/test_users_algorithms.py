"""Algorithms as their users write them: scans over programs, sorts and merges, factorizations, transforms, sequences,
random paths, tables behind locks, integers of many words."""
import itertools
import math

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice


def normal(*shape, seed=0, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def whole(low, high, *shape, seed=0, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(actual, expected, tolerance):
    torch.testing.assert_close(actual.double(), expected.double(), rtol=tolerance, atol=tolerance)


# --- compaction in one pass: programs look back for the sum of those before them ---------------


@triton.jit
def keeps(x, low):
    return (x > low) & (x == x)


@triton.jit
def compact_kernel(x_ptr, out_ptr, ticket_ptr, state_ptr, count_ptr, n, low, KEEP: tl.constexpr, BLOCK: tl.constexpr):
    """A state is a count and what it means in the bits 61 and 62: 1, of this program; 2, of all up to it."""
    pid = tl.atomic_add(ticket_ptr, 1)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    kept = KEEP(x, low) & (i < n)
    place = tl.cumsum(kept.to(tl.int64), 0)
    own = tl.sum(kept.to(tl.int64))
    before = own * 0
    if pid > 0:
        tl.atomic_xchg(state_ptr + pid, own | (1 << 61), sem="release")
        at = pid - 1
        looking = True
        while looking:
            state = tl.atomic_add(state_ptr + at, 0, sem="acquire")
            kind = (state >> 61) & 3
            if kind != 0:
                before += state & ((1 << 61) - 1)
                at -= 1
                looking = kind == 1
    tl.atomic_xchg(state_ptr + pid, (before + own) | (2 << 61), sem="release")
    tl.store(out_ptr + before + place - 1, x, mask=kept)
    if pid == tl.num_programs(0) - 1:
        tl.store(count_ptr, before + own)


@pytest.mark.parametrize("n, dtype", [(1, torch.float32), (1000, torch.float64), (777, torch.int16)], ids=str)
def test_compaction_by_looking_back(target, n, dtype):
    x, block = normal(n, seed=n, scale=10).to(dtype), 64
    if dtype.is_floating_point and n > 3:
        x[3] = float("nan")
    programs = triton.cdiv(n, block)
    out, ticket, state, count = torch.zeros_like(x), torch.zeros(1, dtype=torch.int32), torch.zeros(programs, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    compact_kernel[(programs,)](x, out, ticket, state, count, n, 2, KEEP=keeps, BLOCK=block)
    expected = x[x > 2]
    assert count.item() == len(expected) and torch.equal(out[:len(expected)], expected)


# --- a merge of two sorted lists by binary search, and a top-k of rows across programs ---------


@triton.jit
def rank_in(keys, n, x, AFTER_EQUAL: tl.constexpr, STEPS: tl.constexpr):
    low = tl.zeros(x.shape, tl.int32)
    high = low + n
    for _ in range(STEPS):
        middle = (low + high) // 2
        there = tl.load(keys + middle, mask=middle < n, other=0)
        goes_on = (low < high) and (there <= x if AFTER_EQUAL else there < x)
        low, high = tl.where(goes_on, middle + 1, low), tl.where(goes_on, high, tl.maximum(middle, low))
    return low


@triton.jit
def merge_kernel(a, b, a_rows, b_rows, out, out_rows, m, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for keys, rows, others, length, other_length, comes_first in ((a, a_rows, b, m, n, True), (b, b_rows, a, n, m, False)):
        x = tl.load(keys + at, mask=at < length)
        place = at + rank_in(others, other_length, x, not comes_first, STEPS)
        tl.store(out + place, x, mask=at < length)
        tl.store(out_rows + place, tl.load(rows + at, mask=at < length), mask=at < length)


@pytest.mark.parametrize("m, n, dtype", [(1, 0, torch.int64), (33, 70, torch.uint8), (64, 5, torch.float16)], ids=str)
def test_merge_is_stable(target, m, n, dtype):
    a, b = (whole(0, 20, length, seed=s).sort()[0].to(dtype) for length, s in ((m, 1), (n, 2)))
    out, out_rows = torch.zeros(m + n, dtype=dtype), torch.full((m + n,), -1, dtype=torch.int32)
    rows = torch.arange(m + n, dtype=torch.int32)
    merge_kernel[(triton.cdiv(max(m, n), 32),)](a, b, rows[:m], rows[m:], out, out_rows, m, n, STEPS=math.ceil(math.log2(max(m, n) + 1)) + 1,
                                                BLOCK=32)
    order = torch.sort(torch.cat([a, b]), stable=True)[1]
    assert torch.equal(out_rows, order.int()) and torch.equal(out, torch.cat([a, b])[order])


# --- small matrices, one a program -------------------------------------------------------------


@triton.jit
def cholesky_kernel(a_ptr, b_ptr, l_ptr, x_ptr, n, stride, SIZE: tl.constexpr):
    """A = L L', then L L' x = b."""
    pid = tl.program_id(0).to(tl.int64)
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    on = (i < n) & (j < n)
    a = tl.load(a_ptr + pid * stride + i * n + j, mask=on, other=0)
    a = tl.where(on, a, (i == j).to(a.dtype))
    for k in range(n):
        pivot = tl.sum(tl.sum(tl.where((i == k) & (j == k), a, 0), 1), 0)
        root = tl.sqrt(pivot)
        column = tl.sum(tl.where(j == k, a, 0), 1, keep_dims=True)
        column = tl.where(i > k, column / root, tl.where(i == k, root, 0))
        a = tl.where(j == k, column, tl.where((j > k) & (i > k), a - column * tl.trans(column), a))
    lower = tl.where(i >= j, a, 0)
    tl.store(l_ptr + pid * stride + i * n + j, lower, mask=on)
    at = tl.arange(0, SIZE)
    x = tl.load(b_ptr + pid * n + at, mask=at < n, other=0)
    for k in range(n):
        x_k = tl.sum(tl.where(at == k, x, 0)) / tl.sum(tl.where((i == k) & (j == k), lower, 0))
        x = tl.where(at == k, x_k, tl.where(at > k, x - tl.sum(tl.where(j == k, lower, 0), 1) * x_k, x))
    for k in range(n - 1, -1, -1):
        x_k = tl.sum(tl.where(at == k, x, 0)) / tl.sum(tl.where((i == k) & (j == k), lower, 0))
        x = tl.where(at == k, x_k, tl.where(at < k, x - tl.sum(tl.where(i == k, lower, 0), 0) * x_k, x))
    tl.store(x_ptr + pid * n + at, x, mask=at < n)


@pytest.mark.parametrize("n, dtype", [(1, torch.float32), (5, torch.float64), (13, torch.float32)], ids=str)
def test_cholesky_and_its_solve(target, n, dtype):
    a, b = normal(3, n, n, seed=1, dtype=dtype), normal(3, n, seed=2, dtype=dtype)
    a = a @ a.mT + n * torch.eye(n, dtype=dtype)
    lower, x = torch.full_like(a, float("nan")), torch.full_like(b, float("nan"))
    cholesky_kernel[(3,)](a, b, lower, x, n, a.stride(0), SIZE=triton.next_power_of_2(n))
    exact = torch.linalg.cholesky(a.double())
    close(lower, exact, 1e-4)
    close(x, torch.cholesky_solve(b[..., None].double(), exact)[..., 0], 1e-4)


@triton.jit
def orthogonal_kernel(a_ptr, q_ptr, r_ptr, M: tl.constexpr, N: tl.constexpr):
    """Modified Gram-Schmidt of the columns."""
    pid = tl.program_id(0)
    i, j, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, N)[:, None]
    q = tl.load(a_ptr + (pid * M + i) * N + j)
    r = tl.zeros((N, N), q.dtype)
    for step in tl.static_range(N):
        v = tl.sum(tl.where(j == step, q, 0.0), 1, keep_dims=True)
        norm = tl.sqrt(tl.sum(v * v))
        v /= norm
        row = tl.where(j == step, norm, tl.where(j > step, tl.sum(v * q, 0)[None, :], 0.0))
        q = tl.where(j == step, v, q - v * tl.where(j > step, row, 0.0))
        r = tl.where(k == step, row, r)
    tl.store(q_ptr + (pid * M + i) * N + j, q)
    tl.store(r_ptr + (pid * N + k) * N + j, r)


def test_orthogonal_columns(target):
    a = normal(2, 16, 4, seed=3)
    q, r = torch.zeros_like(a), torch.zeros(2, 4, 4)
    orthogonal_kernel[(2,)](a, q, r, M=16, N=4)
    close(q @ r, a, 1e-5)
    close(q.mT @ q, torch.eye(4).expand(2, 4, 4), 1e-5)
    assert torch.equal(r, r.triu())


# --- a Fourier transform of a row, by halves ---------------------------------------------------


@triton.jit
def transform(re, im, N: tl.constexpr, SIGN: tl.constexpr):
    if N == 1:
        return re, im
    half: tl.constexpr = N // 2
    rows: tl.constexpr = re.shape[0]
    even_re, odd_re = tl.split(tl.reshape(re, (rows, half, 2)))
    even_im, odd_im = tl.split(tl.reshape(im, (rows, half, 2)))
    even_re, even_im = transform(even_re, even_im, half, SIGN)
    odd_re, odd_im = transform(odd_re, odd_im, half, SIGN)
    angle = SIGN * 6.283185307179586 / N * tl.arange(0, half)[None, :]
    c, s = tl.cos(angle), tl.sin(angle)
    t_re, t_im = c * odd_re - s * odd_im, c * odd_im + s * odd_re
    re = tl.reshape(tl.permute(tl.join(even_re + t_re, even_re - t_re), (0, 2, 1)), (rows, N))
    im = tl.reshape(tl.permute(tl.join(even_im + t_im, even_im - t_im), (0, 2, 1)), (rows, N))
    return re, im


@triton.jit
def fourier_kernel(x, out, rows, N: tl.constexpr, ROWS: tl.constexpr, INVERSE: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = (r[:, None] * N + tl.arange(0, N)[None, :])[:, :, None] * 2 + tl.arange(0, 2)[None, None, :]
    on = (r < rows)[:, None, None]
    re, im = tl.split(tl.load(x + at, mask=on, other=0.0))
    re, im = transform(re, im, N, 1 if INVERSE else -1)
    tl.store(out + at, tl.join(re, im) / (N if INVERSE else 1), mask=on)


@pytest.mark.parametrize("n, inverse", [(2, False), (32, False), (16, True)])
def test_fourier_transform(target, n, inverse):
    x = torch.view_as_complex(normal(3, n, 2, seed=n))
    out = torch.zeros(3, n, 2)
    fourier_kernel[(2,)](torch.view_as_real(x), out, 3, N=n, ROWS=2, INVERSE=inverse)
    expected = (torch.fft.ifft if inverse else torch.fft.fft)(x.to(torch.complex128))
    close(out, torch.view_as_real(expected), 1e-4)


# --- alignment of two texts, a diagonal after the other ----------------------------------------


@triton.jit
def alignment_kernel(a, b, best, m, n, MATCH: tl.constexpr, MISMATCH: tl.constexpr, GAP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    letter = tl.load(a + i, mask=i < m, other=0)
    last, before_last = tl.zeros([BLOCK], tl.int32), tl.zeros([BLOCK], tl.int32)
    peak = tl.zeros([BLOCK], tl.int32)
    up = tl.maximum(i - 1, 0)
    for d in range(m + n - 1):
        j = d - i
        on = (i < m) & (j >= 0) & (j < n)
        score = tl.where(letter == tl.load(b + j, mask=on, other=1), MATCH, MISMATCH)
        corner = tl.where(i > 0, tl.gather(before_last, up, 0), 0)
        above = tl.where(i > 0, tl.gather(last, up, 0), 0)
        now = tl.maximum(tl.maximum(corner + score, 0), tl.maximum(above, last) + GAP)
        now = tl.where(on, now, 0)
        peak = tl.maximum(peak, now)
        last, before_last = now, last
    tl.store(best, tl.max(peak))


@pytest.mark.parametrize("m, n", [(1, 1), (13, 30)])
def test_alignment(target, m, n):
    a, b = whole(65, 69, m, seed=m, dtype=torch.uint8), whole(65, 69, n, seed=n + 1, dtype=torch.uint8)
    best = torch.zeros(1, dtype=torch.int32)
    alignment_kernel[(1,)](a, b, best, m, n, MATCH=3, MISMATCH=-3, GAP=-2, BLOCK=16, num_warps=1)
    table = np.zeros((m + 1, n + 1), int)
    for i, j in itertools.product(range(m), range(n)):
        table[i + 1, j + 1] = max(0, table[i, j] + (3 if a[i] == b[j] else -3), table[i, j + 1] - 2, table[i + 1, j] - 2)
    assert best.item() == table.max()


# --- options by random paths -------------------------------------------------------------------


@triton.jit
def paths_kernel(out, seed, spot, strike, rate, volatility, years, paths, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    dt = years / STEPS
    drift, spread = (rate - 0.5 * volatility * volatility) * dt, volatility * tl.sqrt(dt)
    logarithm, total = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for step in range(STEPS // 4):
        z = tl.randn4x(seed, at * (STEPS // 4) + step)
        for part in tl.static_range(4):
            logarithm += drift + spread * z[part]
            total += tl.exp(logarithm)
    payoff = tl.maximum(spot * total / STEPS - strike, 0.0) * tl.exp(-rate * years)
    payoff = tl.where(at < paths, payoff, 0.0)
    tl.atomic_add(out, tl.sum(payoff))
    tl.atomic_add(out + 1, tl.sum(payoff * payoff))


def test_average_price_of_random_paths(target):
    paths, sums = 3000, torch.zeros(2)
    paths_kernel[(triton.cdiv(paths, 256),)](sums, 20240607123456789, 100.0, 95.0, 0.03, 0.25, 1.5, paths, STEPS=8, BLOCK=256)
    z = np.random.default_rng(1).standard_normal((200_000, 8))
    steps = (0.03 - 0.25**2 / 2) * 1.5 / 8 + 0.25 * math.sqrt(1.5 / 8) * z
    exact = np.maximum(100 * np.exp(steps.cumsum(1)).mean(1) - 95, 0).mean() * math.exp(-0.03 * 1.5)
    mean = sums[0].item() / paths
    deviation = math.sqrt(max(sums[1].item() / paths - mean * mean, 0) / paths)
    assert abs(mean - exact) < 4 * deviation and deviation < 0.5


# --- clusters, and a stencil with halos --------------------------------------------------------


@triton.jit
def nearer(d, i, e, j):
    first = (d < e) | ((d == e) & (i < j))
    return tl.where(first, d, e), tl.where(first, i, j)


@triton.jit
def clusters_kernel(x, centers, label, sums, sizes, n, K, D: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    i, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    points = tl.load(x + i[:, None] * D + d[None, :], mask=(i < n)[:, None], other=0.0)
    best, which = tl.full([BLOCK], float("inf"), tl.float32), tl.full([BLOCK], -1, tl.int32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        c = tl.load(centers + k[:, None] * D + d[None, :], mask=(k < K)[:, None], other=0.0)
        distance = tl.sum(c * c, 1)[None, :] - 2 * tl.dot(points, c.T, input_precision="ieee")
        distance = tl.where((k < K)[None, :], distance, float("inf"))
        low, at = tl.reduce((distance, tl.broadcast_to(k[None, :], distance.shape)), axis=1, combine_fn=nearer)
        best, which = nearer(best, which, low, at)
    tl.store(label + i, which, mask=i < n)
    tl.atomic_add(sums + which[:, None] * D + d[None, :], points, mask=(i < n)[:, None], sem="relaxed")
    tl.atomic_add(sizes + which, 1, mask=i < n)


def test_a_step_of_k_means(target):
    n, K, D = 100, 21, 16
    x, centers = normal(n, D, seed=1), normal(K, D, seed=2)
    centers[7] = centers[3]  # the first of equal ones
    label, sums, sizes = torch.full((n,), -9, dtype=torch.int32), torch.zeros(K, D), torch.zeros(K, dtype=torch.int32)
    clusters_kernel[(triton.cdiv(n, 32),)](x, centers, label, sums, sizes, n, K, D=D, BLOCK=32, BLOCK_K=16)
    expected = torch.cdist(x.double(), centers.double()).argmin(1)
    assert torch.equal(label.long(), expected) and torch.equal(sizes.long(), expected.bincount(minlength=K))
    close(sums, torch.zeros(K, D).double().index_add(0, expected, x.double()), 1e-4)


# --- tables: a hash table by compare-and-swap, a filter of bits, a lock ------------------------


@triton.jit
def mixed(key):
    key = key.to(tl.uint64, bitcast=True)
    key ^= key >> 33
    key *= 0xFF51AFD7ED558CCD
    key ^= key >> 33
    return (key & 0x7FFFFFFF).to(tl.int32)


@triton.jit
def insert_kernel(keys, slots, counts, bits, n, CAPACITY: tl.constexpr, WORDS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + i, mask=i < n, other=0)
    hashed = mixed(key)
    at, waiting = hashed % CAPACITY, i < n
    while tl.max(waiting.to(tl.int32), 0) == 1:
        there = tl.atomic_cas(slots + tl.where(waiting, at, CAPACITY), tl.full([BLOCK], -1, tl.int64), tl.where(waiting, key, -1))
        found = waiting & ((there == -1) | (there == key))
        tl.atomic_add(counts + at, 1, mask=found)
        waiting = waiting & ~found
        at = tl.where(waiting, (at + 1) % CAPACITY, at)
    for turn in tl.static_range(2):
        bit = (hashed >> (turn * 11)) % (WORDS * 32)
        tl.atomic_or(bits + bit // 32, 1 << (bit % 32), mask=i < n)


@pytest.mark.parametrize("n", [1, 200])
def test_hash_table_by_compare_and_swap(target, n):
    keys, capacity = whole(0, 60, n, seed=n, dtype=torch.int64) * 2**33 + 5, 97
    slots, counts = torch.full((capacity + 1,), -1, dtype=torch.int64), torch.zeros(capacity, dtype=torch.int32)
    bits = torch.zeros(16, dtype=torch.int32)
    insert_kernel[(triton.cdiv(n, 32),)](keys, slots, counts, bits, n, CAPACITY=capacity, WORDS=16, BLOCK=32)
    expected = dict(zip(*(part.tolist() for part in keys.unique(return_counts=True))))
    assert {slot: count for slot, count in zip(slots.tolist(), counts.tolist()) if slot != -1} == expected and slots[-1] == -1

    def mix(key):
        key ^= key >> 33
        key = key * 0xFF51AFD7ED558CCD % 2**64
        return (key ^ key >> 33) & 0x7FFFFFFF

    wanted = {(mix(key) >> turn * 11) % 512 for key in expected for turn in (0, 1)}
    assert {word * 32 + bit for word in range(16) for bit in range(32) if bits[word].item() >> bit & 1} == wanted


@triton.jit
def ring_kernel(lock, slots, totals, n, CAPACITY: tl.constexpr):
    """Each program puts a number into a ring under a lock, and the last one of a full ring empties it."""
    pid = tl.program_id(0)
    while tl.atomic_cas(lock, 0, 1, sem="acquire") != 0:
        pass
    count = tl.load(totals, volatile=True)
    tl.store(slots + count % CAPACITY, pid)
    tl.store(totals, count + 1)
    if (count + 1) % CAPACITY == 0 or count + 1 == n:
        i = tl.arange(0, CAPACITY)
        used = (count % CAPACITY) + 1
        tl.debug_barrier()
        values = tl.load(slots + i, mask=i < used, other=0, volatile=True)
        tl.store(totals + 1, tl.load(totals + 1, volatile=True) + tl.sum(values))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


@pytest.mark.parametrize("n", [1, 21])
def test_ring_behind_a_lock(target, n):
    lock, slots, totals = (torch.zeros(size, dtype=torch.int32) for size in (1, 8, 2))
    ring_kernel[(n,)](lock, slots, totals, n, CAPACITY=8)
    assert totals.tolist() == [n, n * (n - 1) // 2] and lock.item() == 0


# --- integers of many words, checksums ---------------------------------------------------------


@triton.jit
def carried(generate, propagate, next_generate, next_propagate):
    return next_generate | (generate & next_propagate), propagate & next_propagate


@triton.jit
def big_sum_kernel(a, b, out, overflow, words, MINUS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(a + row * words + i, mask=i < words, other=0)
    y = tl.load(b + row * words + i, mask=i < words, other=0xFFFFFFFF if MINUS else 0)
    y = ~y if MINUS else y
    total = x + y
    generate, propagate = total < x, total == 0xFFFFFFFF
    if MINUS:
        generate |= (i == 0) & propagate
        total += (i == 0).to(tl.uint32)
        propagate &= i > 0
    carry, _ = tl.associative_scan((generate, propagate), 0, carried)
    enters = tl.gather(carry.to(tl.int8), tl.maximum(i - 1, 0), 0) * (i > 0)
    tl.store(out + row * words + i, total + enters.to(tl.uint32), mask=i < words)
    tl.store(overflow + row, tl.max(tl.where(i == words - 1, carry, False).to(tl.int32)) != 0)


@pytest.mark.parametrize("words, minus", [(1, False), (9, False), (16, True)])
def test_integers_of_many_words(target, words, minus):
    rows = 6
    parts = np.random.default_rng(words).choice(np.array([0, 1, 2**31, 2**32 - 1, 2**32 - 2], np.uint32), (2, rows, words))
    out, overflow = np.zeros((rows, words), np.uint32), np.zeros(rows, np.bool_)
    big_sum_kernel[(rows,)](*parts, out, overflow, words, MINUS=minus, BLOCK=triton.next_power_of_2(words))
    number = lambda row: sum(int(word) << 32 * i for i, word in enumerate(row))
    for x, y, z, carry in zip(*parts, out, overflow):
        exact = number(x) + (2**(32 * words) - number(y) if minus else number(y))
        assert number(z) == exact % 2**(32 * words) and bool(carry) == (exact >= 2**(32 * words))


@triton.constexpr_function
def crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
        table.append(value)
    return tuple(table)


@triton.jit
def table_kernel(out):
    for i in tl.static_range(256):
        tl.store(out + i, crc_table()[i])


@triton.jit
def checksum_kernel(data, starts, table, out, rows, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at, stop = tl.load(starts + row, mask=row < rows, other=0), tl.load(starts + row + 1, mask=row < rows, other=0)
    value = tl.full([BLOCK], 0xFFFFFFFF, tl.uint32)
    while tl.sum((at < stop).to(tl.int32)) > 0:
        byte = tl.load(data + at, mask=at < stop, other=0)
        value = tl.where(at < stop, tl.load(table + ((value ^ byte) & 0xFF)) ^ (value >> 8), value)
        at += 1
    tl.store(out + row, ~value, mask=row < rows)


def test_checksums(target):
    import zlib
    texts = [b"", b"a", b"123456789", bytes(range(60))]
    data = np.frombuffer(b"".join(texts), np.uint8).copy()
    starts = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    table, out = np.zeros(256, np.uint32), np.zeros(len(texts), np.uint32)
    table_kernel[(1,)](table)
    checksum_kernel[(2,)](data, starts, table, out, len(texts), BLOCK=2)
    assert out.tolist() == [zlib.crc32(text) for text in texts]
