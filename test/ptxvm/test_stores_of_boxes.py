"""Stores of boxes in loops over tiles: taken where a tile is a window of memory, and only there; right whenever they read and write; and
what holds them together is needed, wait by wait."""
import re
import subprocess

import machine
import numpy as np
import pytest
from tensor_maps import aligned
from test_copies_of_boxes import COPIES, PROGRAM, SCHEDULES, Compiled, encode
from test_slots_handed_on import changed_at, gone

BK = 64
KERNEL = """
import tegula as triton
import tegula.language as tl

@triton.jit
def KIND(a, b, c, M, N, K, sa, sb, sc, P, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    across, k = tl.cdiv(N, BN), tl.arange(0, BK)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, P):
        m, n = tile // across * BM + tl.arange(0, BM), tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros([BM, BN], tl.float32)
        for i in range(0, K, BK):
            x = tl.load(a + m[:, None] * sa + (i + k)[None, :], mask=(m < M)[:, None] & (i + k < K)[None, :], other=0)
            y = tl.load(b + n[None, :] * sb + (i + k)[:, None], mask=(n < N)[None, :] & (i + k < K)[:, None], other=0)
            acc = tl.dot(x, y, acc)
        STORE
"""
STORES = {
    "masked": "tl.store(c + m[:, None] * sc + n[None, :], acc.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])",
    "described": "tl.make_tensor_descriptor(c, [M, N], [sc, 1], [BM, BN]).store([tile // across * BM, tile % across * BN], acc.to(c.dtype.element_ty))",
    "turned": "tl.store(c + n[None, :] * sc + m[:, None], acc.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])",
    # The last tile of a program wins.
    "again": "tl.store(c + tl.arange(0, BM)[:, None] * sc + tl.arange(0, BN)[None, :], acc.to(c.dtype.element_ty))",
    "halves": """l, r = tl.split(tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1)))
        n = tile % across * BN + tl.arange(0, BN // 2)
        tl.store(c + m[:, None] * sc + n[None, :], l.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])
        n += BN // 2
        tl.store(c + m[:, None] * sc + n[None, :], r.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])""",
    # If rows lie closer than a tile is wide, the second half lies over the first one of the next row.
    "close": """l, r = tl.split(tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1)))
        tl.store(c + m[:, None] * sc + tl.arange(0, BN // 2)[None, :], l.to(c.dtype.element_ty))
        tl.store(c + m[:, None] * sc + (tl.arange(0, BN // 2) + BN // 2)[None, :], r.to(c.dtype.element_ty))""",
    "read": """at, inside = c + m[:, None] * sc + n[None, :], (m < M)[:, None] & (n < N)[None, :]
        tl.store(at, (acc + tl.load(at, mask=inside, other=0)).to(c.dtype.element_ty), mask=inside)""",
    "met": """tl.store(c + m[:, None] * sc + n[None, :], acc.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])
        tl.atomic_add(a, 0.0)""",
    "marked": """tl.store(c + m[:, None] * sc + n[None, :], acc.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])
        tl.store(c, 0.0)""",
    "cached": "tl.store(c + m[:, None] * sc + n[None, :], acc.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :], cache_modifier='.cs')",
}
TAKEN = ["masked", "described", "turned", "again", "halves"]


class Kernels:
    """Compiled when they are asked for, once."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def compile(self, name, stage, tile, warps, stages, kind, stride="i32:16"):
        (self.folder / "kernel.py").write_text(KERNEL.replace("KIND", name).replace("STORE", STORES[name]))
        signature = f"a=*f16:16,b=*f16:16,c=*{kind}:16,M=i32,N=i32,K=i32:16,sa=i32:16,sb=i32:16,sc={stride},P=i32"
        what = ["explain"] if stage == "explain" else ["compile", "--emit", stage]
        done = subprocess.run([PROGRAM, *what, f"kernel.py::{name}", "--signature", f"{signature},BM={tile[0]},BN={tile[1]},BK={BK}",
                               "--target", "sm_90a", "--num-warps", str(warps), "--num-stages", str(stages)],
                              cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __call__(self, name, tile=(64, 256), warps=4, stages=3, kind="f16"):
        key = name, tile, warps, stages, kind
        if key not in self.made:
            made = Compiled(self.folder, name, lambda folder, name, stage: self.compile(name, stage, tile, warps, stages, kind))
            made.tile, made.threads, made.name, made.kind = tile, 32 * warps, name, np.float32 if kind == "f32" else np.float16
            self.made[key] = made
        return self.made[key]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return Kernels(tmp_path_factory.mktemp("stores"))


def wanted_of(kernel, a, b, programs):
    made, (height, width) = a.astype(np.float32) @ b.astype(np.float32), kernel.tile
    if kernel.name == "turned":
        return made.T
    if kernel.name != "again":
        return made
    across = -(-b.shape[1] // width)
    last = -(-len(a) // height) * across - 1  # one program
    whole = np.zeros((height, width), np.float32)
    rows, columns = np.arange(last // across * height, (last // across + 1) * height), np.arange(last % across * width, (last % across + 1) * width)
    whole[...] = np.pad(made, ((0, height), (0, width)))[np.ix_(rows, columns)]
    return whole


def run(kernel, m, n, k, programs=1, change=lambda text: text, maps=True, **how):
    """The findings, the result with what lies between its rows, and what it should be."""
    random = np.random.default_rng(m + n + k)

    def matrix(rows, columns, kind=np.float16):
        stride = -(-columns // 16) * 16 + 16
        memory = aligned(np.dtype(kind).itemsize * rows * stride + 64).view(kind)
        memory[:] = np.nan
        return np.lib.stride_tricks.as_strided(memory, (rows, columns), (memory.itemsize * stride, memory.itemsize)), stride, memory
    a, sa, room_a = matrix(m, k)
    bt, sb, room_b = matrix(n, k)
    b = bt.T
    a[...], b[...] = random.integers(-2, 3, a.shape), random.integers(-2, 3, b.shape)
    wanted = wanted_of(kernel, a, b, programs)
    c, sc, room_c = matrix(*wanted.shape, kernel.kind)
    place = encode(kernel, [a, bt, c, m, n, k, sa, sb, sc]) if maps and kernel.maps else 0
    found = machine.run(change(kernel.ptx), [machine.Part(room_a, a), machine.Part(room_b, bt), machine.Part(room_c, c), m, n, k, sa, sb, sc,
                                             programs, place, 0],
                        grid=(programs, 1, 1), block=(kernel.threads, 1, 1), shared=kernel.shared, step_limit=40_000_000, **how)
    untouched = np.count_nonzero(np.isnan(room_c)) == room_c.size - c.size
    return found, np.array(c), wanted, untouched


def check(*arguments, **how):
    found, c, wanted, untouched = run(*arguments, **how)
    assert found == "" and untouched
    np.testing.assert_array_equal(c, wanted)


def trapped(pattern):
    """A program that ends with a finding where it comes to such a line."""
    def change(text):
        changed = re.sub(rf"^(.*{pattern}.*)$", r"trap;\n\1", text, flags=re.M)
        assert changed != text
        return changed
    return change


BOX, STAND_IN = r"cp\.async\.bulk\.tensor\.3d\.global", r"fence\.proxy\.async\.global"


@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("name", TAKEN)
def test_taken(kernels, name, kind):
    simt = kernels(name, kind=kind).simt
    count = 2 if name == "halves" else 1
    assert simt.count("simt.bulk_store") >= count and "tt.store" not in simt
    # The second half meets nothing of the first: it does not wait for it.
    assert simt.count("{done}") == count and simt.count("simt.store_elements") == simt.count("simt.bulk_store")


@pytest.mark.parametrize("name, why", [("read", "may read what it stores"), ("met", "meets other programs"), ("marked", "another store"),
                                       ("cached", "it says how it is cached")])
def test_refused(kernels, name, why):
    said = kernels.compile(name, "explain", (64, 256), 4, 3, "f16")
    assert why in said and "stored by one thread" not in said


def test_rows_that_may_begin_anywhere_are_stored_by_all_threads(kernels):
    said = kernels.compile("masked", "explain", (64, 256), 4, 3, "f16", stride="i32")
    assert "2 bytes only" in said and "stored by one thread" not in said


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("name", TAKEN)
def test_any_order_of_warps_and_stores(kernels, name, schedule, copies):
    programs = 1 if name == "again" else 2
    check(kernels(name), 256, 512, 2 * BK, programs, trapped(STAND_IN), schedule=schedule, copies=copies, seed=3)


@pytest.mark.parametrize("tile, warps, stages, kind", [((128, 256), 8, 3, "f16"), ((128, 256), 8, 3, "f32"), ((128, 128), 8, 4, "bf16"),
                                                       ((128, 128), 8, 4, "f32"), ((64, 128), 4, 3, "f16"), ((64, 64), 4, 4, "f16")])
def test_other_tiles(kernels, tile, warps, stages, kind):
    if kind == "bf16":  # numpy has none: its bits would have to be compared
        assert "simt.bulk_store" in kernels("masked", tile, warps, stages, kind).simt
        return
    kernel = kernels("masked", tile, warps, stages, kind)
    assert "simt.bulk_store" in kernel.simt
    for maps in (True, False):
        check(kernel, 2 * tile[0], 2 * tile[1], 2 * BK, 1, maps=maps, schedule="random", copies="random", seed=stages)


@pytest.mark.parametrize("m, n", [(64, 256), (72, 272), (1, 256), (640, 8), (319, 520), (129, 257), (63, 255)])
@pytest.mark.parametrize("name", ["masked", "described", "turned", "halves"])
def test_bounds_inside_of_a_tile(kernels, name, m, n):
    """Nothing is stored outside of the matrix, and all of it is; also of tiles that no box fits."""
    for maps in (True, False):
        check(kernels(name), m, n, BK, 2, maps=maps, schedule="random", copies="random", seed=m)


def test_launches_without_maps_are_stored_by_all_threads(kernels):
    check(kernels("masked"), 256, 512, 2 * BK, 2, trapped(BOX), maps=False)


def test_tiles_that_store_to_one_place_keep_their_order(kernels):
    for seed in range(4):
        check(kernels("again"), 256, 512, BK, 1, schedule="random", copies="random", seed=seed)
    check(kernels("again"), 256, 512, BK, 1, copies="late")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("copies", COPIES)
def test_halves_that_overlap_keep_their_order(kernels, schedule, copies):
    """They are taken for apart where rows are long enough, which the program asks."""
    kernel = kernels("close", (64, 256))
    assert kernel.simt.count("{done}") == 2  # the second one is where rows are too short
    height, width, k = 64, 256, BK
    random = np.random.default_rng(1)
    a, bt = (random.integers(-2, 3, shape).astype(np.float16) for shape in ((height, k), (width, k)))
    for stride in (128, 256, 272):
        memory = aligned(2 * (height * stride + 256 + 64)).view(np.float16)
        memory[:] = np.nan
        made, wanted = a.astype(np.float32) @ bt.astype(np.float32).T, memory.copy()
        for half in (0, 128):
            for row in range(height):
                wanted[row * stride + half:row * stride + half + 128] = made[row, half:half + 128]
        numbers = [height, width, k, k, k, stride]
        place = encode(kernel, [a, bt, memory, *numbers])
        def store(ptx):
            return machine.run(ptx, [a, bt, memory, *numbers, 1, place, 0], block=(kernel.threads, 1, 1), shared=kernel.shared,
                               schedule=schedule, copies=copies, seed=2)
        assert store(kernel.ptx) == ""
        np.testing.assert_array_equal(memory, wanted)
        if stride == 128:
            assert "copy-under-way" in store(changed_at(PARTS[1], gone, 1)(kernel.ptx))


# --- each part is needed ---

PARTS = [r"cp\.async\.bulk\.commit_group", r"cp\.async\.bulk\.wait_group 0", r"cp\.async\.bulk\.wait_group\.read 0"]


@pytest.mark.parametrize("name, kind", [("masked", "f16"), ("masked", "f32"), ("halves", "f16")])
def test_each_wait_and_commit_is_needed(kernels, name, kind):
    kernel = kernels(name, (128, 256), 8, 3, kind)
    places = [(pattern, which) for pattern in PARTS for which in range(len(re.findall(rf"^.*{pattern}.*$", kernel.ptx, re.M)))]
    assert len(places) >= 3
    if name == "halves":
        places.remove((PARTS[1], 1))  # of rows that are too short: test_halves_that_overlap_keep_their_order
    for pattern, which in places:
        found, c, wanted, _ = run(kernel, 256, 512, BK, 1, changed_at(pattern, gone, which), schedule="random", copies="late", seed=1)
        assert found or not np.array_equal(c, wanted), (pattern, which)


def test_the_fence_and_barriers_around_a_store_are_needed(kernels):
    kernel = kernels("masked")
    lines = kernel.ptx.split("\n")
    first = next(i for i, line in enumerate(lines) if re.search(BOX, line))
    wait = max(i for i in range(first) if "cp.async.bulk.wait_group 0" in lines[i])
    needed = [i for i in range(wait, first) if re.search(r"bar\.sync|barrier\.sync|fence\.proxy\.async\.shared", lines[i])]
    assert len(needed) >= 3  # a barrier behind the wait; a fence and a barrier behind the tile's way to the buffer
    fences = [i for i in needed if "fence" in lines[i]]
    for gone_line in [fences[-1], *(i for i in needed if "fence" not in lines[i])]:
        text = "\n".join("" if i == gone_line else line for i, line in enumerate(lines))
        found = [run(kernel, 256, 512, BK, 1, lambda _: text, schedule=schedule, copies="late", seed=seed)[0]
                 for schedule in SCHEDULES for seed in range(2)]
        assert any(found), lines[gone_line]
