"""Small kernels in the styles of users, against NumPy: extents of 1, 3 and 48, masks in odd places, loops without trips,
pointers that are chosen, tiles that go through branches and change places."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


def integers(*shape, seed=0, low=-9, high=9):
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(np.int32)


# --- pointers ----------------------------------------------------------------------------------


@triton.jit
def chosen_pointers_kernel(p_ptr, q_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    pointers = tl.where(i % 2 == 0, p_ptr + i, q_ptr + i)
    tl.store(out_ptr + i, tl.load(pointers, mask=i < n, other=-1), mask=i < n)


@pytest.mark.parametrize("n, block", [(1, 1), (3, 3), (40, 64), (48, 48)])
def test_where_on_pointers(target, n, block):
    p, q, out = integers(n), integers(n, seed=1), np.full(n, 99, np.int32)
    chosen_pointers_kernel[(1,)](p, q, out, n, BLOCK=block)
    np.testing.assert_array_equal(out, np.where(np.arange(n) % 2 == 0, p, q))


@triton.jit
def swapped_kernel(p_ptr, q_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(p_ptr + i), tl.load(q_ptr + i)
    source, other = p_ptr, q_ptr
    for k in range(n):
        a, b = b, a + k
        source, other = other, source
    tl.store(out_ptr + i, a)
    tl.store(out_ptr + BLOCK + i, b)
    tl.store(out_ptr + 2 * BLOCK + i, tl.load(source + i))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("block", [1, 3, 48])
def test_tiles_and_pointers_change_places(target, block, n):
    p, q, out = integers(block), integers(block, seed=1), np.zeros((3, block), np.int32)
    swapped_kernel[(1,)](p, q, out, n, BLOCK=block)
    a, b = p, q
    for k in range(n):
        a, b = b, a + k
    np.testing.assert_array_equal(out, [a, b, q if n % 2 else p])


# --- loops and branches ------------------------------------------------------------------------


@triton.jit
def trips_kernel(x_ptr, out_ptr, start, stop, step, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    last = -1
    for k in range(start, stop, step):
        total += tl.load(x_ptr + i) * k
        last = k
    for k in range(stop, start, -3):
        total = total * 2 + k
    tl.store(out_ptr + i, total + last)


@pytest.mark.parametrize("bounds", [(0, 0, 1), (5, 3, 1), (0, 7, 3), (2, 3, 5), (-4, 4, 2), (0, 1, 100)], ids=str)
@pytest.mark.parametrize("block", [1, 3, 48])
def test_every_number_of_trips(target, block, bounds):
    x, out = integers(block), np.zeros(block, np.int32)
    trips_kernel[(1,)](x, out, *bounds, BLOCK=block)
    start, stop, step = bounds
    total = x * sum(range(start, stop, step))
    for k in range(stop, start, -3):
        total = total * 2 + k
    np.testing.assert_array_equal(out, total + (list(range(start, stop, step)) or [-1])[-1])


@triton.jit
def branching_tiles_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i)
    w = v
    if n > 0:
        if n > 1:
            v = tl.cumsum(v, 0)
        else:
            v = tl.sort(v)
            w = v + 1
        v += 1
    elif n < -5:
        w = tl.flip(v)
    t = v if n > 2 else w
    for k in range(n):
        if tl.sum(t, 0) % 2 == 0:
            t = t + v
        else:
            t, v = v, t
            w = w - 1
    tl.store(out_ptr + i, t)
    tl.store(out_ptr + BLOCK + i, v)
    tl.store(out_ptr + 2 * BLOCK + i, w)


@pytest.mark.parametrize("n", [-9, 0, 1, 2, 5])
@pytest.mark.parametrize("block", [1, 4, 64])
def test_tiles_go_through_branches(target, block, n):
    x, out = integers(block), np.zeros((3, block), np.int32)
    branching_tiles_kernel[(1,)](x, out, n, BLOCK=block)
    v = w = x
    if n > 0:
        v, w = (np.cumsum(v), w) if n > 1 else (np.sort(v), np.sort(v) + 1)
        v = v + 1
    elif n < -5:
        w = v[::-1]
    t = v if n > 2 else w
    for _ in range(n):
        if t.sum() % 2 == 0:
            t = t + v
        else:
            t, v, w = v, t, w - 1
    np.testing.assert_array_equal(out, [t, v, w])


@triton.jit
def carried_rows_kernel(x_ptr, out_ptr, state_ptr, n, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    v = tl.load(x_ptr + i)
    total = tl.zeros((R,), tl.int32)
    best = tl.full((R,), -1000, tl.int32)
    place = tl.zeros((R,), tl.int32)
    for k in range(n):
        total = total + tl.sum(v, 1)
        m = tl.max(v, 1)
        place = tl.where(m > best, k, place)
        best = tl.maximum(best, m)
        v = v - (tl.cumsum(v, 1) & 7) + best[:, None]
        if k % 2 == 1:
            v = tl.flip(v, 1)
    tl.store(out_ptr + i, v)
    tl.store(state_ptr + tl.arange(0, R), total + best * 3 + place)


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (16, 48)], ids=str)
def test_rows_of_reductions_are_carried(target, shape, n):
    v = integers(*shape)
    out, state = np.zeros_like(v), np.zeros(shape[0], np.int32)
    carried_rows_kernel[(1,)](v, out, state, n, R=shape[0], C=shape[1])
    total, best, place = np.zeros(shape[0], int), np.full(shape[0], -1000), np.zeros(shape[0], int)
    for k in range(n):
        total, m = total + v.sum(1), v.max(1)
        place, best = np.where(m > best, k, place), np.maximum(best, m)
        v = v - (np.cumsum(v, 1) & 7) + best[:, None]
        v = v[:, ::-1] if k % 2 else v
    np.testing.assert_array_equal(out, v)
    np.testing.assert_array_equal(state, total + best * 3 + place)


# --- masks -------------------------------------------------------------------------------------


@triton.jit
def odd_masks_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside, even, last = i < n, (i & 1) == 0, i >= n - 3
    a = tl.load(x_ptr + i, mask=inside & even, other=7)
    b = tl.load(x_ptr + n - 1 - i, mask=inside, other=0)
    c = tl.load(x_ptr + i * 2, mask=i * 2 < n, other=-1)
    d = tl.load(x_ptr + tl.minimum(i, n - 1))
    e = tl.load(x_ptr + i // 2, mask=inside | (n > 1000), other=3)
    tl.store(out_ptr + i, a + 10 * b + 100 * c, mask=inside)
    tl.store(out_ptr + BLOCK + i, d * e, mask=inside & ~last)
    tl.store(out_ptr + 2 * BLOCK + (BLOCK - 1 - i), e, mask=even)


@pytest.mark.parametrize("n, block", [(1, 1), (3, 3), (5, 8), (48, 48), (40, 64), (61, 128)])
def test_masks_in_odd_places(target, n, block):
    x, out = integers(n), np.full((3, block), 5, np.int32)
    odd_masks_kernel[(1,)](x, out, n, BLOCK=block)
    i = np.arange(block)
    inside, even, last = i < n, i % 2 == 0, i >= n - 3

    def read(at, mask, other):
        return np.where(mask, x[np.clip(at, 0, n - 1)], other)

    a, b, c = read(i, inside & even, 7), read(n - 1 - i, inside, 0), read(i * 2, i * 2 < n, -1)
    d, e = read(np.minimum(i, n - 1), True, 0), read(i // 2, inside, 3)
    expected = np.full((3, block), 5)
    expected[0] = np.where(inside, a + 10 * b + 100 * c, 5)
    expected[1] = np.where(inside & ~last, d * e, 5)
    expected[2][(block - 1 - i)[even]] = e[even]
    np.testing.assert_array_equal(out, expected)


@triton.jit
def spread_masks_kernel(x_ptr, out_ptr, m, n, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    a = tl.load(x_ptr + r * C + c, mask=r < m, other=7)
    b = tl.load(x_ptr + r * C + c, mask=c < n, other=r * 100)
    d = tl.load(x_ptr + r + c * 0, mask=(r < m) & (c > 0), other=-1)
    tl.store(out_ptr + r * C + c, a + b * 2, mask=(r < m) | (c < n))
    tl.store(out_ptr + R * C + r * C + c, d, mask=c != 1)
    tl.store(out_ptr + 2 * R * C + r * C + c, r, mask=r >= c)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (48, 3), (16, 64)], ids=str)
def test_masks_and_values_are_spread(target, shape):
    R, C = shape
    r, c = np.indices(shape)
    for m, n in ((0, 0), (1, C), (R, 1), (R, C)):
        x, out = integers(R, C), np.full((3, R, C), 3, np.int32)
        spread_masks_kernel[(1,)](x, out, m, n, R=R, C=C)
        a, b = np.where(r < m, x, 7), np.where(c < n, x, r * 100)
        d = np.where((r < m) & (c > 0), x.ravel()[r], -1)
        np.testing.assert_array_equal(out, [np.where((r < m) | (c < n), a + 2 * b, 3), np.where(c != 1, d, 3), np.where(r >= c, r, 3)])


# --- reductions, scans, products -----------------------------------------------------------------


@triton.jit
def compaction_kernel(x_ptr, out_ptr, count_ptr, BLOCK: tl.constexpr):
    v = tl.load(x_ptr + tl.arange(0, BLOCK))
    kept = v > 2
    place = tl.cumsum(kept.to(tl.int32), 0)
    tl.store(out_ptr + place - 1, v, mask=kept)
    tl.store(count_ptr, tl.sum(kept, 0))
    tl.store(count_ptr + 1, tl.sum(tl.where(kept | ~(v % 2 == 0), v, 0), 0))
    tl.store(count_ptr + 2, tl.max((kept ^ (v % 2 == 0)).to(tl.int32), 0))


@pytest.mark.parametrize("block", [1, 3, 48, 64])
def test_compaction(target, block):
    x, out, counts = integers(block, low=0, high=5), np.full(block, -7, np.int32), np.zeros(3, np.int32)
    compaction_kernel[(1,)](x, out, counts, BLOCK=block)
    kept, even = x > 2, x % 2 == 0
    np.testing.assert_array_equal(out, np.concatenate([x[kept], np.full(block - kept.sum(), -7)]))
    np.testing.assert_array_equal(counts, [kept.sum(), x[kept | ~even].sum(), (kept ^ even).max()])


@triton.jit
def first_maximum(a, i, b, j):
    takes = (b > a) | ((b == a) & (j < i))
    return tl.where(takes, b, a), tl.where(takes, j, i)


@triton.jit
def running_place_kernel(x_ptr, value_ptr, place_ptr, AXIS: tl.constexpr, REVERSE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    index = tl.broadcast_to(r if AXIS == 0 else c, (R, C))
    value, place = tl.associative_scan((tl.load(x_ptr + r * C + c), index), AXIS, first_maximum, reverse=REVERSE)
    tl.store(value_ptr + r * C + c, value)
    tl.store(place_ptr + r * C + c, place)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (3, 48), (16, 8)], ids=str)
def test_running_place_of_the_maximum(target, shape, axis, reverse):
    x, value, place = integers(*shape, low=0, high=4), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    running_place_kernel[(1,)](x, value, place, AXIS=axis, REVERSE=reverse, R=shape[0], C=shape[1])
    lines = x.T if axis == 0 else x
    expected = np.array([[(line[k:].argmax() + k) if reverse else line[:k + 1].argmax() for k in range(len(line))] for line in lines])
    expected = expected.T if axis == 0 else expected
    np.testing.assert_array_equal(place, expected)
    np.testing.assert_array_equal(value, np.take_along_axis(x, expected, axis))


@triton.jit
def segments_kernel(x_ptr, bounds_ptr, out_ptr, BLOCK: tl.constexpr):
    s = tl.program_id(0)
    begin, end = tl.load(bounds_ptr + s), tl.load(bounds_ptr + s + 1)
    total = 0
    largest = -1000
    for first in range(begin, end, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + i, mask=i < end, other=0)
        total += tl.sum(v, 0)
        largest = tl.maximum(largest, tl.max(tl.where(i < end, v, -1000), 0))
    tl.store(out_ptr + 2 * s, total)
    tl.store(out_ptr + 2 * s + 1, largest)


@pytest.mark.parametrize("block", [1, 3, 48])
def test_segments_some_of_them_empty(target, block):
    bounds, x = np.array([0, 0, 5, 6, 70, 70, 100], np.int32), integers(100)
    out = np.zeros((6, 2), np.int32)
    segments_kernel[(6,)](x, bounds, out, BLOCK=block)
    parts = [x[a:b] for a, b in zip(bounds, bounds[1:])]
    np.testing.assert_array_equal(out, [[p.sum(), p.max(initial=-1000)] for p in parts])


@triton.jit
def prefetched_product_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + n[None, :]
    a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
    b = tl.load(b_ptrs, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        a_ptrs += BK
        b_ptrs += BK * N
        following_a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - first - BK), other=0.0)
        following_b = tl.load(b_ptrs, mask=(k[:, None] < K - first - BK) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a = following_a
        b = following_b
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["float16", "float32"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (17, 33, 50), (32, 48, 16), (5, 3, 64)], ids=str)
def test_product_prefetched_by_hand(target, shape, dtype):
    M, N, K = shape
    a, b = integers(M, K, low=-3, high=3).astype(dtype), integers(K, N, seed=1, low=-3, high=3).astype(dtype)
    c = np.zeros((M, N), dtype)
    prefetched_product_kernel[(-(-M // 16), -(-N // 32))](a, b, c, M, N, K, BM=16, BN=32, BK=16)
    np.testing.assert_array_equal(c, (a.astype(np.float64) @ b.astype(np.float64)).astype(dtype))
