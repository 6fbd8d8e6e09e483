"""Loops by which a few programs walk over all blocks: trips that store apart from each other wait for nobody."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def walk_kernel(x, out, n, many, FORM: tl.constexpr, B: tl.constexpr):
    if FORM == "offsets":
        for i in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
            at = i + tl.arange(0, B)
            tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
    elif FORM == "blocks":
        for block in range(tl.program_id(0), tl.cdiv(n, B), tl.num_programs(0)):
            at = block * B + tl.arange(0, B)
            tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
    elif FORM == "argument":
        for i in range(tl.program_id(0) * B, n, many * B):
            at = i + tl.arange(0, B)
            tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
    elif FORM == "overlapping":  # each trip stores over half of what the one before has stored
        for i in range(tl.program_id(0) * n, n, many * (B // 2)):
            at = i + tl.arange(0, B)
            tl.store(out + at // 2 * 2 + (1 - at % 2), tl.load(x + at, mask=at < n) * 2 + i, mask=at < n)
    else:  # "from an argument", which may be below zero
        for i in range(many - 2 + tl.program_id(0) * B, n, tl.num_programs(0) * B):
            at = i + tl.arange(0, B)
            tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


FORMS = ["offsets", "blocks", "argument", "overlapping", "from an argument"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n, B", [(1000, 64), (1024, 128), (77, 256)])
def test_each_block_is_stored_once(target, form, n, B):
    x, out = torch.arange(n + 1, dtype=torch.float32), torch.full((n + 1,), -1.0)
    walk_kernel[(1 if form == "overlapping" else 2,)](x, out, n, 2 if form != "overlapping" else 1, FORM=form, B=B)
    right = torch.full((n + 1,), -1.0)
    if form != "overlapping":
        right[:n] = 2 * x[:n]
    else:
        for i in range(0, n, B // 2):
            at = torch.arange(i, min(i + B, n))
            right[at // 2 * 2 + (1 - at % 2)] = 2 * x[at] + i
    assert torch.equal(out, right)


@pytest.mark.parametrize("form", FORMS)
def test_trips_that_are_apart_have_no_barrier(build_dir, form):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::walk_kernel", "--target", "sm_90a", "--emit", "ptx",
                           "--signature", f"x=*f32:16,out=*f32:16,n=i32:16,many=i32,FORM='{form}',B=1024"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "ld.global" in done.stdout, done.stderr
    assert ("bar.sync" in done.stdout) == (form == "overlapping")
