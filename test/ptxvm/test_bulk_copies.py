"""mbarriers and bulk copies on the machine: what a box brings; a ring of buffers under every schedule; wrong use is found."""
import re

import machine
import numpy as np
import products
import pytest
from tensor_maps import aligned, boxed, encoded

HEAD = """.version 8.4
.target sm_90a
.address_size 64
"""

# One thread copies a box, or bytes, into `bytes` bytes of shared memory; all threads wait and store them.
BOX = HEAD + """.visible .entry box(.param .u64 map, .param .u64 out, .param .u64 data)
{{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
.shared .align 1024 .b8 tile[{room}];
.shared .align 8 .b8 barrier[8];
ld.param.u64 %rd1, [map]; fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [data];
mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mov.u32 %r2, barrier;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra START;
mbarrier.init.shared::cta.b64 [%r2], 1; // init
fence.mbarrier_init.release.cluster; // fence
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes}; // expect
{copy} // copy
START: bar.sync 0; // barrier
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; // wait
@!%p2 bra WAIT; // wait
mov.u32 %r3, %r0;
STORE: shl.b32 %r4, %r3, 2; setp.ge.u32 %p3, %r4, {bytes};
@%p3 bra END;
add.u32 %r5, %r1, %r4; ld.shared.b32 %r6, [%r5]; cvt.u64.u32 %rd4, %r4; add.s64 %rd5, %rd2, %rd4; st.global.b32 [%rd5], %r6;
add.u32 %r3, %r3, 64;
bra STORE;
END: ret;
}}
"""
TENSOR = "cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {{{corner}}}], [%r2];"
COPIES, SCHEDULES = ["late", "at-once", "random"], ["round-robin", "random", "priority", "apart"]


def numbers(shape, dtype):
    made = aligned(int(np.prod(shape)) * np.dtype(dtype).itemsize).view(dtype).reshape(shape)
    made[...] = np.arange(1, made.size + 1).reshape(shape)
    return made


def box_text(box, corner, size):
    bytes = int(np.prod(box)) * size
    copy = TENSOR.format(rank=len(box), corner=", ".join(map(str, corner[::-1])))
    return BOX.format(room=-(-bytes // 1024) * 1024, bytes=bytes, copy=copy)


def run_box(tensor, box, corner, swizzle=0, change=lambda text: text, map_change={}, **run):
    """Returns the findings and the bytes that came."""
    out = np.full(int(np.prod(box)) * tensor.itemsize, 7, np.uint8)
    found = machine.run(change(box_text(box, corner, tensor.itemsize)), [encoded(tensor, box, swizzle, **map_change), out, tensor],
                        block=(64, 1, 1), **run)
    return found, out


BOXES = [  # shape of the tensor, element, box, corners
    ((40,), np.float32, (16,), [(0,), (24,), (30,), (-4,), (39,), (40,)]),
    ((9, 40), np.float32, (4, 8), [(0, 0), (5, 32), (7, 36), (-2, -3), (9, 0)]),
    ((12, 64), np.float16, (8, 64), [(0, 0), (6, 16), (-1, 8)]),
    ((12, 128), np.uint8, (8, 128), [(0, 0), (8, 64), (3, -16)]),
    ((5, 6, 16), np.float16, (2, 3, 16), [(0, 0, 0), (4, 4, 8), (-1, 2, -8)]),
    ((3, 4, 5, 8), np.float32, (2, 2, 2, 4), [(0, 0, 0, 0), (2, 3, 4, 6), (-1, -1, -1, -2)]),
    ((2, 3, 2, 3, 16), np.uint8, (2, 2, 1, 2, 16), [(0, 0, 0, 0, 0), (1, 2, 1, 2, 8), (0, -1, 0, 1, 0)]),
]


@pytest.mark.parametrize("shape, dtype, box, corners", BOXES, ids=lambda value: str(value) if isinstance(value, tuple) else None)
@pytest.mark.parametrize("copies", COPIES)
def test_a_box_and_zeros_outside(shape, dtype, box, corners, copies):
    tensor = numbers(shape, dtype)
    row = box[-1] * tensor.itemsize
    for corner in corners:
        for swizzle in (span for span in (0, 32, 64, 128) if not span or row <= span):
            found, got = run_box(tensor, box, corner, swizzle, copies=copies)
            assert found == ""
            np.testing.assert_array_equal(got, boxed(tensor, box, corner, swizzle), err_msg=f"{corner}, swizzle {swizzle}")


def test_rows_of_128_bytes_are_turned_by_eight():
    tensor = numbers((16, 32), np.float32)
    _, got = run_box(tensor, (16, 32), (0, 0), 128)
    rows = got.view(np.float32).reshape(16, 8, 4)
    for row in range(16):
        for chunk in range(8):
            np.testing.assert_array_equal(rows[row, chunk ^ row % 8], tensor[row, 4 * chunk:4 * chunk + 4])


def test_plain_bytes():
    data = numbers((64,), np.uint32)
    for size in (16, 48, 256):
        copy = f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd3], {size}, [%r2];"
        out = np.zeros(size, np.uint8)
        found = machine.run(BOX.format(room=1024, bytes=size, copy=copy), [aligned(128), out, data], block=(64, 1, 1))
        assert found == ""
        np.testing.assert_array_equal(out, data.view(np.uint8)[:size])


def without(what):
    return lambda text: "\n".join(line for line in text.split("\n") if not line.endswith(f"// {what}"))


def replaced(old, new):
    def change(text):
        assert old in text
        return text.replace(old, new)
    return change


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("fence, wanted", [("", "missing-fence"), ("fence.proxy.async.shared::cta;", ""), ("fence.proxy.async;", "")])
def test_a_copy_over_what_threads_wrote(copies, fence, wanted):
    """They write through another proxy: without a fence their bytes could arrive behind the copy's."""
    tensor = numbers((8, 64), np.float16)
    change = replaced("setp.ne.u32 %p1, %r0, 0;", "shl.b32 %r5, %r0, 2; add.u32 %r5, %r5, %r1; st.shared.b32 [%r5], %r0; "
                      f"{fence} bar.sync 0; setp.ne.u32 %p1, %r0, 0;")
    found, got = run_box(tensor, (8, 64), (0, 0), 128, change, copies=copies)
    assert wanted in found and bool(found) == bool(wanted)
    if not wanted:
        np.testing.assert_array_equal(got, boxed(tensor, (8, 64), (0, 0), 128))


def both(first, second):
    return lambda text: second(first(text))


def before(what, statement):
    return lambda text: re.sub(rf"^(.*// {what})$", rf"{statement}\n\1", text, count=1, flags=re.MULTILINE)


WRONG_BOXES = {
    "no init": (without("init"), {"phase-misuse"}),
    "no fence behind the init": (without("fence"), {"missing-fence"}),
    "two inits": (before("fence", "mbarrier.init.shared::cta.b64 [%r2], 1;"), {"phase-misuse"}),
    "an init of 0 arrivals": (replaced("[%r2], 1;", "[%r2], 0;"), {"bad-operand"}),
    "no announced bytes": (replaced("arrive.expect_tx.shared::cta.b64 _, [%r2], 128", "arrive.shared::cta.b64 _, [%r2]"), {"copy-under-way"}),
    "more announced than come": (replaced("_, [%r2], 128", "_, [%r2], 144"), {"deadlock"}),
    "fewer announced than come": (replaced("_, [%r2], 128", "_, [%r2], 112"), {"deadlock"}),
    "no arrival": (replaced("mbarrier.arrive.expect_tx.shared::cta.b64 _,", "mbarrier.expect_tx.shared::cta.b64"), {"deadlock"}),
    "no copy": (without("copy"), {"deadlock"}),
    "an arrival too many": (before("copy", "mbarrier.arrive.shared::cta.b64 _, [%r2];"), {"phase-misuse"}),
    "no wait": (without("wait"), {"copy-under-way"}),
    "the other parity": (replaced("[%r2], 0; // wait", "[%r2], 1; // wait"), {"copy-under-way", "deadlock"}),
    "no barrier behind the init": (replaced("START: bar.sync 0; // barrier", "START:"), {"race", "phase-misuse"}),
    "an end before others have waited": (replaced("START: bar", "@!%p1 mbarrier.inval.shared::cta.b64 [%r2];\nSTART: bar"), {"phase-misuse"}),
    "a store into the mbarrier": (before("copy", "st.shared.b32 [%r2+4], %r0;"), {"phase-misuse"}),
    "a destination that is not aligned": (replaced("[%r1], [%rd1", "[%r1+16], [%rd1"), {"misaligned"}),
    "a destination that ends outside": (replaced("[%r1], [%rd1", "[%r1+1024], [%rd1"), {"out-of-bounds"}),
    "a destination on the mbarrier": (both(replaced("barrier[8];", "barrier[256];"), replaced("[%r1], [%rd1", "[%r2], [%rd1")), {"phase-misuse"}),
}


@pytest.mark.parametrize("name", WRONG_BOXES)
@pytest.mark.parametrize("copies", COPIES)
def test_wrong_use_of_a_copy_is_found(name, copies):
    change, kinds = WRONG_BOXES[name]
    for schedule in ("round-robin", "random"):
        found, _ = run_box(numbers((9, 40), np.float32), (4, 8), (0, 0), change=change, copies=copies, schedule=schedule, seed=3,
                           step_limit=200000)
        assert any(f"{kind}: " in found for kind in kinds), found


WRONG_MAPS = {"no map": dict(mark=1), "another rank": dict(rank=3), "an address between": dict(address=24), "a box of 0": dict(box_extents=[8, 0, 1, 1, 1]),
              "a box of more than 256": dict(box_extents=[8, 257, 1, 1, 1]), "rows of 12 bytes": dict(box_extents=[3, 4, 1, 1, 1]),
              "a stride of 20 bytes": dict(strides=[20, 0, 0, 0]), "a stride of 2**40 bytes": dict(strides=[2**40, 0, 0, 0]),
              "a swizzle of 16": dict(turn=16),
              "element strides": dict(element_strides=[2, 1, 1, 1, 1]), "elements of 3 bytes": dict(element_bytes=3)}


@pytest.mark.parametrize("name", WRONG_MAPS)
def test_a_wrong_map_is_found(name):
    found, _ = run_box(numbers((9, 40), np.float32), (4, 8), (0, 0), map_change=WRONG_MAPS[name])
    assert "bad-operand: its tensor map" in found, found


FENCE = "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;"


@pytest.mark.parametrize("instead", ["", FENCE.replace("%rd1", "%rd1+64"), FENCE.replace("fence", "@%p0 fence"),
                                     "prefetch.tensormap [%rd1];"])
def test_a_map_in_memory_without_a_fence_is_found(instead):
    change = replaced(FENCE, "setp.ne.u64 %p0, %rd1, %rd1; " + instead)
    found, _ = run_box(numbers((9, 40), np.float32), (4, 8), (0, 0), change=change)
    assert re.fullmatch(r"[^\n]*missing-fence: its tensor map lies in a buffer, and no fence.proxy.tensormap of the block names it;.*", found, re.S), found


def test_rows_longer_than_the_swizzle_are_found():
    found, _ = run_box(numbers((9, 40), np.float32), (4, 16), (0, 0), swizzle=32)
    assert "longer than its swizzle" in found


def test_a_map_of_more_than_the_buffer_is_found():
    tensor = numbers((9, 40), np.float32)
    found, _ = run_box(tensor, (4, 8), (8, 0), map_change=dict(extents=[40, 20, 1, 1, 1]))
    assert "out-of-bounds: " in found


# --- a ring: one thread fills buffers, the other warps read them --------------------------------------------

STAGES, ROWS, READERS = 3, 8, 96
RING = HEAD + f""".visible .entry ring(.param .u64 map, .param .u64 out, .param .u64 data, .param .u64 trips)
{{
.reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %rd<12>;
.shared .align 1024 .b8 tiles[{STAGES * 1024}];
.shared .align 8 .b8 full[{8 * STAGES}];
.shared .align 8 .b8 empty[{8 * STAGES}];
ld.param.u64 %rd1, [map]; fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [trips]; ld.global.u32 %r10, [%rd3];
mov.u32 %r0, %tid.x; mov.u32 %r1, tiles; mov.u32 %r2, full; mov.u32 %r3, empty;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra READY;
""" + "".join(f"mbarrier.init.shared::cta.b64 [%r2+{8 * s}], 1; mbarrier.init.shared::cta.b64 [%r3+{8 * s}], {READERS};\n"
              for s in range(STAGES)) + f"""fence.mbarrier_init.release.cluster;
READY: bar.sync 0; // ready
mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; // trip, stage, parity
setp.ge.u32 %p2, %r0, 32;
@%p2 bra READ;
@%p1 bra END;
FILL: setp.ge.u32 %p3, %r4, %r10;
@%p3 bra END;
shl.b32 %r7, %r5, 3; add.u32 %r8, %r2, %r7; add.u32 %r9, %r3, %r7; shl.b32 %r11, %r5, 10; add.u32 %r12, %r1, %r11;
xor.b32 %r13, %r6, 1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], %r13; // free
@!%p4 bra FREE; // free
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 1024; // expect
shl.b32 %r14, %r4, 3;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r12], [%rd1, {{0, %r14}}], [%r8];
add.u32 %r4, %r4, 1; add.u32 %r5, %r5, 1; setp.eq.u32 %p5, %r5, {STAGES};
@%p5 mov.u32 %r5, 0; @%p5 xor.b32 %r6, %r6, 1;
bra FILL;
READ: sub.u32 %r15, %r0, 32;
NEXT: setp.ge.u32 %p3, %r4, %r10;
@%p3 bra END;
shl.b32 %r7, %r5, 3; add.u32 %r8, %r2, %r7; add.u32 %r9, %r3, %r7; shl.b32 %r11, %r5, 10; add.u32 %r12, %r1, %r11;
COME: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r8], %r6; // come
@!%p4 bra COME; // come
shl.b32 %r16, %r15, 2; add.u32 %r17, %r12, %r16; ld.shared.b32 %r18, [%r17]; ld.shared.b32 %r20, [%r17+{4 * READERS}];
mad.lo.u32 %r19, %r4, {2 * READERS}, %r15; mul.wide.u32 %rd4, %r19, 4; add.s64 %rd5, %rd2, %rd4;
st.global.b32 [%rd5], %r18; st.global.b32 [%rd5+{4 * READERS}], %r20;
mbarrier.arrive.shared::cta.b64 _, [%r9]; // leave
add.u32 %r4, %r4, 1; add.u32 %r5, %r5, 1; setp.eq.u32 %p5, %r5, {STAGES};
@%p5 mov.u32 %r5, 0; @%p5 xor.b32 %r6, %r6, 1;
bra NEXT;
END: ret;
}}
"""


def run_ring(trips=8, change=lambda text: text, **run):
    tensor = numbers((ROWS * trips, 32), np.float32)
    out, count = np.zeros((trips, 2 * READERS), np.float32), np.array([trips], np.uint32)
    found = machine.run(change(RING), [encoded(tensor, (ROWS, 32)), out, tensor, count], block=(32 + READERS, 1, 1), step_limit=2000000, **run)
    return found, out, tensor.reshape(trips, 256)[:, :2 * READERS]


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_ring_is_right_under_every_schedule(schedule, copies):
    for seed in range(3):
        found, got, wanted = run_ring(schedule=schedule, copies=copies, seed=seed)
        assert found == ""
        np.testing.assert_array_equal(got, wanted)


WRONG_RINGS = {
    "buffers are filled without asking": (without("free"), {"race", "phase-misuse"}),
    "buffers are read without asking": (without("come"), {"copy-under-way"}),
    "readers leave before they read": (both(without("leave"), before("come", "mbarrier.arrive.shared::cta.b64 _, [%r9];")),
                                       {"race", "phase-misuse"}),
    "readers do not leave": (without("leave"), {"deadlock"}),
    "one reader does not leave": (before("leave", "setp.ne.u32 %p6, %r15, 5; @%p6"), {"deadlock"}),
    "the first round waits for readers": (replaced("xor.b32 %r13, %r6, 1;", "mov.u32 %r13, %r6;"), {"deadlock"}),
    "readers wait for the other parity": (both(replaced("COME: mbarrier", "xor.b32 %r13, %r6, 1;\nCOME: mbarrier"),
                                               replaced("[%r8], %r6; // come", "[%r8], %r13; // come")), {"copy-under-way", "deadlock", "uninitialised"}),
    "parities never change": (replaced("@%p5 xor.b32 %r6, %r6, 1;", ""), {"race", "copy-under-way", "deadlock", "phase-misuse"}),
    "half of the bytes are announced": (replaced("1024; // expect", "512; // expect"), {"copy-under-way", "deadlock"}),
    "nobody waits for the inits": (replaced("READY: bar.sync 0; // ready", "READY:"), {"race", "phase-misuse"}),
}


@pytest.mark.parametrize("name", WRONG_RINGS)
@pytest.mark.parametrize("copies", COPIES)
def test_wrong_rings_are_found(name, copies):
    change, kinds = WRONG_RINGS[name]
    found, _, _ = run_ring(change=change, copies=copies, schedule="random", seed=1)
    assert any(f"{kind}: " in found for kind in kinds), found


def test_a_deadlock_says_who_waits_for_what():
    found, _, _ = run_ring(change=without("leave"))
    assert re.search(r"deadlock: .*waiting for the mbarrier at byte \d+, whose phase 0 lacks 96 arrivals and 0 bytes", found), found


# --- what tensor copies bring, products read: no thread has written it, and no fence is asked for -------------

SPAN = 64  # f16 of K in a row of 128 bytes
PRODUCT = HEAD + """.visible .entry product(.param .u64 a, .param .u64 b, .param .u64 out, .param .u64 x, .param .u64 y)
{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<24>; .reg .f32 %d<32>;
.shared .align 1024 .b8 tiles[16384];
.shared .align 8 .b8 barrier[8];
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [out];
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128; fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;
mov.u32 %r0, %tid.x; mov.u32 %r1, tiles; mov.u32 %r2, barrier;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra START;
mbarrier.init.shared::cta.b64 [%r2], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16384;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 0}], [%r2];
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1+8192], [%rd2, {0, 0}], [%r2];
START: bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; // wait
@!%p2 bra WAIT; // wait
and.b32 %r3, %r1, 262143; shr.u32 %r3, %r3, 4; cvt.u64.u32 %rd4, %r3;
mov.b64 %rd5, 0x4000004000010000; or.b64 %rd6, %rd4, %rd5; add.s64 %rd7, %rd6, 512;
wgmma.fence.sync.aligned;
""" + "".join(f"add.s64 %rd8, %rd6, {2 * step}; add.s64 %rd9, %rd7, {2 * step};\n"
              f"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{', '.join(f'%d{i}' for i in range(32))}}}, %rd8, %rd9, {int(step > 0)}, 1, 1, 0, 0;\n"
              for step in range(4)) + """wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
mul.wide.u32 %rd10, %r0, 128; add.s64 %rd11, %rd3, %rd10;
""" + "\n".join(f"st.global.f32 [%rd11+{4 * i}], %d{i};" for i in range(32)) + "\nret;\n}\n"


def run_product(change=lambda text: text, **run):
    rng = np.random.default_rng(7)
    a, b = (numbers((64, SPAN), np.float16) for _ in range(2))
    a[...], b[...] = rng.integers(-4, 5, (2, 64, SPAN))
    out = np.zeros((128, 32), np.float32)
    found = machine.run(change(PRODUCT), [encoded(a, (64, SPAN), 128), encoded(b, (64, SPAN), 128), out, a, b], block=(128, 1, 1), **run)
    return found, products.matrix_of(products.Case(), out), a.astype(np.float64) @ b.T.astype(np.float64)


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_products_of_what_tensor_copies_bring(schedule, copies):
    found, got, wanted = run_product(schedule=schedule, copies=copies, seed=2)
    assert found == ""
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("copies", COPIES)
def test_products_that_do_not_wait_for_their_copies(copies):
    found, _, _ = run_product(change=without("wait"), copies=copies)
    assert "copy-under-way: " in found, found


def test_a_copy_into_what_a_product_reads():
    again = "@!%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 0}], [%r2];"
    found, _, _ = run_product(change=replaced("wgmma.wait_group", f"{again}\nwgmma.wait_group"))
    assert "operand-under-way: " in found, found
