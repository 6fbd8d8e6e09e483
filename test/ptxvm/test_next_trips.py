"""Programs that walk over tiles start the first copies of their next tile behind the products of this one: right for every count of tiles
and trips, whoever copies, and each arrival, wait and parity is needed."""
import re
import subprocess

import machine
import numpy as np
import pytest
from tensor_maps import small_integers
from test_copies_of_boxes import COPIES, PROGRAM, SCHEDULES, Compiled, encode, without_boxes, without_threads
from test_slots_handed_on import changed_at, gone, other_parity

KERNEL = """
import tegula as triton
import tegula.language as tl

@triton.jit
def walk(a, b, c, M, N, K, sa, sb, P, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    across, k = tl.cdiv(N, BN), tl.arange(0, BK)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, P):
        m, n = tile // across * BM + tl.arange(0, BM), tile % across * BN + tl.arange(0, BN)
        x, y = a + (m % M)[:, None] * sa + k[None, :], b + k[:, None] * sb + (n % N)[None, :]
        acc = tl.zeros([BM, BN], tl.float32)
        for i in range(0, tl.cdiv(K, BK)):
            acc = tl.dot(tl.load(x, mask=k[None, :] < K - i * BK, other=0), tl.load(y, mask=k[:, None] < K - i * BK, other=0), acc)
            x += BK
            y += BK * sb
        tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

# The number of trips differs from tile to tile, and some tiles have none.
@triton.jit
def uneven(a, b, c, M, N, K, sa, sb, P, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    across, k = tl.cdiv(N, BN), tl.arange(0, BK)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, P):
        m, n = tile // across * BM + tl.arange(0, BM), tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros([BM, BN], tl.float32)
        for at in range(tile % 3 * BK, K, BK):
            x = tl.load(a + m[:, None] * sa + (at + k)[None, :], mask=(m < M)[:, None] & (at + k < K)[None, :], other=0)
            y = tl.load(b + (at + k)[:, None] * sb + n[None, :], mask=(at + k < K)[:, None] & (n < N)[None, :], other=0)
            acc = tl.dot(x, y, acc)
        tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])
"""
SIGNATURE = "a=*f16:16,b=*f16:16,c=*f32:16,M=i32,N=i32:16,K=i32:16,sa=i32:16,sb=i32:16,P=i32"
BK = 64


class Kernels:
    """Compiled when they are asked for, once."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def emit(self, name, stage, tile, warps, stages):
        (self.folder / "kernel.py").write_text(KERNEL)
        signature = f"{SIGNATURE},BM={tile[0]},BN={tile[1]},BK={BK}"
        done = subprocess.run([PROGRAM, "compile", f"kernel.py::{name}", "--signature", signature, "--target", "sm_90a", "--emit", stage,
                               "--num-warps", str(warps), "--num-stages", str(stages)], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __call__(self, name, tile=(64, 256), warps=4, stages=3):
        key = name, tile, warps, stages
        if key not in self.made:
            self.made[key] = Compiled(self.folder, name, lambda folder, name, stage: self.emit(name, stage, tile, warps, stages))
            self.made[key].name, self.made[key].tile, self.made[key].threads = name, tile, 32 * warps
        return self.made[key]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return Kernels(tmp_path_factory.mktemp("trips"))


def wanted_of(kernel, a, b):
    made = a.astype(np.float32) @ b.astype(np.float32)
    if kernel.name == "uneven":
        (height, width), across = kernel.tile, -(-b.shape[1] // kernel.tile[1])
        for tile in range(-(-len(a) // height) * across):
            rows, columns = (slice(i * size, (i + 1) * size) for i, size in ((tile // across, height), (tile % across, width)))
            first = tile % 3 * BK
            made[rows, columns] = a[rows, first:].astype(np.float32) @ b[first:, columns].astype(np.float32)
    return made


def run(kernel, m, n, k, programs=1, change=lambda text: text, maps=True, **how):
    """The findings, the result and what it should be, of matrices whose rows are a little apart."""
    random = np.random.default_rng(m + n + k)
    a, sa, room_a = small_integers(random, m, k)
    b, sb, room_b = small_integers(random, k, n)
    c = np.full((m, n), 9, np.float32)
    place = encode(kernel, [a, b, c, m, n, k, sa, sb]) if maps and kernel.maps else 0
    found = machine.run(change(kernel.ptx), [machine.Part(room_a, a), machine.Part(room_b, b), c, m, n, k, sa, sb, programs, place, 0],
                        grid=(programs, 1, 1), block=(kernel.threads, 1, 1), shared=kernel.shared, step_limit=40_000_000, **how)
    return found, c, wanted_of(kernel, a, b)


def check(*arguments, **how):
    found, c, wanted = run(*arguments, **how)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("name", ["walk", "uneven"])
@pytest.mark.parametrize("tile, warps, stages", [((64, 256), 4, 3), ((128, 256), 8, 3), ((128, 128), 8, 4)])
def test_copies_of_the_next_tile_start_ahead_of_the_store(kernels, name, tile, warps, stages):
    simt = kernels(name, tile, warps, stages).simt
    last_wait = simt.rindex("simt.dot_wait %")
    assert simt.index("simt.early") < last_wait < simt.rindex("simt.local_store") < simt.rindex("simt.bulk_store")
    assert simt.count("simt.signal_init") == simt.count("simt.signal_end") == 1


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("name", ["walk", "uneven"])
def test_any_order_of_warps_and_copies(kernels, name, schedule, copies):
    check(kernels(name), 256, 512, 5 * BK, 3, without_threads, schedule=schedule, copies=copies, seed=4)


@pytest.mark.parametrize("trips", range(1, 8))
@pytest.mark.parametrize("name", ["walk", "uneven"])
def test_any_count_of_trips(kernels, name, trips):
    for maps in (True, False):
        check(kernels(name), 192, 512, trips * BK, 2, maps=maps, schedule="random", copies="random", seed=trips)
        check(kernels(name), 192, 512, trips * BK - 48, 1, maps=maps, schedule="random", copies="random", seed=trips)


@pytest.mark.parametrize("m, n, programs", [(64, 256, 1), (64, 256, 3), (64 + 8, 256 + 16, 1), (5 * 64 - 1, 512, 2), (640, 256, 4)])
@pytest.mark.parametrize("name", ["walk", "uneven"])
def test_any_count_of_tiles_some_of_which_do_not_fit(kernels, name, m, n, programs):
    for seed in range(2):
        check(kernels(name), m, n, 3 * BK + 16, programs, schedule="random", copies="random", seed=seed)


@pytest.mark.parametrize("tile, warps, stages", [((128, 256), 8, 3), ((128, 128), 8, 4), ((64, 256), 4, 2), ((128, 128), 4, 3), ((64, 64), 4, 3)])
def test_other_tiles(kernels, tile, warps, stages):
    kernel = kernels("walk", tile, warps, stages)
    for maps in (True, False) if kernel.maps else (True,):
        check(kernel, 2 * tile[0], 2 * tile[1], 4 * BK, 1, maps=maps, schedule="random", copies="random", seed=stages)


def test_launches_without_maps_are_copied_by_all_threads(kernels):
    check(kernels("walk"), 256, 512, 5 * BK, 2, without_boxes, maps=False)


# --- each part is needed ---

PARTS = {r"mbarrier\.arrive\.expect_tx": gone, r"mbarrier\.try_wait": other_parity}


def places(kernel):
    """Each line that matters, of the copies ahead of the first tile, of a trip, and for the next tile."""
    return [(pattern, which) for pattern in PARTS for which in range(len(re.findall(rf"^.*{pattern}.*$", kernel.ptx, re.M)))]


def test_each_arrival_and_parity_is_needed(kernels):
    kernel = kernels("walk")
    found_places = places(kernel)
    assert len(found_places) >= 6  # two ahead of the first tile, one in a trip, two for the next tile; a wait
    for pattern, which in found_places:
        found, c, wanted = run(kernel, 128, 512, 6 * BK, 1, changed_at(pattern, PARTS[pattern], which), schedule="random", copies="late", seed=1)
        assert found or not np.array_equal(c, wanted), (pattern, which)


def test_barriers_of_trips_keep_the_next_tiles_copies_apart(kernels):
    """Without the barrier of a trip a warp that is late still reads what the next tile's copies fill."""
    kernel = kernels("walk")
    loop = kernel.ptx.index("wgmma.mma_async")
    barrier = [match.start() for match in re.finditer(r"bar\.sync", kernel.ptx[:loop])][-1]
    without = kernel.ptx[:barrier] + "//" + kernel.ptx[barrier:]
    found = [run(kernel, 128, 512, 6 * BK, 1, lambda text: without, schedule=schedule, copies="at-once", seed=seed)[0]
             for schedule in SCHEDULES for seed in range(3)]
    assert any(found)
