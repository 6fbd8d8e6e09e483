"""Copies of boxes in products: taken where a tile is a window of memory, and only there; right whenever they arrive; and what holds
them together is needed, bit by bit."""
import os
import re
import subprocess
from pathlib import Path

import machine
import numpy as np
import pytest
from tensor_maps import aligned, encoded, small_integers

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "bin" / "tegula"
BM, BN, BK = 64, 256, 64
COPIES, SCHEDULES = ["late", "at-once", "random"], ["round-robin", "random", "priority", "apart"]

KERNEL = """
import tegula as triton
import tegula.language as tl

@triton.jit
def product(a, b, c, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    x, y = a + (m % M)[:, None] * sa + k[None, :], b + k[:, None] * sb + (n % N)[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(x, mask=k[None, :] < K - i * BK, other=0), tl.load(y, mask=k[:, None] < K - i * BK, other=0), acc)
        x += BK
        y += BK * sb
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

@triton.jit
def bounded(a, b, c, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * sa + (i + k)[None, :], mask=(m < M)[:, None] & (i + k < K)[None, :], other=0)
        y = tl.load(b + (i + k)[:, None] * sb + n[None, :], mask=(i + k < K)[:, None] & (n < N)[None, :], other=0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

@triton.jit
def quartered(a, b, c, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K * 4, BK):
        x = tl.load(a + m[:, None] * sa + (i + k)[None, :], mask=(m < M)[:, None] & (i + k < K * 4)[None, :], other=0)
        y = tl.load(b + (i + k)[:, None] * sb + n[None, :], mask=(i + k < K * 4)[:, None] & (n < N)[None, :], other=0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

@triton.jit
def described(a, b, c, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM, tl.program_id(1) * BN, tl.arange(0, BK)
    in_a = tl.make_tensor_descriptor(a, [M, K], [sa, 1], [BM, BK])
    in_b = tl.make_tensor_descriptor(b, [K, N], [sb, 1], [BK, BN])
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K, BK):
        acc = tl.dot(in_a.load([m, i]), in_b.load([i, n]), acc)
    m, n = m + tl.arange(0, BM), n + tl.arange(0, BN)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

@triton.jit
def crossed(a, b, c, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, (K + 2 * BK - 1) // (2 * BK) * 2):
        at = (i ^ 1) * BK
        x = tl.load(a + m[:, None] * sa + (at + k)[None, :], mask=(m < M)[:, None] & (at + k < K)[None, :], other=0)
        y = tl.load(b + (at + k)[:, None] * sb + n[None, :], mask=(at + k < K)[:, None] & (n < N)[None, :], other=0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

@triton.jit
def around(a, b, c, M, N, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, 5):
        at = i * (K * 16777216) + k  # K is 64: 0, 2^30, -2^31, -2^30 and 0 again
        x = tl.load(a + m[:, None] * sa + at[None, :], mask=(at < K)[None, :] & (at >= 0)[None, :], other=0)
        y = tl.load(b + k[:, None] * sb + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

@triton.jit
def attention(q, k, v, o, T, st, sh, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, MASKED: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * sh
    q += head
    k += head
    v += head
    o += head
    m, n, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + m[:, None] * st + d[None, :], mask=(m < T)[:, None], other=0)
    kp, vp = k + d[:, None] + n[None, :] * st, v + n[:, None] * st + d[None, :]
    best, total = tl.full([BM], float("-inf"), tl.float32), tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, T, BN):
        inside = start + n < T
        s = tl.dot(x, tl.load(kp, mask=inside[None, :], other=0) if MASKED else tl.load(kp)) * 0.125
        if MASKED:
            s = tl.where(inside[None, :], s, float("-inf"))
        better = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp2(s - better[:, None]), tl.exp2(best - better)
        total = total * shrink + tl.sum(p, 1)
        y = tl.load(vp, mask=inside[:, None], other=0) if MASKED else tl.load(vp)
        acc = tl.dot(p.to(tl.float16), y, acc * shrink[:, None])
        best = better
        kp += BN * st
        vp += BN * st
    tl.store(o + m[:, None] * st + d[None, :], (acc / total[:, None]).to(tl.float16), mask=(m < T)[:, None])
"""
# The product whose rows are clamped in place of wrapped.
KERNEL += "\n@triton.jit\n" + re.search(r"def product.*?(?=@)", KERNEL, re.S)[0].replace("product", "clamped").replace("(m % M)", "tl.minimum(m, M - 1)")


def emitted(folder, name, stage, bm=BM, bn=BN, bk=BK, warps=4, kind="f16", stages=3):
    (folder / "kernel.py").write_text(KERNEL)
    k = "i32" if name == "quartered" else "i32:16"
    signature = f"a=*{kind}:16,b=*{kind}:16,c=*f32:16,M=i32,N=i32:16,K={k},sa=i32:16,sb=i32:16,BM={bm},BN={bn},BK={bk}"
    command = [PROGRAM, "compile", f"kernel.py::{name}", "--signature", signature, "--target", "sm_90a", "--emit", stage,
               "--num-warps", str(warps), "--num-stages", str(stages)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def emitted_attention(folder, stage, head=128, bn=64, warps=8, masked=False, source=KERNEL):
    (folder / "kernel.py").write_text(source)
    signature = f"q=*f16:16,k=*f16:16,v=*f16:16,o=*f16:16,T=i32,st=i32:16,sh=i32:16,D={head},BM=128,BN={bn},MASKED={masked}"
    command = [PROGRAM, "compile", "kernel.py::attention", "--signature", signature, "--target", "sm_90a", "--emit", stage,
               "--num-warps", str(warps)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Compiled:
    tile, threads = (BM, BN), 128

    def __init__(self, folder, name, emit=emitted):
        self.ptx, self.simt = emit(folder, name, "ptx"), emit(folder, name, "simt")
        self.shared = int(re.search(r"simt.shared_bytes = (\d+)", self.simt)[1])
        maps = re.search(r"simt.copy_maps = \[(.*?)\]", self.simt)
        self.maps = [list(map(int, text.split(","))) for text in re.findall(r"array<i64: (.*?)>", maps[1])] if maps else []


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")
    return {name: Compiled(folder, name) for name in ("product", "clamped", "bounded", "described", "crossed", "around", "quartered")}


class Alone(Compiled):
    """A product of fewer columns whose slots leave no room for a second program; it starts ahead of its trip's boxes."""
    tile, threads = (128, 128), 256

    def __init__(self, folder, name):
        super().__init__(folder, name, lambda *kernel: emitted(*kernel, *self.tile, BK, warps=8, stages=4))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return {name: Alone(tmp_path_factory.mktemp("alone"), name) for name in ("product", "bounded")}


def run(kernel, m, n, k, change=lambda text: text, maps=True, pad=8, shift=0, unit=1, **how):
    """The findings, the result and what it should be, of matrices whose rows are a little apart; the kernel counts K in units."""
    random = np.random.default_rng(m + n + k)
    a, sa, room_a = small_integers(random, m, k, pad, shift)
    b, sb, room_b = small_integers(random, k, n, pad, shift)
    c = np.full((m, n), 9, np.float32)
    slots = [a, b, c, m, n, k // unit, sa, sb]
    place = encode(kernel, slots)
    found = machine.run(change(kernel.ptx), [machine.Part(room_a, a), machine.Part(room_b, b), c, m, n, k // unit, sa, sb, place if maps else 0, 0],
                        grid=(-(-m // kernel.tile[0]), -(-n // kernel.tile[1]), 1), block=(kernel.threads, 1, 1), shared=kernel.shared,
                        step_limit=20_000_000, **how)
    return found, c, a.astype(np.float32) @ b.astype(np.float32)


def encode(kernel, slots):
    """The maps of a launch with these arguments, as they lie in memory."""
    made = []
    for pointer, stride_of, narrow, scale, size, columns, rows, box_columns, box_rows in kernel.maps:
        assert narrow == 1
        made.append(encoded(slots[pointer], (1, 1), box_columns * size, rank=3, element_bytes=size,
                            strides=[slots[stride_of] * scale, 16, 0, 0], extents=[columns, rows, 2**31, 1, 1],
                            box_extents=[box_columns, box_rows, 1, 1, 1]))
    place = aligned(128 * len(made))
    place[:] = np.concatenate(made)
    return place


def replaced(pattern, instead, count=0):
    def change(text):
        changed, number = re.subn(pattern, instead, text, count=count, flags=re.M)
        assert number
        return changed
    return change


without_threads = replaced(r"^\s*cp\.async\.cg.*$", "trap;")  # copies that all threads make
without_boxes = replaced(r"^(\s*@\S+) cp\.async\.bulk.*$", r"\1 trap;")


@pytest.mark.parametrize("shape, warps, stages, are_boxes", [
    ((64, 256, 64), 4, 3, True), ((64, 256, 32), 4, 3, True), ((128, 256, 64), 8, 3, True), ((128, 256, 32), 8, 3, False),
    ((256, 128, 64), 8, 3, False), ((128, 128, 64), 4, 3, False), ((128, 128, 64), 8, 3, False), ((128, 128, 64), 4, 4, True),
    ((128, 128, 64), 8, 4, True), ((128, 128, 32), 4, 4, False), ((64, 128, 64), 4, 4, False)])
def test_boxes_are_for_wide_products_and_for_programs_alone(tmp_path, shape, warps, stages, are_boxes):
    for kind in ("f16", "bf16"):
        assert ("cp.async.bulk" in emitted(tmp_path, "product", "ptx", *shape, warps, kind, stages)) == are_boxes


@pytest.mark.parametrize("name", ["product", "bounded"])
def test_products_of_programs_alone_start_ahead_of_boxes(alone, kernels, name):
    for kernel, begins in ((alone[name], "simt.dot_async"), (kernels[name], "simt.bulk_copy")):
        loop = kernel.simt[kernel.simt.index("scf.for"):]
        assert re.search(r"simt\.(dot_async|bulk_copy)", loop)[0] == begins


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("name", ["product", "bounded"])
@pytest.mark.parametrize("m, n, k", [(128, 256, 7 * BK), (128, 128, BK), (128, 128, 5 * BK + 16)])
def test_products_ahead_of_boxes_are_right(alone, name, m, n, k, copies):
    for schedule in SCHEDULES:
        found, c, wanted = run(alone[name], m, n, k, without_threads, schedule=schedule, copies=copies, seed=5)
        assert found == ""
        np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("m, n, k, maps", [(128 + 8, 128, 6 * BK, True), (100, 144, 3 * BK, True), (128, 128, 6 * BK, False)])
def test_products_ahead_of_copies_by_all_threads_are_right(alone, m, n, k, maps):
    found, c, wanted = run(alone["product"], m, n, k, maps=maps, schedule="random", copies="random", seed=2)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)


def test_maps_are_fetched_behind_all_fences(tmp_path):
    """A fence empties the instruction cache and waits for the fetches ahead of it: each costs, and between the two it costs twice."""
    for text in (emitted(tmp_path, "product", "ptx"), emitted_attention(tmp_path, "ptx")):
        order = re.findall(r"^\s*@\S+ (fence\.proxy|prefetch)\.tensormap", text, re.M)
        assert order == ["fence.proxy"] * 2 + ["prefetch"] * 2


WHOLE = (2 * BM, BN, 5 * BK)


def test_maps_in_memory_are_fenced(kernels):
    for count in (1, 2):
        change = replaced(r"^\s*@\S+ fence\.proxy\.tensormap.*$", "", count)
        assert run(kernels["product"], *WHOLE, change)[0].count("missing-fence: its tensor map") >= count



@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", ["product", "clamped", "bounded", "described"])
def test_whole_tiles_come_in_boxes(kernels, name, schedule, copies):
    found, c, wanted = run(kernels[name], *WHOLE, without_threads, schedule=schedule, copies=copies, seed=3)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("name", ["product", "bounded", "described"])
@pytest.mark.parametrize("m, n, k", [(BM, BN, BK), (BM, BN, 16), (BM, BN, 3 * BK + 16), (BM, BN, 4 * BK + 48), (2 * BM, BN, 2 * BK + 32)])
def test_a_tail_of_k_lies_outside_of_the_window(kernels, name, m, n, k):
    change = without_threads if k >= BK else lambda text: text  # the window of a tile at the very beginning would begin ahead of it
    found, c, wanted = run(kernels[name], m, n, k, change)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("m, n, k", [(BM + 8, BN, 2 * BK), (2 * BM - 1, 2 * BN - 16, BK + 16), (5, 16, 16), (5, 16, 5 * BK)])
@pytest.mark.parametrize("name", ["bounded", "described", "crossed"])
def test_bounds_of_rows_and_columns_are_those_of_the_window(kernels, name, m, n, k):
    found, c, wanted = run(kernels[name], m, n, k)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("k", [4 * BK, 4 * BK + 20, 4 * BK + 24])
def test_of_columns_that_end_between_places_the_last_tile_is_copied_by_all_threads(kernels, k):
    found, c, wanted = run(kernels["quartered"], BM, BN, k, unit=4)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)
    assert ("trap" in run(kernels["quartered"], BM, BN, k, without_threads, unit=4)[0]) == (k % 8 != 0)
    assert "trap" in run(kernels["quartered"], BM, BN, k, without_boxes, unit=4)[0]


def test_whether_tiles_fit_is_asked_ahead_of_the_loop_where_it_can_be(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    signature = "a=*f16:16,b=*f16:16,c=*f32:16,M=i32,N=i32:16,K=i32:16,sa=i32:16,sb=i32:16,BM=64,BN=256,BK=64"
    for name, in_each_trip in {"product": False, "clamped": False, "bounded": False, "described": False, "around": False, "crossed": True}.items():
        said = subprocess.run([PROGRAM, "explain", f"kernel.py::{name}", "--signature", signature, "--target", "sm_90a"], cwd=tmp_path,
                              capture_output=True, text=True).stdout
        assert "2 loads are copied by one thread in boxes" in said
        assert (", which each trip asks" in said) == in_each_trip


def test_a_trip_whose_offset_wraps_around_between_the_first_and_the_last_has_its_own_tile(kernels):
    found, c, wanted = run(kernels["around"], BM, BN, BK)
    assert found == ""
    np.testing.assert_array_equal(c, 2 * wanted)


@pytest.mark.parametrize("m, n, k", [(BM + 8, BN, 2 * BK), (BM - 1, BN, BK), (BM, BN + 48, BK + 16), (10, 32, 3 * BK)])
@pytest.mark.parametrize("name", ["product", "clamped"])
def test_tiles_that_wrap_around_or_are_clamped_are_copied_by_all_threads(kernels, name, m, n, k):
    found, c, wanted = run(kernels[name], m, n, k)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)
    found, _, _ = run(kernels[name], m, n, k, without_threads)
    assert "trap" in found


@pytest.mark.parametrize("name", ["product", "bounded"])
def test_launches_without_maps_are_copied_by_all_threads(kernels, name):
    found, c, wanted = run(kernels[name], *WHOLE, without_boxes, maps=False)
    assert found == ""
    np.testing.assert_array_equal(c, wanted)


def in_all_threads(text):
    """The predicate of the thread that begins signals holds everywhere."""
    predicate = re.search(r"@(%p\d+) mbarrier\.init", text)[1]
    return replaced(rf"^\s*setp\.\S+\s+{predicate}, (%r\d+), .*$", rf"setp.eq.b32 {predicate}, \1, \1;")(text)


ORDER_MUTANTS = {
    "no wait": replaced(r"mbarrier\.try_wait\.parity\.shared::cta\.b64 (%p\d+), .*;", r"setp.eq.u32 \1, %r1, %r1;"),
    "no barrier": replaced(r"^\s*bar\.sync.*$", ""),
    "products are not waited for": replaced(r"wgmma\.wait_group\.sync\.aligned [01];", "wgmma.wait_group.sync.aligned 7;"),
    "nobody arrives": replaced(r"^\s*@\S+ mbarrier\.arrive.*$", "", 1),
}


@pytest.mark.parametrize("mutant", ORDER_MUTANTS)
def test_each_part_of_a_product_ahead_of_boxes_is_needed(alone, mutant):
    killed = False
    for schedule, copies in (("round-robin", "late"), ("random", "random"), ("apart", "at-once")):
        found, c, wanted = run(alone["product"], 128, 128, 9 * BK, ORDER_MUTANTS[mutant], schedule=schedule, copies=copies, seed=1)
        killed |= found != "" or not np.array_equal(c, wanted)
    assert killed


MUTANTS = {
    "no wait": replaced(r"mbarrier\.try_wait\.parity\.shared::cta\.b64 (%p\d+), .*;", r"setp.eq.u32 \1, %r1, %r1;"),
    "fewer bytes announced": replaced(r"selp\.b32 (\s*%r\d+), 40960, 0", r"selp.b32 \1, 40944, 0"),
    "more bytes announced": replaced(r"selp\.b32 (\s*%r\d+), 40960, 0", r"selp.b32 \1, 40976, 0"),
    "signals are not published": replaced(r"^\s*@\S+ fence\.mbarrier_init.*$", ""),
    "signals are not initialised": replaced(r"^\s*@\S+ mbarrier\.init.*$", "", 1),
    "nobody arrives": replaced(r"^\s*@\S+ mbarrier\.arrive.*$", "", 1),
    "no barrier": replaced(r"^\s*bar\.sync.*$", ""),
    "other place in the buffer": replaced(r"^(\s*@\S+ cp\.async\.bulk[^\[]*\[)([^\]]*)(\])", r"\1\2+1024\3", 1),
    "all threads begin signals": in_all_threads,
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_part_is_needed(kernels, mutant):
    killed = False
    for schedule, copies in (("round-robin", "late"), ("random", "random"), ("apart", "late")):
        found, c, wanted = run(kernels["product"], BM, BN, 6 * BK, MUTANTS[mutant], schedule=schedule, copies=copies, seed=1)
        killed |= found != "" or not np.array_equal(c, wanted)
    assert killed


# --- attention: heads begin where scalars that were added to the pointers say, and the second product runs into the next trip ---------

D, HEADS = 128, 2


@pytest.fixture(scope="module")
def attention(tmp_path_factory):
    return Compiled(tmp_path_factory.mktemp("attention"), "attention", lambda folder, _, stage: emitted_attention(folder, stage))


def attend(kernel, length, change=lambda text: text, maps=True, count=HEADS, **how):
    """The findings, and how far the result is off."""
    random = np.random.default_rng(length)
    stride, head = D + 16, length * (D + 16) + 32

    def heads():
        memory = aligned(2 * count * head + 64).view(np.float16)
        memory[:] = np.nan
        made = np.lib.stride_tricks.as_strided(memory, (count, length, D), (2 * head, 2 * stride, 2))
        made[...] = random.normal(size=made.shape)
        return made, memory
    (q, in_q), (k, in_k), (v, in_v), (o, in_o) = heads(), heads(), heads(), heads()
    slots = [q, k, v, o, length, stride, head]
    place = encode(kernel, slots)
    found = machine.run(change(kernel.ptx), [machine.Part(in_q, q), machine.Part(in_k, k), machine.Part(in_v, v), machine.Part(in_o, o),
                                             length, stride, head, place if maps else 0, 0],
                        grid=(-(-length // 128), count, 1), block=(256, 1, 1), shared=kernel.shared, step_limit=20_000_000, **how)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * 0.125
    weights = np.exp2(scores - scores.max(2, keepdims=True))
    wanted = weights @ v.astype(np.float64) / weights.sum(2, keepdims=True)
    return found, np.abs(o - wanted).max()


@pytest.mark.parametrize("head, bn, warps, masked, are_boxes", [(128, 64, 8, False, True), (128, 128, 8, False, True), (128, 64, 8, True, True),
                                                                (64, 128, 8, False, True), (64, 64, 4, False, False)])
def test_boxes_are_for_attention_with_wide_heads(tmp_path, head, bn, warps, masked, are_boxes):
    assert ("cp.async.bulk" in emitted_attention(tmp_path, "ptx", head, bn, warps, masked)) == are_boxes


@pytest.fixture(scope="module")
def masked_attention(tmp_path_factory):
    return Compiled(tmp_path_factory.mktemp("masked"), "attention",
                    lambda folder, _, stage: emitted_attention(folder, stage, masked=True))


@pytest.mark.parametrize("length", [64, 90, 200, 320])
def test_bounds_of_heads_are_those_of_the_window(masked_attention, length):
    found, off = attend(masked_attention, length, without_threads, count=1, schedule="random", copies="random", seed=length)
    assert found == ""
    assert off < 4e-3


def test_a_head_that_is_shorter_than_a_tile_is_copied_by_all_threads(masked_attention):
    found, off = attend(masked_attention, 40, count=1)
    assert found == ""
    assert off < 4e-3
    assert "trap" in attend(masked_attention, 40, without_threads, count=1)[0]


@pytest.mark.parametrize("copies, schedule", [("late", "round-robin"), ("random", "random"), ("late", "apart")])
def test_heads_come_in_boxes(attention, copies, schedule):
    found, off = attend(attention, 256, without_threads, schedule=schedule, copies=copies, seed=5)
    assert found == ""
    assert off < 4e-3


def test_attention_without_maps_is_copied_by_all_threads(attention):
    found, off = attend(attention, 192, without_boxes, maps=False)
    assert found == ""
    assert off < 4e-3


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_threads_wrote_where_boxes_go_is_fenced_off(tmp_path, schedule):
    """The query is computed and changes its layout in the memory that the first boxes come to."""
    source = KERNEL.replace("x = tl.load(q", "x = -tl.load(q").replace("* 0.125", "* -0.125")
    assert source.count("-tl.load") == source.count("-0.125") == 1
    kernel = Compiled(tmp_path, "attention", lambda folder, _, stage: emitted_attention(folder, stage, source=source))
    found, off = attend(kernel, 256, without_threads, count=1, schedule=schedule, copies="random", seed=7)
    assert found == ""
    assert off < 4e-3


@pytest.mark.parametrize("mutant", ["no wait", "fewer bytes announced", "nobody arrives", "no barrier", "one lane too many"])
def test_each_part_of_attention_is_needed(attention, mutant):
    bytes_of_trip = 2 * 2 * D * 64
    change = {**MUTANTS, "fewer bytes announced": replaced(rf"mov\.b32 (\s*%r\d+), {bytes_of_trip};", rf"mov.b32 \1, {bytes_of_trip - 16};"),
              "one lane too many": replaced(r"elect\.sync _\|(%p\d+), -1;", r"setp.eq.u32 \1, %r1, %r1;")}[mutant]
    killed = False
    for schedule, copies in (("round-robin", "late"), ("apart", "late"), ("random", "random")):
        if not killed:
            found, off = attend(attention, 384, change, count=1, schedule=schedule, copies=copies, seed=1)
            killed = found != "" or not off < 4e-3
    assert killed
