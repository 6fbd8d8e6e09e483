"""Bulk stores on the machine: what a box stores, and what it leaves alone; groups and waits; wrong use is found."""
import itertools
import re

import machine
import numpy as np
import pytest
from tensor_maps import aligned, encoded
from test_bulk_copies import BOXES, COPIES, HEAD, SCHEDULES, numbers, replaced, without

# All threads fill `bytes` bytes of shared memory from `data`; one thread stores them, in one store or two.
TEXT = HEAD + """.visible .entry store(.param .u64 map, .param .u64 out, .param .u64 data)
{{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
.shared .align 1024 .b8 tile[{room}];
ld.param.u64 %rd1, [map]; fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [data];
mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mov.u32 %r3, %r0;
FILL: shl.b32 %r4, %r3, 2; setp.ge.u32 %p3, %r4, {bytes};
@%p3 bra FULL;
add.u32 %r5, %r1, %r4; cvt.u64.u32 %rd4, %r4; add.s64 %rd5, %rd3, %rd4; ld.global.b32 %r6, [%rd5]; st.shared.b32 [%r5], %r6;
add.u32 %r3, %r3, 64;
bra FILL;
FULL:
fence.proxy.async.shared::cta; // fence
bar.sync 0; // barrier
setp.ne.u32 %p1, %r0, 0;
@%p1 bra END;
{store} // store
cp.async.bulk.commit_group; // commit
{more}
cp.async.bulk.wait_group.read 0; // wait
END: bar.sync 0;
{end}
ret;
}}
"""
TENSOR = "cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [%rd1, {{{corner}}}], [%r1];"
PLAIN = "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], {bytes};"
TWICE = "cp.async.bulk.global.shared::cta.bulk_group [%rd2+{at}], [%r1+{from_}], {bytes}; cp.async.bulk.commit_group;"


def text(bytes, store, more="", end=""):
    return TEXT.format(room=-(-bytes // 1024) * 1024, bytes=bytes, store=store, more=more, end=end)


def stored(tensor, data, box, corner, swizzle):
    """The tensor behind a store of the box at `corner`, of which shared memory has these bytes."""
    result, row = tensor.copy(), box[-1] * tensor.itemsize
    for number, place in enumerate(itertools.product(*map(range, box[:-1]))):
        for x in range(box[-1]):
            at = tuple(c + p for c, p in zip(corner, (*place, x)))
            byte = number * row + x * tensor.itemsize
            if swizzle:
                byte ^= (byte // 128 % (swizzle // 16)) * 16
            if all(0 <= a < extent for a, extent in zip(at, tensor.shape)):
                result[at] = data[byte:byte + tensor.itemsize].view(tensor.dtype)[0]
    return result


def run_box(tensor, box, corner, swizzle=0, change=lambda ptx: ptx, map_change={}, **run):
    bytes = int(np.prod(box)) * tensor.itemsize
    data = aligned(bytes)
    data[:] = np.random.default_rng(bytes).integers(1, 60, bytes)
    wanted = stored(tensor, data, box, corner, swizzle)
    store = TENSOR.format(rank=len(box), corner=", ".join(map(str, corner[::-1])))
    found = machine.run(change(text(bytes, store)), [encoded(tensor, box, swizzle, **map_change), tensor, data], block=(64, 1, 1), **run)
    return found, wanted


@pytest.mark.parametrize("shape, dtype, box, corners", BOXES, ids=lambda value: str(value) if isinstance(value, tuple) else None)
@pytest.mark.parametrize("copies", COPIES)
def test_what_lies_inside_is_stored_and_nothing_else(shape, dtype, box, corners, copies):
    for corner in corners:
        for swizzle in (span for span in (0, 32, 64, 128) if not span or box[-1] * np.dtype(dtype).itemsize <= span):
            tensor = numbers(shape, dtype)
            found, wanted = run_box(tensor, box, corner, swizzle, copies=copies)
            assert found == ""
            np.testing.assert_array_equal(tensor, wanted, err_msg=f"{corner}, swizzle {swizzle}")


def run_bytes(store, more="", end="", bytes=256, change=lambda ptx: ptx, **run):
    out, data = aligned(1024), aligned(bytes)
    data[:] = np.arange(bytes) % 251 + 1
    found = machine.run(change(text(bytes, store.format(bytes=bytes), more, end)), [aligned(128), out, data], block=(64, 1, 1), **run)
    return found, out, data


@pytest.mark.parametrize("copies", COPIES)
def test_plain_bytes(copies):
    for bytes in (16, 48, 256):
        found, out, data = run_bytes(PLAIN, bytes=bytes, copies=copies)
        assert found == "" and np.array_equal(out[:bytes], data) and not out[bytes:].any()


WRONG = {
    "no fence": (without("fence"), {"missing-fence"}),
    "no barrier": (without("barrier"), {"race", "missing-fence"}),
    "no commit": (without("commit"), {"copy-unfinished"}),
    "no wait": (without("wait"), {"copy-unfinished"}),
    "a wait that lets the last group go on": (replaced("wait_group.read 0", "wait_group.read 1"), {"copy-unfinished"}),
    "a source that is not aligned": (replaced("[%r1];", "[%r1+16];"), {"misaligned"}),
    "a source that ends outside": (replaced("[%r1];", "[%r1+1024];"), {"out-of-bounds"}),
    "a source that nobody has written": (replaced("bra FULL;\nadd", "bra FULL;\nbra FULL;\nadd"), {"uninitialised"}),
    "a source that the thread writes too early": (replaced("bulk.commit_group; // commit", "bulk.commit_group; st.shared.b32 [%r1], %r0;"),
                                                  {"copy-under-way"}),
    "a source that another warp writes too early": (replaced("@%p1 bra END;\ncp", "@%p1 st.shared.b32 [%r1], %r0;\n@%p1 bra END;\ncp"),
                                                    {"copy-under-way", "race"}),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("copies", COPIES)
def test_wrong_use_is_found(name, copies):
    change, kinds = WRONG[name]
    for schedule in SCHEDULES:
        found, _ = run_box(numbers((9, 40), np.float32), (4, 8), (0, 0), change=change, copies=copies, schedule=schedule, seed=3)
        assert any(f"{kind}: " in found for kind in kinds), found


def test_maps_and_sizes_that_cannot_be_are_found():
    tensor = numbers((9, 40), np.float32)
    for change, kind in ((dict(mark=1), "bad-operand"), (dict(rank=3), "bad-operand"), (dict(extents=[40, 20, 1, 1, 1]), "out-of-bounds")):
        found, _ = run_box(tensor, (4, 8), (8, 0), map_change=change)
        assert f"{kind}: " in found, change
    found, *_ = run_bytes("mov.u32 %r9, 24; cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], %r9;")
    assert "bad-operand: stores 24 bytes" in found
    found, *_ = run_bytes("cp.async.bulk.global.shared::cta.bulk_group [%rd2+1008], [%r1], 32;")
    assert "out-of-bounds: " in found


READ = "ld.global.b32 %r7, [%rd2];"


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("more, wanted", [
    # Behind the read the source may be written; the destination may be touched behind all of the store.
    ("cp.async.bulk.wait_group.read 0; st.shared.b32 [%r1], %r0;", ""),
    (f"cp.async.bulk.wait_group.read 0; {READ}", "copy-under-way: reads 4 bytes of global memory"),
    (READ, "copy-under-way: reads 4 bytes of global memory"),
    (f"cp.async.bulk.wait_group 0; {READ}", ""),
    ("cp.async.bulk.wait_group.read 0; st.global.b32 [%rd2], %r0;", "copy-under-way: writes 4 bytes of global memory"),
    ("cp.async.bulk.wait_group 0; st.global.b32 [%rd2], %r0;", ""),
    # A second store: of other bytes, of the same ones, and of the same ones behind the first.
    (TWICE.format(at=256, from_=0, bytes=128), ""),
    (TWICE.format(at=128, from_=0, bytes=128), "copy-under-way: writes"),
    ("cp.async.bulk.wait_group.read 0; " + TWICE.format(at=128, from_=0, bytes=128), "copy-under-way: writes"),
    ("cp.async.bulk.wait_group 0; " + TWICE.format(at=128, from_=0, bytes=128), ""),
    # With two groups a wait for all but the last one frees the first one's bytes alone.
    (TWICE.format(at=512, from_=128, bytes=128) + " cp.async.bulk.wait_group.read 1; st.shared.b32 [%r1+{here}], %r0;".format(here=0), ""),
    (TWICE.format(at=512, from_=128, bytes=128) + " cp.async.bulk.wait_group.read 1; st.shared.b32 [%r1+{here}], %r0;".format(here=128),
     "copy-under-way: writes 4 bytes of shared memory"),
])
def test_waits_say_what_may_be_touched(more, wanted, copies):
    store = "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], " + ("128;" if "+512" in more else "{bytes};")
    for schedule in ("round-robin", "random"):
        found, *_ = run_bytes(store, more, copies=copies, schedule=schedule, seed=1)
        assert wanted in found and bool(found) == bool(wanted), found


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("end, wanted", [("@%p1 st.shared.b32 [%r1], %r0;", ""), (f"@%p1 {READ}", "copy-under-way: reads")])
def test_others_are_ordered_by_a_barrier_behind_the_wait(end, wanted, copies):
    """Behind the read they may write the source, and not yet read what is stored."""
    found, *_ = run_bytes(PLAIN, end=end, copies=copies, change=replaced("@%p1 st", "setp.eq.u32 %p1, %r0, 40;\n@%p1 st") if "st." in end else lambda ptx: ptx)
    assert wanted in found and bool(found) == bool(wanted), found
    if not wanted:  # without the barrier nothing orders them
        found, *_ = run_bytes(PLAIN, end=end, copies=copies, schedule="random",
                              change=lambda ptx: re.sub(r"END: bar.sync 0;", "END: setp.eq.u32 %p1, %r0, 40;", ptx))
        assert "race: " in found or "copy-under-way: " in found


def test_a_store_may_read_as_late_as_its_wait_and_write_as_late_as_the_end():
    """Without a wait the bytes that are written behind the store's issue are what arrives, which is found."""
    found, out, data = run_bytes(PLAIN, "st.shared.b32 [%r1], %r0;", copies="late")
    assert "copy-under-way" in found and not out[:4].any() and np.array_equal(out[4:256], data[4:])
    found, out, data = run_bytes(PLAIN, "st.shared.b32 [%r1], %r0;", copies="at-once")
    assert "copy-under-way" in found and np.array_equal(out[:256], data)


def test_a_store_of_no_bytes_touches_nothing():
    found, out, _ = run_bytes("cp.async.bulk.global.shared::cta.bulk_group [%rd2+1024], [%r1], 0;")
    assert found == "" and not out.any()


def test_of_stores_that_nothing_orders_the_first_may_be_the_last():
    store, second = PLAIN.replace("{bytes}", "128"), TWICE.format(at=0, from_=128, bytes=128)
    for copies, first in (("late", True), ("at-once", False)):
        found, out, data = run_bytes(store, second + " cp.async.bulk.wait_group 0;", copies=copies)
        assert "copy-under-way: writes" in found and np.array_equal(out[:128], data[:128] if first else data[128:])


BACK = """mov.u32 %r8, back; mov.u32 %r9, signal; mbarrier.init.shared::cta.b64 [%r9], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 128;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd1, {0, 0}], [%r9];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT;"""


@pytest.mark.parametrize("wait, wanted", [("cp.async.bulk.wait_group 0;", ""), ("cp.async.bulk.wait_group.read 0;", "copy-under-way: copies bytes")])
@pytest.mark.parametrize("copies", COPIES)
def test_a_box_is_copied_back_behind_all_of_its_store(wait, wanted, copies):
    room = ".shared .align 1024 .b8 back[1024]; .shared .align 8 .b8 signal[8];\n.shared .align 1024 .b8 tile"
    change = lambda ptx: ptx.replace(".shared .align 1024 .b8 tile", room).replace("// commit", f"// commit\n{wait}\n{BACK}")
    found, _ = run_box(numbers((9, 40), np.float32), (4, 8), (0, 0), change=change, copies=copies)
    assert wanted in found and bool(found) == bool(wanted), found


@pytest.mark.parametrize("corner", [(0, 13), (0, 15), (0, -13)])
def test_bytes_of_less_than_a_word_are_fenced_off_too(corner):
    found, _ = run_box(numbers((8, 16), np.uint8), (1, 16), corner, change=without("fence"))
    assert "missing-fence: stores" in found


def test_a_block_that_ends_early_leaves_nothing_under_way():
    """The first block runs into its limit of steps; blocks behind it run alone under this schedule."""
    change = lambda ptx: (ptx.replace("setp.ne.u32 %p1, %r0, 0;", "mov.u32 %r8, %ctaid.x; setp.ne.u32 %p2, %r8, 0;\n@%p2 bra OTHER;\nsetp.ne.u32 %p1, %r0, 0;")
                          .replace("cp.async.bulk.wait_group.read 0; // wait", "SPIN: bra SPIN;")
                          .replace("END: bar.sync 0;", f"OTHER: {READ}\nEND:"))
    found, *_ = run_bytes(PLAIN, change=change, grid=(2, 1, 1), step_limit=200000, schedule="priority")
    assert "step-limit" in found and "race: reads" in found and "copy-under-way" not in found, found
