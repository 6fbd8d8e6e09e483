"""One loop over the trips of all tiles, as people write it: loops over tiles and their trips are made of it, and change no result."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
SAID = "a loop over tiles around one over their trips"


@triton.jit
def flat_kernel(a_ptr, b_ptr, c_ptr, log_ptr, tiles_ptr, M, N, K, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                PROGRAMS: tl.constexpr):
    """Each form says in its own words which trip is a tile's first and last one, and does something else there."""
    across = tl.cdiv(N, BN)
    trips, all_tiles = tl.cdiv(K, BK), tl.cdiv(M, BM) * across
    tiles = all_tiles // PROGRAMS
    if tl.program_id(0) < all_tiles % PROGRAMS:
        tiles += 1
    tile, at = tl.program_id(0) - PROGRAMS, -1
    m_at, n_at = 0, 0
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    bias = tl.zeros((BN,), tl.float32)
    for _ in range(0, tiles * trips if FORM == "tiles first" else trips * tiles):
        if FORM == "not equal":
            if at != trips - 1:
                at += 1
            else:
                at = 0
        else:
            at = tl.where(at == trips - 1, 0, at + 1)
        if at == 0:
            tile += PROGRAMS
            number = tile
            if FORM == "of a table":
                number = tl.load(tiles_ptr + tile)
            m_at, n_at = number // across, number % across
            m, n = m_at * BM + tl.arange(0, BM), n_at * BN + tl.arange(0, BN)
            if FORM == "clamped":
                m, n = tl.where(m < M, m, 0), tl.where(n < N, n, 0)
            else:
                m, n = m % M, n % N
            if FORM == "bias":
                bias = tl.load(log_ptr + 1024 + n).to(tl.float32)
            if FORM == "log":
                tl.store(log_ptr + tile, number + 1.0)
            if FORM == "anew":
                acc = tl.zeros((BM, BN), tl.float32)
        left = K - at * BK
        x = tl.load(a_ptr + m[:, None] * K + (at * BK + k)[None, :], mask=k[None, :] < left, other=0.0)
        y = tl.load(b_ptr + (at * BK + k)[:, None] * N + n[None, :], mask=k[:, None] < left, other=0.0)
        acc = tl.dot(x, y, acc)
        if FORM == "at least":
            is_last = at >= trips - 1
        elif FORM == "sum":
            is_last = at + 1 == trips
        else:
            is_last = at == trips - 1
        if is_last:
            rows, columns = m_at * BM + tl.arange(0, BM), n_at * BN + tl.arange(0, BN)
            inside = (rows[:, None] < M) & (columns[None, :] < N)
            if FORM == "log":
                tl.store(log_ptr + 1024 + tile, at + 1.0)
            tl.store(c_ptr + rows[:, None] * N + columns[None, :], (acc + bias[None, :]).to(tl.float16), mask=inside)
            if FORM != "anew":
                acc = tl.zeros((BM, BN), tl.float32)


@triton.jit
def counted_behind_kernel(a_ptr, b_ptr, c_ptr, log_ptr, tiles_ptr, M, N, K, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                          BK: tl.constexpr, PROGRAMS: tl.constexpr):
    """The number of the trip is counted at its end, or comes from the index; descriptors."""
    across = tl.cdiv(N, BN)
    trips, all_tiles = tl.cdiv(K, BK), tl.cdiv(M, BM) * across
    tiles = (all_tiles - tl.program_id(0) + PROGRAMS - 1) // PROGRAMS
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    tile, at = tl.program_id(0), 0
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(trips * tiles):
        if FORM == "index":
            at = i % trips
            tile = tl.program_id(0) + i // trips * PROGRAMS
        m_at, n_at = tile // across * BM, tile % across * BN
        acc = tl.dot(a.load([m_at, at * BK]), b.load([at * BK, n_at]), acc)
        if FORM == "index":
            if at == trips - 1:
                c.store([m_at, n_at], acc.to(tl.float16))
                acc = tl.zeros((BM, BN), tl.float32)
        else:
            at += 1
            if at == trips:
                c.store([m_at, n_at], acc.to(tl.float16))
                acc = tl.zeros((BM, BN), tl.float32)
                tile += PROGRAMS
                at = 0


FORMS = ["plain", "tiles first", "not equal", "of a table", "clamped", "bias", "log", "anew", "at least", "sum"]
BEHIND = ["counted", "index"]


def integers(*shape, seed, span=2):
    return torch.randint(-span, span + 1, shape, generator=torch.Generator().manual_seed(seed)).half()


def device(target):
    return "cuda" if target == "cuda" else "cpu"


def problem(target, m, n, k):
    place = device(target)
    a, b = integers(m, k, seed=m + k).to(place), integers(k, n, seed=n).to(place)
    return a, b, torch.full((m, n), 99.0, dtype=torch.float16, device=place)


def run(target, form, m, n, k, programs, bm, bn, bk, **options):
    a, b, c = problem(target, m, n, k)
    log = torch.zeros(1024 + max(n, 1024), device=a.device)
    across = -(-n // bn)
    count = -(-m // bm) * across
    table = torch.randperm(count, generator=torch.Generator().manual_seed(3)).int().to(a.device)
    if form == "bias":
        log[1024:1024 + n] = torch.arange(n, device=a.device) % 7 - 3
    kernel = counted_behind_kernel if form in BEHIND else flat_kernel
    compiled = kernel[(programs,)](a, b, c, log, table, m, n, k, FORM=form, BM=bm, BN=bn, BK=bk, PROGRAMS=programs, **options)
    expected = a.float() @ b.float()
    if form == "bias":
        expected += log[1024:1024 + n]
    if k == 0:
        expected.fill_(99.0)
    assert torch.equal(c.float(), expected)
    if form == "log" and k:
        assert log[:count].tolist() == [float(i + 1) for i in range(count)]
        assert log[1024:1024 + count].tolist() == [float(-(-k // bk))] * count
    return compiled


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("form", FORMS + BEHIND)
@pytest.mark.parametrize("m, n, k, programs", [(256, 256, 200, 2), (200, 136, 72, 3), (128, 128, 64, 5), (64, 64, 0, 1)])
def test_each_form(target, form, m, n, k, programs):
    run(target, form, m, n, k, programs, 64, 128, 64, num_warps=4, num_stages=3)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("form", ["clamped", "counted"])
@pytest.mark.parametrize("bm, bn, bk, warps, stages", [(128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 32, 4, 4), (64, 64, 32, 4, 1)])
def test_blocks(target, form, bm, bn, bk, warps, stages):
    run(target, form, 2 * bm + 8, bn + 16, 4 * bk, 3, bm, bn, bk, num_warps=warps, num_stages=stages)


@pytest.mark.parametrize("target", TARGETS[1:2], indirect=True)
@pytest.mark.parametrize("form", FORMS + BEHIND)
def test_large(target, form):
    run(target, form, 1000, 1544, 520, 13, 128, 128, 64, num_warps=8, num_stages=3)


SIGNATURE = "a_ptr=*f16:16,b_ptr=*f16:16,c_ptr=*f16:16,log_ptr=*f32:16,tiles_ptr=*i32:16,M=i32,N=i32:16,K=i32:16,FORM='{}',BM=128,BN=256,BK=64,PROGRAMS=132"


def remarks(tegula, kernel, signature):
    done = tegula("explain", f"{__file__}::{kernel}", "--target", "sm_90a", "--num-warps", "8", "--num-stages", "3", "--signature", signature)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def tegula(build_dir):
    return lambda *arguments: subprocess.run([build_dir / "bin" / "tegula", *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("form", FORMS + BEHIND)
def test_each_form_is_seen_and_none_spills(tegula, form):
    kernel = "counted_behind_kernel" if form in BEHIND else "flat_kernel"
    said = remarks(tegula, kernel, SIGNATURE.format(form))
    assert SAID in said and "run 2 trips ahead" in said and "matrix instruction wgmma" in said, said
    # The remainders that a bias is loaded at are computed ahead of the products, for a is loaded at them, too.
    assert form == "bias" or "none spilled" in said or "registers a thread" not in said, said


# --- loops that look like it, and are not ---


@pytest.fixture(params=["writes", "read later", "acc before", "other trips", "not zero", "from one less"])
def unlike(request):
    return request.param


@triton.jit
def unlike_kernel(a_ptr, b_ptr, c_ptr, tiles, trips, FORM: tl.constexpr):
    i = tl.arange(0, 64)
    at, tile, seen = -2 if FORM == "from one less" else -1, -1, 0
    acc = tl.zeros((64, 64), tl.float32)
    other = tiles + 1 if FORM == "other trips" else trips
    for t in range(trips * tiles):
        at = tl.where(at == other - 1, 0, at + 1)
        if FORM == "acc before":
            acc *= 0.5
        if at == (1 if FORM == "not zero" else 0):
            tile += 1
            if FORM == "acc before":
                acc += 1
        if FORM == "read later":
            seen += tile
        k = tl.maximum(at, 0) % 8 * 64 + i
        x = tl.load(a_ptr + i[:, None] * 512 + k[None, :])
        y = tl.load(b_ptr + k[:, None] * 64 + i[None, :])
        acc = tl.dot(x, y, acc)
        if FORM == "writes":
            tl.store(c_ptr + 8 * 4096 + t, acc.to(tl.int32).sum())
        if at == trips - 1:
            tl.store(c_ptr + tl.maximum(tile, 0) % 8 * 4096 + i[:, None] * 64 + i[None, :], acc.to(tl.int32) + at + seen)
            acc = tl.zeros((64, 64), tl.float32)


def expected_of_unlike(form, a, b, tiles, trips):
    c = torch.full((8 * 4096 + 512,), -1, dtype=torch.int32)
    at, tile, seen = -2 if form == "from one less" else -1, -1, 0
    acc = torch.zeros(64, 64)
    other = tiles + 1 if form == "other trips" else trips
    for t in range(trips * tiles):
        at = 0 if at == other - 1 else at + 1
        if form == "acc before":
            acc = acc * 0.5
        if at == (1 if form == "not zero" else 0):
            tile += 1
            if form == "acc before":
                acc = acc + 1
        if form == "read later":
            seen += tile
        place = max(at, 0) % 8 * 64
        acc = acc + a.float()[:, place:place + 64] @ b.float()[place:place + 64]
        if form == "writes":
            c[8 * 4096 + t] = int(acc.to(torch.int32).sum())
        if at == trips - 1:
            where = max(tile, 0) % 8 * 4096
            c[where:where + 4096] = (acc.to(torch.int32) + at + seen).flatten()
            acc = torch.zeros(64, 64)
    return c


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("tiles, trips", [(1, 4), (3, 3), (5, 2), (2, 1)])
def test_loops_that_look_like_it(target, unlike, tiles, trips):
    a, b = integers(64, 512, seed=1), integers(512, 64, seed=2)
    place = device(target)
    c = torch.full((8 * 4096 + 512,), -1, dtype=torch.int32, device=place)
    unlike_kernel[(1,)](a.to(place), b.to(place), c, tiles, trips, FORM=unlike, num_warps=4, num_stages=3)
    assert torch.equal(c.cpu(), expected_of_unlike(unlike, a, b, tiles, trips))


@pytest.mark.parametrize("target", [TARGETS[0]], indirect=True)
def test_trips_that_do_not_fit_into_their_bits_end_the_launch(target):
    a, b, c = torch.zeros(64, 512).half(), torch.zeros(512, 64).half(), torch.zeros(8 * 4096 + 512, dtype=torch.int32)
    with pytest.raises(triton.TritonError, match="trap|do not fit into 32 bits"):
        unlike_kernel[(1,)](a, b, c, 65537, 65536, FORM="plain", num_warps=4, num_stages=3)


# --- addresses that a branch of the trip computes ---


@triton.jit
def segments_kernel(a_ptr, b_ptr, c_ptr, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Segments of K lie apart; a trip in which one is used up goes to the next, or back to the first."""
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    at, left, segment = 0, 2, 0
    for t in range(n):
        if left == 0:
            if segment == 3:
                segment = 0
            else:
                segment += 1
            at = segment * 192
            left = 1 + segment % 3
        else:
            at += 0
        x = tl.load(a_ptr + i[:, None] * 1024 + (at + k)[None, :], mask=k[None, :] < 64 - left * 8, other=0.0)
        y = tl.load(b_ptr + (at + k)[:, None] * BN + j[None, :])
        acc = tl.dot(x, y, acc)
        at += BK
        left -= 1
    tl.store(c_ptr + i[:, None] * BN + j[None, :], acc)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("bm, bn, warps, stages", [(64, 128, 4, 3), (128, 256, 8, 2), (128, 128, 8, 4)])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_addresses_of_branches(target, bm, bn, warps, stages, n):
    place = device(target)
    a, b = integers(bm, 1024, seed=1).to(place), integers(1024, bn, seed=2).to(place)
    c = torch.full((bm, bn), 5.0, device=place)
    expected = torch.zeros(bm, bn, device=place)
    at, left, segment = 0, 2, 0
    for _ in range(n):
        if left == 0:
            segment = 0 if segment == 3 else segment + 1
            at, left = segment * 192, 1 + segment % 3
        wide = 64 - left * 8
        expected += a[:, at:at + wide].float() @ b[at:at + wide].float()
        at, left = at + 64, left - 1
    segments_kernel[(1,)](a, b, c, n, BM=bm, BN=bn, BK=64, num_warps=warps, num_stages=stages)
    assert torch.equal(c, expected)


def test_loads_at_addresses_of_branches_run_ahead(tegula):
    said = remarks(tegula, "segments_kernel", "a_ptr=*f16:16,b_ptr=*f16:16,c_ptr=*f32:16,n=i32,BM=128,BN=128,BK=64")
    assert "2 loads run 2 trips ahead" in said and "of one warp" not in said, said


@triton.jit
def half_rows_kernel(k_ptr, out_ptr, T, K, B: tl.constexpr, BK: tl.constexpr):
    """A factor that each trip loads, beside another that only some programs load, in a branch."""
    first = tl.program_id(0) * 2 * B
    o, c = tl.arange(0, B), tl.arange(0, BK)
    own, other = tl.zeros([B, B], tl.float32), tl.zeros([B, B], tl.float32)
    for i in range(tl.cdiv(K, BK)):
        inside = (i * BK + c < K)[None, :]
        k0 = tl.load(k_ptr + (first + o)[:, None] * K + (i * BK + c)[None, :], mask=(first + o < T)[:, None] & inside, other=0.0)
        own = tl.dot(k0, tl.trans(k0), own)
        if first + B < T:
            k1 = tl.load(k_ptr + (first + B + o)[:, None] * K + (i * BK + c)[None, :], mask=(first + B + o < T)[:, None] & inside, other=0.0)
            other = tl.dot(k1, tl.trans(k0), other)
    at = out_ptr + first * B + o[:, None] * B + o[None, :]
    tl.store(at, own)
    tl.store(at + B * B, other)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("rows, columns", [(64, 128), (96, 40), (90, 100)])
@pytest.mark.parametrize("b, warps", [(16, 1), (32, 4)])
def test_loads_beside_loads_of_a_branch(target, rows, columns, b, warps):
    place = device(target)
    k = integers(rows, columns, seed=7).to(place)
    programs = -(-rows // (2 * b))
    out = torch.full((programs, 2, b, b), 9.0, device=place)
    half_rows_kernel[(programs,)](k, out, rows, columns, B=b, BK=32, num_warps=warps, num_stages=3)
    padded = torch.zeros(programs * 2 * b, columns, device=place)
    padded[:rows] = k.float()
    for p, (x, y) in enumerate(padded.view(programs, 2, b, columns)):
        assert torch.equal(out[p, 0], x @ x.T)
        assert torch.equal(out[p, 1], y @ x.T)


def test_a_load_beside_a_branch_that_loads_runs_ahead(tegula):
    done = tegula("explain", f"{__file__}::half_rows_kernel", "--target", "sm_90a", "--num-warps", "4", "--num-stages", "3", "--signature",
                  "k_ptr=*f16:16,out_ptr=*f32:16,T=i32,K=i32:16,B=32,BK=64")
    assert "1 load runs 2 trips ahead" in done.stdout, done.stdout


@triton.jit
def two_counters_kernel(a_ptr, b_ptr, c_ptr, tiles, trips):
    """A number that counts up to the tiles, too, and is carried ahead of the trip's."""
    i = tl.arange(0, 64)
    other, at = -1, 0
    acc = tl.zeros((64, 64), tl.float32)
    for t in range(tiles * trips):
        other = tl.where(other == tiles - 1, 0, other + 1)
        k = (at + other) % 8 * 64 + i
        acc = tl.dot(tl.load(a_ptr + i[:, None] * 512 + k[None, :]), tl.load(b_ptr + k[:, None] * 64 + i[None, :]), acc)
        at += 1
        if at == trips:
            tl.store(c_ptr + t // trips * 4096 + i[:, None] * 64 + i[None, :], acc + other)
            acc = tl.zeros((64, 64), tl.float32)
            at = 0


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("tiles, trips", [(1, 1), (3, 4), (4, 3), (2, 5)])
def test_another_number_is_counted_beside(target, tiles, trips):
    place = device(target)
    a, b = integers(64, 512, seed=1).to(place), integers(512, 64, seed=2).to(place)
    c = torch.full((tiles, 64, 64), -1.0, device=place)
    two_counters_kernel[(1,)](a, b, c, tiles, trips, num_warps=4, num_stages=3)
    expected, acc = torch.zeros_like(c), torch.zeros(64, 64, device=place)
    for t in range(tiles * trips):
        k = (t % trips + t % tiles) % 8 * 64
        acc = acc + a[:, k:k + 64].float() @ b[k:k + 64].float()
        if t % trips == trips - 1:
            expected[t // trips], acc = acc + t % tiles, torch.zeros_like(acc)
    assert torch.equal(c, expected)
