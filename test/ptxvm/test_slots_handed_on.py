"""Loops of attention whose slots signals hand on, so that groups of warps come apart: right for every count of trips, whoever copies,
and each arrival, wait, fence and parity is needed."""
import re
import subprocess

import machine
import numpy as np
import pytest
from tensor_maps import strided
from test_copies_of_boxes import COPIES, PROGRAM, SCHEDULES, Compiled, encode, in_all_threads, replaced, without_boxes, without_threads

KERNEL = """
import tegula as triton
import tegula.language as tl

@triton.jit
def trip(acc, total, best, x, k, v, start, st, n, d, BIAS: tl.constexpr):
    s = tl.dot(x, tl.load(k + d[:, None] + (start + n)[None, :] * st)) * 0.125 + BIAS
    better = tl.maximum(best, tl.max(s, 1))
    p, shrink = tl.exp2(s - better[:, None]), tl.exp2(best - better)
    total = total * shrink + tl.sum(p, 1)
    y = tl.load(v + (start + n)[:, None] * st + d[None, :])
    return tl.dot(p.to(tl.float16), y, acc * shrink[:, None]), total, better

@triton.jit
def begin(q, st, m, d, BM: tl.constexpr, D: tl.constexpr):
    x = tl.load(q + m[:, None] * st + d[None, :])
    return x, tl.zeros([BM, D], tl.float32), tl.zeros([BM], tl.float32), tl.full([BM], -1e6, tl.float32)

@triton.jit
def end(o, acc, total, st, m, d):
    tl.store(o + m[:, None] * st + d[None, :], (acc / tl.maximum(total, 1e-6)[:, None]).to(tl.float16))

# Trips at [from + pid * more ...): their number differs from program to program.
@triton.jit
def counted(q, k, v, o, trips, more, st, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, n, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    x, acc, total, best = begin(q, st, m, d, BM, D)
    for i in range(0, trips + tl.program_id(0) * more):
        acc, total, best = trip(acc, total, best, x, k, v, i * BN, st, n, d, 0)
    end(o, acc, total, st, m, d)

# Two loops in a row, the first of which may have no trip, in a loop over tiles that a program has.
@triton.jit
def tiles(q, k, v, o, count, every, st, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    n, d = tl.arange(0, BN), tl.arange(0, D)
    for tile in range(tl.program_id(0), count, every):
        m = tile * BM + tl.arange(0, BM)
        x, acc, total, best = begin(q, st, m, d, BM, D)
        for start in range(0, tile * BM, BN):
            acc, total, best = trip(acc, total, best, x, k, v, start, st, n, d, 0)
        for start in range(tile * BM, (tile + 1) * BM, BN):
            acc, total, best = trip(acc, total, best, x, k, v, start, st, n, d, 1)
        end(o, acc, total, st, m, d)

# Windows ahead of the pointer do not fit: here those of the first trips or of the last.
@triton.jit
def windows(q, k, v, o, trips, half, st, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ORDER: tl.constexpr):
    m, n, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    x, acc, total, best = begin(q, st, m, d, BM, D)
    for i in range(0, trips):
        block = i - half if ORDER == 0 else half - i
        acc, total, best = trip(acc, total, best, x, k, v, block * BN, st, n, d, 0)
    end(o, acc, total, st, m, d)

# Columns of scores lie across warps: these meet in each trip. They do ahead of the first product, too, by ORDER.
@triton.jit
def meeting(q, k, v, o, trips, unused, st, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ORDER: tl.constexpr):
    m, n, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    x, acc, total, best = begin(q, st, m, d, BM, D)
    largest = tl.zeros([BN], tl.float32)
    for i in range(0, trips):
        bias = 0.0
        if ORDER:
            bias = tl.sum(tl.load(q + m * st + i).to(tl.float32)) * 0.125
        s = tl.dot(x, tl.load(k + d[:, None] + (i * BN + n)[None, :] * st)) * 0.125 + bias
        largest = tl.maximum(largest, tl.max(s, 0))
        p = tl.exp2(s - largest[None, :])
        total += tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + (i * BN + n)[:, None] * st + d[None, :]), acc)
    end(o, acc, total, st, m, d)
"""
BM = 128


PARAMETERS = {"counted": ("trips", "more"), "tiles": ("count", "every"), "windows": ("trips", "half"), "meeting": ("trips", "unused")}


def emitted(folder, name, stage, bn, stages, warps, order, head):
    (folder / "kernel.py").write_text(KERNEL)
    signature = "q=*f16:16,k=*f16:16,v=*f16:16,o=*f16:16,{}=i32,{}=i32".format(*PARAMETERS[name])
    signature += f",st=i32:16,D={head},BM={BM * warps // 8},BN={bn}" + (f",ORDER={order}" if name in ("windows", "meeting") else "")
    command = [PROGRAM, "compile", f"kernel.py::{name}", "--signature", signature, "--target", "sm_90a", "--emit", stage,
               "--num-warps", str(warps), "--num-stages", str(stages)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Kernels:
    """Compiled when they are asked for, once."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def __call__(self, name, bn=64, stages=3, warps=8, order=0, head=128):
        key = name, bn, stages, warps, order, head
        if key not in self.made:
            made = Compiled(self.folder, name, lambda folder, name, stage: emitted(folder, name, stage, bn, stages, warps, order, head))
            made.name, made.bn, made.bm, made.threads, made.order, made.head = name, bn, BM * warps // 8, 32 * warps, order, head
            self.made[key] = made
        return self.made[key]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return Kernels(tmp_path_factory.mktemp("slots"))


def blocks_of(kernel, program, first, second):
    """The first rows of k and v of each trip of a program's one tile, with the scores' bias."""
    bn = kernel.bn
    if kernel.name == "tiles":
        return [(start, 0 if start < program * kernel.bm else 1) for start in range(0, (program + 1) * kernel.bm, bn)]
    if kernel.name == "windows":
        at = [lambda i: i - second, lambda i: second - i][kernel.order]
        return [(at(i) * bn, 0) for i in range(first)]
    return [(i * bn, 0) for i in range(first + (program * second if kernel.name == "counted" else 0))]


def wanted_of(kernel, q, k, v, origin, first, second):
    made = np.zeros(q.shape, np.float64)
    for program in range(len(q) // kernel.bm):
        rows = slice(program * kernel.bm, (program + 1) * kernel.bm)
        blocks = blocks_of(kernel, program, first, second)
        if not blocks:
            continue
        at = [origin + start + np.arange(kernel.bn) for start, _ in blocks]
        scores = np.concatenate([q[rows].astype(np.float64) @ k[i].astype(np.float64).T * 0.125 + bias for i, (_, bias) in zip(at, blocks)], 1)
        if kernel.name == "meeting":
            largest, parts = np.zeros(kernel.bn), []
            for i, s in enumerate(np.split(scores, len(blocks), 1)):
                s = s + q[rows, i].astype(np.float64).sum() * 0.125 * kernel.order
                largest = np.maximum(largest, s.max(0))
                parts.append(np.exp2(s - largest))
            weights = np.concatenate(parts, 1)
        else:
            weights = np.exp2(scores - scores.max(1, keepdims=True))
        made[rows] = weights @ v[np.concatenate(at)].astype(np.float64) / weights.sum(1, keepdims=True)
    return made


def run(kernel, first, second=0, programs=1, grid=None, change=lambda text: text, maps=True, **how):
    """The findings, and how far the result is off."""
    random = np.random.default_rng(first + 7 * second)
    starts = [start for program in range(programs) for start, _ in blocks_of(kernel, program, first, second)] or [0]
    origin = -min(*starts, 0)
    length, stride = origin + max(starts) + kernel.bn, kernel.head + 16

    def matrix(rows):
        made, memory = strided(rows, kernel.head, stride)
        made[...] = random.normal(size=made.shape)
        return made, memory
    (q, in_q), (k, in_k), (v, in_v), (o, in_o) = [matrix(rows) for rows in (programs * kernel.bm, length, length, programs * kernel.bm)]
    slots = [q, k[origin:], v[origin:], o, first, second, stride]
    place = encode(kernel, slots)
    found = machine.run(change(kernel.ptx), [machine.Part(in_q, q), machine.Part(in_k, k[origin:]), machine.Part(in_v, v[origin:]),
                                             machine.Part(in_o, o), first, second, stride, place if maps else 0, 0],
                        grid=(grid or programs, 1, 1), block=(kernel.threads, 1, 1), shared=kernel.shared, step_limit=20_000_000, **how)
    return found, np.abs(o - wanted_of(kernel, q, k, v, origin, first, second)).max()


def check(*arguments, **how):
    found, off = run(*arguments, **how)
    assert found == ""
    assert off < 4e-3


def random_how(seed):
    random = np.random.default_rng(seed)
    return {"schedule": str(random.choice(SCHEDULES)), "copies": str(random.choice(COPIES)), "seed": seed}


@pytest.mark.parametrize("bn, stages, head", [(64, 2, 128), (64, 3, 128), (64, 4, 128), (64, 5, 128), (128, 2, 128), (128, 3, 64)])
def test_any_count_of_trips(kernels, bn, stages, head):
    kernel = kernels("counted", bn, stages, head=head)
    assert "mbarrier.arrive.shared" in kernel.ptx
    for trips in (0, 1, 2, 3, 4, 5, 9):
        check(kernel, trips, change=without_threads, **random_how(100 * stages + trips))
        check(kernel, trips, change=without_boxes, maps=False, **random_how(100 * stages + trips + 50))


@pytest.mark.parametrize("seed", range(9))
def test_random_counts_that_differ_from_program_to_program(kernels, seed):
    random = np.random.default_rng(1000 + seed)
    kernel = kernels("counted", 64, int(random.choice([2, 3, 4])))
    check(kernel, int(random.integers(0, 13)), int(random.integers(0, 4)), programs=int(random.integers(1, 4)), maps=bool(seed % 3),
          **random_how(seed))


def test_four_groups(kernels):
    kernel = kernels("counted", 64, 3, 16, head=64)
    assert "mbarrier.arrive.shared" in kernel.ptx
    for trips in (0, 1, 2, 5, 8):
        for maps in (True, False):
            check(kernel, trips, maps=maps, **random_how(trips))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("maps", [True, False])
def test_loops_in_a_row_and_programs_of_many_tiles(kernels, schedule, maps):
    for count, grid in ((1, 1), (3, 1), (4, 3)):
        check(kernels("tiles"), count, grid, programs=count, grid=grid, maps=maps, schedule=schedule, copies="random", seed=count)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_a_loop_with_a_trip_that_does_not_fit_is_copied_by_all(kernels, order, stages):
    kernel = kernels("windows", 64, stages, order=order)
    for trips in (3, 7):
        for seed in range(2):
            check(kernel, trips, 1, change=without_boxes, **random_how(100 * stages + 10 * trips + seed))
    check(kernel, 5, 4 * order, change=without_threads, **random_how(stages))


def test_no_turns_order_memory_or_hold_a_group_up(kernels):
    assert not re.search(r"bar\.\w+\s+\S+, \d+", kernels("counted").ptx)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ahead", [False, True])
def test_warps_that_meet_in_each_trip(kernels, schedule, ahead):
    kernel = kernels("meeting", order=int(ahead))
    for trips in (0, 1, 2, 5):
        for maps in (True, False):
            check(kernel, trips, maps=maps, schedule=schedule, copies="late", seed=trips)


# --- each part is needed ---

def changed_at(pattern, change, which):
    """Changes one line of those that match; `which`: its number, perhaps from the end."""
    def apply(text):
        lines = text.split("\n")
        found = [i for i, line in enumerate(lines) if re.search(pattern, line)]
        lines[found[which]] = change(lines[found[which]])
        return "\n".join(lines)
    return apply


def gone(line):
    return ""


def other_parity(line):
    return re.sub(r"(mbarrier\.try_wait\S+ \S+ \[\S+\], )(%r\d+);", r"{ .reg .b32 %flip; xor.b32 %flip, \2, 1; \1%flip; }", line)


def passed(line):
    return re.sub(r"mbarrier\.try_wait\S+ (%p\d+), .*;", r"setp.eq.u32 \1, 0, 0;", line)


WAIT, ONE = r"mbarrier\.try_wait", r"mbarrier\.arrive\.shared::cta\.b64 _, \[\S+\], 1;"
FILLED, EMPTY_FOR_ALL, EMPTY_FOR_ONE = 0, 1, 2  # waits in the order of the text
FIRST_COPIES, READS, LATER_COPIES = 0, 1, 2     # arrivals of warps


# Threads that all copy would be late enough without their wait for an empty slot: they have waited for a later filled one.
MUTANTS = {  # with whether the launch has maps
    "no wait for a filled slot": (changed_at(WAIT, passed, FILLED), True),
    "no wait for a filled slot, copied by all": (changed_at(WAIT, passed, FILLED), False),
    "no wait for an empty slot": (changed_at(WAIT, passed, EMPTY_FOR_ONE), True),
    "parity of a filled slot": (changed_at(WAIT, other_parity, FILLED), True),
    "parity of an empty slot": (changed_at(WAIT, other_parity, EMPTY_FOR_ONE), True),
    "parity of an empty slot, copied by all": (changed_at(WAIT, other_parity, EMPTY_FOR_ALL), False),
    "slots are never empty": (changed_at(ONE, gone, READS), True),
    "slots are never empty, copied by all": (changed_at(ONE, gone, READS), False),
    "slots are empty at once": (replaced(r"wgmma\.wait_group\.sync\.aligned 0;(?=(.|\n)*mbarrier\.arrive)", ""), True),
    "the first copies are not told of": (changed_at(ONE, gone, FIRST_COPIES), False),
    "later copies are not told of": (changed_at(ONE, gone, LATER_COPIES), False),
    "the first copies are told of twice": (changed_at(ONE, lambda line: line + line, FIRST_COPIES), False),
    "reads are told of twice": (changed_at(ONE, lambda line: line + line, READS), True),
    "nobody announces": (replaced(r"^\s*@\S+ mbarrier\.arrive\.expect_tx.*$", ""), True),
    "nobody arrives for the others": (replaced(r"^\s*@\S+ mbarrier\.arrive\S+ _, \S+ 7;$", ""), True),
    "no fence behind later copies": (changed_at(r"fence\.proxy\.async", gone, -2), False),
    "no wait for later copies": (changed_at(r"cp\.async\.wait_group", gone, -2), False),
    "fewer arrivals than warps": (replaced(r"(mbarrier\.init\S+ \S+) 8;", r"\1 7;"), True),
    "more arrivals than warps": (replaced(r"(mbarrier\.init\S+ \S+) 8;", r"\1 9;"), True),
    "all lanes arrive": (replaced(r"elect\.sync _\|(%p\d+), -1;", r"setp.eq.u32 \1, 0, 0;"), True),
    "all threads begin signals": (in_all_threads, True),
    "no barrier": (replaced(r"^\s*bar\.sync\s+0;$", ""), True),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_part_is_needed(kernels, mutant):
    change, maps = MUTANTS[mutant]
    killed = False
    for schedule, copies in (("round-robin", "late"), ("apart", "late"), ("random", "random"), ("priority", "at-once")):
        if not killed:
            found, off = run(kernels("counted"), 9, change=change, maps=maps, schedule=schedule, copies=copies, seed=1)
            killed = found != "" or not off < 4e-3
    assert killed
