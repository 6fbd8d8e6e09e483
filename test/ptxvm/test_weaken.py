"""weaken.py judges a site by the site: whether lanes would have an effect there, whatever becomes of it."""
import subprocess

import numpy as np
import products
import pytest
import weaken

# Copies n of 32 numbers; each warp stores the first one to a place of its own, from all lanes or from one.
TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 x, .param .u64 out, .param .u32 n)
{
.reg .pred %p<4>;
.reg .b32 %r<6>;
.reg .b64 %rd<6>;
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [out];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
setp.lt.s32 %p1, %r2, %r1;
setp.lt.s32 %p2, %r2, 1;
ld.global.b32 %r4, [%rd1];
@%p2 st.global.b32 [%rd2+256], %r4;
mul.wide.s32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
mov.b32 %r3, 0;
@%p1 ld.global.b32 %r3, [%rd4];
@%p1 st.global.b32 [%rd5], %r3;
ret;
}
"""
LINES = TEXT.split("\n")
DROPPED, WIDENED = (next(kind for kind in weaken.KINDS if kind.name == name) for name in ("mask dropped", "mask widened"))


@pytest.fixture
def bundle(tmp_path):
    """A run of the text on `n` of 32 numbers, as a folder."""
    def record(n):
        (tmp_path / "copy.ptx").write_text(TEXT)
        np.save(tmp_path / "x.npy", np.arange(100, 132, dtype=np.int32))
        np.save(tmp_path / "out.npy", np.full(128, 7, np.int32))
        done = subprocess.run([weaken.PROGRAM, "simulate", "copy.ptx::copy", "--grid", "1", "--block", "32", "--arg", "@x.npy",
                               "--arg", "@out.npy", "--arg", str(n), "--bundle", "bundle", "--record", "--quiet"],
                              cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return tmp_path / "bundle"
    return record


def judged(kind, bundle):
    """The text of each site -> whether it matters, and whether the mutant is killed."""
    text = (bundle / "kernel.ptx").read_text()
    result = {}
    for number, instead in kind.sites(text.split("\n")):
        row = weaken.try_one(([bundle], text, kind, number, instead))
        result[text.split("\n")[number]] = row and row["killed"]
    return result


STORE_OF_COPIES, LOAD, STORE = (line for line in LINES if line.startswith("@%p"))


def test_masks_matter_where_lanes_would_have_an_effect(bundle):
    rows = judged(DROPPED, bundle(20))
    assert rows[STORE_OF_COPIES] is None, "every lane stores the same"
    assert rows[LOAD] is False, "other bytes are loaded, and the store's mask hides them: a survivor, and counted"
    assert rows[STORE] is True


def test_masks_that_turn_no_lane_off_do_not_matter(bundle):
    rows = judged(DROPPED, bundle(32))
    assert rows[LOAD] is None and rows[STORE] is None


def test_a_bound_is_widened_where_it_guards_accesses(bundle):
    rows = judged(WIDENED, bundle(20))
    assert rows["setp.lt.s32 %p1, %r2, %r1;"] is True
    assert rows["setp.lt.s32 %p2, %r2, 1;"] is None


def test_waits_and_commits_of_products_matter(tmp_path):
    case = products.Case()
    code, arrays = products.launch(case, *products.bits_for("integers", case, 1))
    (tmp_path / "form.ptx").write_text(code)
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
    done = subprocess.run([weaken.PROGRAM, "simulate", "form.ptx::form", "--grid", "1", "--block", str(products.THREADS), "--arg", "@0.npy",
                           "--arg", "@1.npy", "--arg", "@2.npy", "--bundle", "bundle", "--record", "--quiet"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = {kind.name: judged(kind, tmp_path / "bundle") for kind in weaken.KINDS if "products" in kind.name}
    commit, wait = (next(line for line in code.split("\n") if line.startswith(f"wgmma.{what}_group")) for what in ("commit", "wait"))
    assert rows == {"wait or commit of products deleted": {commit: True, wait: True}, "wait for one group of products too few": {wait: True}}


def test_every_site_is_of_a_kind_with_a_judge():
    for kind in weaken.KINDS:
        for number, instead in kind.sites(LINES):
            assert LINES[number] != instead
