"""Products whose sums a trip scales and adds up itself, as those of 8-bit floats with scales of blocks: they are waited for in their trip.
Boxes bring their factors, and where a program fills its multiprocessor signals hand the slots on: right for every count of trips,
whoever copies, and each arrival, wait, fence and parity is needed."""
import re
import subprocess

import machine
import numpy as np
import pytest
from tensor_maps import small_integers
from test_copies_of_boxes import COPIES, PROGRAM, SCHEDULES, Compiled, encode, replaced, without_boxes
from test_slots_handed_on import ONE, WAIT, changed_at, gone, other_parity, passed

KERNEL = """
import tegula as triton
import tegula.language as tl

@triton.jit
def scaled(a, b, c, s, t, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, COLUMNS: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    trips = tl.cdiv(K, BK)
    x, y = a + (m % M)[:, None] * sa + k[None, :], b + k[:, None] * sb + (n % N)[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, trips):
        p = tl.dot(tl.load(x, mask=k[None, :] < K - i * BK, other=0), tl.load(y, mask=k[:, None] < K - i * BK, other=0))
        p *= tl.load(s + (m % M) * trips + i)[:, None]
        if COLUMNS:
            p *= tl.load(t + (n % N) // 16 * trips + i)[None, :]
        acc += p
        x += BK
        y += BK * sb
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

# A program that walks over tiles.
@triton.jit
def walk(a, b, c, s, t, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, COLUMNS: tl.constexpr):
    across, trips, k = tl.cdiv(N, BN), tl.cdiv(K, BK), tl.arange(0, BK)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        m, n = tile // across * BM + tl.arange(0, BM), tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros([BM, BN], tl.float32)
        for i in range(0, trips):
            x = tl.load(a + (m % M)[:, None] * sa + (i * BK + k)[None, :], mask=k[None, :] < K - i * BK, other=0)
            y = tl.load(b + (i * BK + k)[:, None] * sb + (n % N)[None, :], mask=k[:, None] < K - i * BK, other=0)
            p = tl.dot(x, y) * tl.load(s + (m % M) * trips + i)[:, None]
            if COLUMNS:
                p *= tl.load(t + (n % N) // 16 * trips + i)[None, :]
            acc += p
        tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])
"""
SIGNATURE = "a=*f16:16,b=*f16:16,c=*f32:16,s=*f32:16,t=*f32:16,M=i32,N=i32:16,K=i32:16,sa=i32:16,sb=i32:16"
BK = 64
HANDED, TOGETHER = ((128, 128), 8), ((64, 128), 4)  # tile, warps: groups come apart; a barrier holds a trip together


class Kernels:
    """Compiled when they are asked for, once."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def emit(self, name, stage, tile, warps, stages, columns):
        (self.folder / "kernel.py").write_text(KERNEL)
        signature = f"{SIGNATURE},BM={tile[0]},BN={tile[1]},BK={BK},COLUMNS={columns}"
        done = subprocess.run([PROGRAM, "compile", f"kernel.py::{name}", "--signature", signature, "--target", "sm_90a", "--emit", stage,
                               "--num-warps", str(warps), "--num-stages", str(stages)], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __call__(self, shape=HANDED, stages=3, columns=True, name="scaled"):
        tile, warps = shape
        key = shape, stages, columns, name
        if key not in self.made:
            made = Compiled(self.folder, name, lambda folder, name, stage: self.emit(name, stage, tile, warps, stages, columns))
            made.tile, made.threads, made.columns, made.walks = tile, 32 * warps, columns, name == "walk"
            self.made[key] = made
        return self.made[key]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return Kernels(tmp_path_factory.mktemp("scaled"))


def run(kernel, m, n, k, change=lambda text: text, maps=True, **how):
    """The findings, the result and what it should be, of matrices whose rows are a little apart."""
    random = np.random.default_rng(m + n + k)
    (a, sa, room_a), (b, sb, room_b), trips = small_integers(random, m, k), small_integers(random, k, n), -(-k // BK)
    s, t = (np.exp2(random.integers(-1, 3, (rows, trips))).astype(np.float32) for rows in (m, -(-n // 16)))
    c, wanted = np.full((m, n), 9, np.float32), np.zeros((m, n), np.float32)
    for trip in range(trips):
        part = a[:, trip * BK:(trip + 1) * BK].astype(np.float32) @ b[trip * BK:(trip + 1) * BK].astype(np.float32)
        wanted += part * s[:, trip, None] * (t[np.arange(n) // 16, trip] if kernel.columns else 1)
    place = encode(kernel, [a, b, c, s, t, m, n, k, sa, sb]) if maps else 0
    tile = kernel.tile
    found = machine.run(change(kernel.ptx), [machine.Part(room_a, a), machine.Part(room_b, b), c, s, t, m, n, k, sa, sb, place, 0],
                        grid=(2, 1, 1) if kernel.walks else (-(-m // tile[0]), -(-n // tile[1]), 1), block=(kernel.threads, 1, 1), shared=kernel.shared,
                        step_limit=30_000_000, **how)
    return found, c, wanted


def check(*arguments, **how):
    found, c, wanted = run(*arguments, **how)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)


def rows_by_threads(text):
    """Copies of rows end the launch: 16 bytes an access, where scales are copied by 4."""
    return replaced(r"^\s*(@\S+ )?cp\.async\.cg.*$", "trap;")(text)


@pytest.mark.parametrize("columns", [True, False])
def test_signals_hand_slots_on_where_a_program_is_alone(kernels, columns):
    for stages in (2, 3, 4):
        assert "simt.signalled" in kernels(HANDED, stages, columns).simt
    together = kernels(TOGETHER, 3, columns).simt
    assert "simt.bulk_copy" in together and "simt.signalled" not in together


def test_a_fence_is_asked_only_where_threads_have_copied(kernels):
    assert re.search(r"simt\.barrier unless %\d+ \{fence\}", kernels(TOGETHER).simt)
    check(kernels(TOGETHER), 128, 128, 5 * BK, lambda text: re.sub(r"fence\.proxy\.async\.shared::cta;", "trap;", text, count=1))


@pytest.mark.parametrize("shape", [HANDED, TOGETHER])
@pytest.mark.parametrize("stages", [2, 3, 4, 6])  # six leave no room for a slot more
@pytest.mark.parametrize("columns", [True, False])
def test_any_count_of_trips(kernels, shape, stages, columns):
    kernel = kernels(shape, stages, columns)
    for trips in range(1, 8):
        check(kernel, 128, 128, trips * BK, rows_by_threads, schedule="random", copies="random", seed=trips)
        check(kernel, 128, 128, trips * BK - 48, without_boxes, maps=False, schedule="random", copies="random", seed=trips)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("shape", [HANDED, TOGETHER])
@pytest.mark.parametrize("maps", [True, False])
def test_any_order_of_warps_and_copies(kernels, schedule, copies, shape, maps):
    check(kernels(shape), 128, 256, 5 * BK, maps=maps, schedule=schedule, copies=copies, seed=2)


@pytest.mark.parametrize("m, n, k", [(40, 128, 4 * BK), (200, 144, 3 * BK + 16), (129, 256, BK), (1, 16, 2 * BK)])
@pytest.mark.parametrize("shape", [HANDED, TOGETHER])
def test_rows_that_wrap_around_are_copied_by_all_threads(kernels, m, n, k, shape):
    for seed in range(3):
        check(kernels(shape), m, n, k, schedule="random", copies="random", seed=seed)


@pytest.mark.parametrize("shape", [HANDED, TOGETHER])
@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("maps", [True, False])
def test_programs_that_walk_over_tiles(kernels, shape, columns, maps):
    for m, n, k in ((384, 256, 5 * BK), (200, 256, BK), (128, 400, 2 * BK + 16)):
        for seed in range(2):
            check(kernels(shape, 3, columns, "walk"), m, n, k, maps=maps, schedule="random", copies="random", seed=seed)


# --- each part is needed ---

FILLED, EMPTY, EMPTY_FOR_ONE = 0, 1, 2            # waits in the order of the text; the last one without scales of columns
FIRST, SCALES, READS, IN_PLACE_OF_BOXES = 0, 2, 3, 4  # arrivals of warps: of copies ahead of the loop and in it, of reads

MUTANTS = {  # with whether the launch has maps
    "no wait for a filled slot": (changed_at(WAIT, passed, FILLED), True),
    "parity of a filled slot": (changed_at(WAIT, other_parity, FILLED), True),
    "parity of an empty slot": (changed_at(WAIT, other_parity, EMPTY), True),
    "parity of an empty slot, copied by all": (changed_at(WAIT, other_parity, EMPTY), False),
    "slots are never empty": (changed_at(ONE, gone, READS), True),
    "reads are told of twice": (changed_at(ONE, lambda line: line + line, READS), True),
    "slots are empty at once": (replaced(r"wgmma\.wait_group\.sync\.aligned 0;(?=(.|\n)*mbarrier\.arrive)", ""), True),
    "scales are not told of": (changed_at(ONE, gone, SCALES), True),
    "copies in place of boxes are not told of": (changed_at(ONE, gone, IN_PLACE_OF_BOXES), False),
    "the first copies are not told of": (changed_at(ONE, gone, FIRST), False),
    "nobody announces": (replaced(r"^\s*@\S+ mbarrier\.arrive\.expect_tx.*$", ""), True),
    "nobody arrives for the others": (replaced(r"^\s*@\S+ mbarrier\.arrive\S+ _, \S+ 7;$", ""), True),
    "no fence behind copies by all": (replaced(r"^\s*fence\.proxy\.async\.shared::cta;$", ""), False),
    "no wait for copies of threads": (replaced(r"^\s*cp\.async\.wait_group.*$", ""), True),
    "fewer arrivals than there are": (replaced(r"(mbarrier\.init\S+ \S+) 16;", r"\1 15;"), True),
    "more arrivals than there are": (replaced(r"(mbarrier\.init\S+ \S+) 16;", r"\1 17;"), True),
}


def is_killed(kernel, change, maps):
    for schedule, copies in (("round-robin", "late"), ("apart", "late"), ("random", "random"), ("priority", "at-once")):
        found, c, wanted = run(kernel, 128, 128, 9 * BK, change, maps, schedule=schedule, copies=copies, seed=1)
        if found or not np.array_equal(c, wanted):
            return True
    return False


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_part_is_needed(kernels, mutant):
    assert is_killed(kernels(), *MUTANTS[mutant])


def test_boxes_wait_for_empty_slots(kernels):
    """Threads that copy scales in each trip wait for each other by that, too."""
    assert is_killed(kernels(columns=False), changed_at(WAIT, passed, EMPTY_FOR_ONE), True)


def test_each_part_of_trips_that_a_barrier_holds_together_is_needed(kernels):
    kernel = kernels(TOGETHER)
    for change, maps in ((replaced(r"^\s*fence\.proxy\.async\.shared::cta;$", ""), False), (replaced(r"^\s*cp\.async\.wait_group.*$", ""), True),
                         (changed_at(WAIT, passed, FILLED), True), (changed_at(WAIT, other_parity, FILLED), True),
                         (replaced(r"^\s*bar\.sync\s+0;$", ""), True),
                         (replaced(r"^\s*@\S+ mbarrier\.arrive\.expect_tx.*$", ""), True)):
        assert is_killed(kernel, change, maps)
