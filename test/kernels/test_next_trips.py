"""Programs that walk over tiles: however the loops are written, the first copies of the next tile change no result."""
import os

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
pytestmark = pytest.mark.parametrize("target", TARGETS, indirect=True)
EARLY = "starts the first copies of the next one"
LARGE = os.environ.get("TEGULA_SIM_ARCH", "sm_90a") == "sm_90a"  # 227 KiB of shared memory in place of sm_80's 163


@triton.jit
def place(tile, across, ORDER: tl.constexpr):
    """The place of a tile: by rows, or by columns with a step back."""
    if ORDER == "rows":
        return tile // across, tile % across
    return tile % across, tile // across


@triton.jit
def walk_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    k = tl.arange(0, BK)
    total = tl.zeros([BM], tl.float32)
    stepped, zero, shift = tl.program_id(0), tl.program_id(1), 0
    left_behind = zero + 1  # of the first trip; zero of all others
    for tile in range(tl.program_id(0), down * across, tl.num_programs(0)):
        if FORM == "stepped":
            tile = stepped
            stepped += tl.num_programs(0)
        if FORM == "from outside":
            shift = left_behind
            left_behind = zero
        if FORM == "columns":
            n_at, m_at = place(tile, down, "rows")
        else:
            m_at, n_at = place(tile, across, "rows")
        m, n = m_at * BM + tl.arange(0, BM), n_at * BN + tl.arange(0, BN)
        if FORM == "wrapped":
            rows, columns = m % M, n % N
        elif FORM == "clamped":
            rows, columns = tl.where(m < M, m, 0), tl.where(n < N, n, 0)
        elif FORM == "rows clamped":
            rows, columns = tl.minimum(m, M - 1), n % N
        else:
            rows, columns = m, n
        acc = tl.zeros([BM, BN], tl.float32)
        if FORM == "from outside":
            columns = n + shift * 8
        if FORM == "bias":
            acc += tl.load(c_ptr + M * N + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
        a_ptrs, b_ptrs = a_ptr + rows[:, None] * sa + k[None, :], b_ptr + k[:, None] * sb + columns[None, :]
        for i in range(0, tl.cdiv(K, BK)):
            left = K - i * BK
            if FORM == "wrapped" or FORM == "clamped" or FORM == "rows clamped":
                x = tl.load(a_ptrs, mask=k[None, :] < left, other=0.0)
                y = tl.load(b_ptrs, mask=k[:, None] < left, other=0.0)
            else:
                x = tl.load(a_ptrs, mask=(m < M)[:, None] & (k[None, :] < left), other=0.0)
                y = tl.load(b_ptrs, mask=(k[:, None] < left) & (columns < N)[None, :], other=0.0)
            acc = tl.dot(x, y, acc)
            a_ptrs += BK
            b_ptrs += BK * sb
        if FORM == "carried":
            total += tl.sum(acc, 1)
            acc += total[:, None]
        tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])


def walk(form, m, n, k, tile, warps, stages, programs):
    generator = torch.Generator().manual_seed(m + n + k)
    a = torch.randint(-2, 3, (m, k), generator=generator).half()
    b = torch.randint(-2, 3, (k, n), generator=generator).half()
    c = torch.full((m * n + n,), 3.0, dtype=torch.float16)
    kernel = walk_kernel[(programs,)](a, b, c, m, n, k, a.stride(0), b.stride(0), FORM=form, BM=tile[0], BN=tile[1], BK=tile[2],
                                      num_warps=warps, num_stages=stages)
    wanted = a.float() @ b.float()
    if form == "bias":
        wanted += 3
    if form == "from outside":
        for program in range(programs):
            rows, columns = (slice(i * size, (i + 1) * size) for i, size in zip((program // -(-n // tile[1]), program % -(-n // tile[1])), tile))
            shifted = torch.cat([b[:, columns.start + 8:columns.stop + 8], torch.zeros(k, 8)], 1)[:, :tile[1]]
            wanted[rows, columns] = a[rows].float() @ shifted.float()
    if form == "carried":
        made, sums = wanted.clone(), [torch.zeros(tile[0]) for _ in range(programs)]
        across = -(-n // tile[1])
        for at in range(-(-m // tile[0]) * across):
            rows, columns = (slice(i * size, (i + 1) * size) for i, size in zip((at // across, at % across), tile))
            part = wanted[rows, columns]
            sums[at % programs][:len(part)] += part.sum(1)
            made[rows, columns] = part + sums[at % programs][:len(part), None]
        wanted = made
    assert torch.equal(c[:m * n].view(m, n), wanted.half())
    return kernel


TILES = [((64, 256, 64), 4, 3), ((128, 128, 64), 8, 4), ((64, 64, 32), 4, 3), ((128, 64, 32), 4, 2), ((16, 32, 16), 1, 3)]


@pytest.mark.parametrize("form", ["plain", "wrapped", "clamped", "rows clamped", "columns", "bias", "carried", "stepped", "from outside"])
@pytest.mark.parametrize("tile, warps, stages", TILES)
def test_any_way_to_walk(target, form, tile, warps, stages):
    kernel = walk(form, 3 * tile[0] - 8, 2 * tile[1], 4 * tile[2], tile, warps, stages, 2)
    if target == "sim" and tile[0] > 16 and form not in ("clamped", "carried", "from outside"):
        # Products of programs that are alone keep slots that leave room on a smaller machine, too.
        fits = LARGE or tile != (64, 256, 64) or os.environ.get("TEGULA_PROGRAMS_ALONE", "0") != "0"
        assert (EARLY if fits else "shared memory has no room for its buffers") in str(kernel.remarks)


@pytest.mark.parametrize("k", [0, 16, 64, 80, 208])
@pytest.mark.parametrize("programs", [1, 3, 9])
def test_few_trips_and_more_programs_than_tiles(target, k, programs):
    walk("plain", 130, 512, k, (64, 256, 64), 4, 3, programs)


@triton.jit
def chain_kernel(x_ptr, w_ptr, COUNT: tl.constexpr, B: tl.constexpr, BARRIER: tl.constexpr):
    """Each step multiplies what the step before has stored; without a barrier they keep their order, being of one argument."""
    r, c = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    for step in range(COUNT):
        acc = tl.zeros([B, B], tl.float32)
        for i in range(0, B, 16):
            k = i + tl.arange(0, 16)
            acc = tl.dot(tl.load(x_ptr + step * B * B + r * B + k[None, :]), tl.load(w_ptr + k[:, None] * B + c), acc)
        tl.store(x_ptr + (step + 1) * B * B + r * B + c, acc.to(tl.float16))
        if BARRIER:
            tl.debug_barrier()


@pytest.mark.parametrize("barrier", [True, False], ids=["barrier", "one argument"])
def test_what_a_trip_stores_is_not_copied_ahead_of_it(target, barrier):
    size, count = 64, 4
    x = torch.zeros(count + 1, size, size, dtype=torch.float16)
    x[0] = torch.randint(-3, 4, (size, size)).half()
    w = torch.eye(size, dtype=torch.float16).roll(1, 1)
    made = chain_kernel[(1,)](x, w, COUNT=count, B=size, BARRIER=barrier, num_warps=4, num_stages=3)
    for step in range(count):
        assert torch.equal(x[step + 1], x[step].roll(1, 1))
    if target == "sim":
        assert EARLY not in str(made.remarks)


@triton.jit
def listed_kernel(a_ptr, b_ptr, c_ptr, list_ptr, COUNT, K: tl.constexpr, B: tl.constexpr):
    """The tiles are listed in memory, and so are their numbers of trips."""
    r, c = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    for at in range(tl.program_id(0), COUNT, tl.num_programs(0)):
        tile, trips = tl.load(list_ptr + 2 * at), tl.load(list_ptr + 2 * at + 1)
        acc = tl.zeros([B, B], tl.float32)
        for i in range(0, trips):
            k = i * 32 + tl.arange(0, 32)
            acc = tl.dot(tl.load(a_ptr + (tile * B + r) * K + k[None, :]), tl.load(b_ptr + k[:, None] * B + c), acc)
        tl.store(c_ptr + (tile * B + r) * B + c, acc.to(tl.float16))


@pytest.mark.parametrize("programs", [1, 2])
def test_tiles_and_trips_from_memory(target, programs):
    size, k, count = 64, 160, 5
    a, b = torch.randint(-2, 3, (count * size, k)).half(), torch.randint(-2, 3, (k, size)).half()
    order, trips = [3, 0, 4, 1, 2], [5, 0, 2, 1, 4]
    c = torch.full((count * size, size), 9.0, dtype=torch.float16)
    listed = torch.tensor([order, trips], dtype=torch.int32).T.contiguous()
    listed_kernel[(programs,)](a, b, c, listed, count, K=k, B=size, num_warps=4, num_stages=3)
    for tile, n in zip(order, trips):
        rows = slice(tile * size, (tile + 1) * size)
        assert torch.equal(c[rows], (a[rows, :32 * n].float() @ b[:32 * n].float()).half())
