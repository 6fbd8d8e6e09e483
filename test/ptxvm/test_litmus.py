"""Message passing by every means that PTX orders by, and each means weakened: what orders is clean, what does not races.

Block 0 (or warp 0) stores a number and raises a flag; block 1 (or warp 1) waits for the flag and loads the number.
"""
import machine
import numpy as np
import pytest

PROGRAM = """.version 8.0
.target sm_80
.address_size 64
.visible .entry pass(.param .u64 data, .param .u64 flag, .param .u64 out)
{{
.reg .pred %p<4>;
.reg .b32 %r<8>;
.reg .b64 %rd<4>;
.shared .align 4 .b8 box[8];
ld.param.u64 %rd1, [data];
ld.param.u64 %rd2, [flag];
ld.param.u64 %rd3, [out];
mov.u32 %r1, {who};
mov.u32 %r2, %tid.x;
and.b32 %r2, %r2, 31;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra READER;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra DONE;
st.global.u32 [%rd1], 42;
{release}
bra DONE;
READER:
setp.ne.u32 %p2, %r2, 0;
@%p2 bra DONE;
WAIT:
{acquire}
setp.eq.u32 %p3, %r3, 0;
@%p3 bra WAIT;
{behind}
ld.global.u32 %r4, [%rd1];
st.global.u32 [%rd3], %r4;
DONE:
ret;
}}
"""

RELEASES = {
    "st.release": "st.release.gpu.global.u32 [%rd2], 1;",
    "fence, st.relaxed": "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd2], 1;",
    "membar, st.volatile": "membar.gl;\nst.volatile.global.u32 [%rd2], 1;",
    "atom.release": "atom.release.gpu.global.exch.b32 %r5, [%rd2], 1;",
    "atom.acq_rel": "atom.acq_rel.gpu.global.add.u32 %r5, [%rd2], 1;",
    "red.release": "red.release.gpu.global.add.u32 [%rd2], 1;",
    "fence.sc, red.relaxed": "fence.sc.gpu;\nred.relaxed.gpu.global.add.u32 [%rd2], 1;",
}
NO_RELEASES = {
    "st.relaxed": "st.relaxed.gpu.global.u32 [%rd2], 1;",
    "st.volatile": "st.volatile.global.u32 [%rd2], 1;",
    "atom.relaxed": "atom.relaxed.gpu.global.add.u32 %r5, [%rd2], 1;",
    "fence too late": "st.relaxed.gpu.global.u32 [%rd2], 1;\nfence.acq_rel.gpu;",
    "release of the block": "st.release.cta.global.u32 [%rd2], 1;",
}
ACQUIRES = {
    "ld.acquire": ("ld.acquire.gpu.global.u32 %r3, [%rd2];", ""),
    "ld.relaxed, fence": ("ld.relaxed.gpu.global.u32 %r3, [%rd2];", "fence.acq_rel.gpu;"),
    "ld.volatile, membar": ("ld.volatile.global.u32 %r3, [%rd2];", "membar.gl;"),
    "atom.acquire": ("atom.acquire.gpu.global.add.u32 %r3, [%rd2], 0;", ""),
    "atom.acq_rel": ("atom.acq_rel.gpu.global.cas.b32 %r3, [%rd2], 7, 7;", ""),
}
NO_ACQUIRES = {
    "ld.relaxed": ("ld.relaxed.gpu.global.u32 %r3, [%rd2];", ""),
    "ld.volatile": ("ld.volatile.global.u32 %r3, [%rd2];", ""),
    "fence too early": ("fence.acq_rel.gpu;\nld.relaxed.gpu.global.u32 %r3, [%rd2];", ""),
    "acquire of the block": ("ld.acquire.cta.global.u32 %r3, [%rd2];", ""),
}


def found(release, acquire, between_blocks=True):
    text = PROGRAM.format(who="%ctaid.x" if between_blocks else "%warpid", release=release, acquire=acquire[0],
                          behind=acquire[1])
    data, flag, out = (np.zeros(8, np.uint32) for _ in range(3))
    grid, block = ((2, 1, 1), (32, 1, 1)) if between_blocks else ((1, 1, 1), (64, 1, 1))
    said = machine.run(text, [data, flag, out], grid, block)
    assert out[0] == 42
    return said


@pytest.mark.parametrize("acquire", ACQUIRES)
@pytest.mark.parametrize("release", RELEASES)
def test_release_and_acquire_order_blocks(release, acquire):
    assert found(RELEASES[release], ACQUIRES[acquire]) == ""


@pytest.mark.parametrize("acquire", NO_ACQUIRES)
@pytest.mark.parametrize("release", RELEASES)
def test_a_release_alone_orders_nothing(release, acquire):
    assert "race: " in found(RELEASES[release], NO_ACQUIRES[acquire])


@pytest.mark.parametrize("acquire", ACQUIRES)
@pytest.mark.parametrize("release", NO_RELEASES)
def test_an_acquire_alone_orders_nothing(release, acquire):
    assert "race: " in found(NO_RELEASES[release], ACQUIRES[acquire])


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
def test_each_scope_orders_the_warps_of_a_block(scope):
    release = RELEASES["st.release"].replace("gpu", scope)
    acquire = tuple(text.replace("gpu", scope) for text in ACQUIRES["ld.acquire"])
    assert found(release, acquire, between_blocks=False) == ""


def test_a_plain_flag_orders_no_warps():
    acquire = ("ld.volatile.global.u32 %r3, [%rd2];", "")
    assert "race: " in found("st.global.u32 [%rd2], 1;", acquire, between_blocks=False)
