"""Masks that name the last element rather than the end, `o <= n - 1`: as wide as `o < n`, and right where `n - 1` wraps."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def up_to_the_last_kernel(x, out, n, FORM: tl.constexpr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    if FORM == "o <= n - 1":
        mask = o <= n - 1
    elif FORM == "n - 1 >= o":
        mask = n - 1 >= o
    elif FORM == "not o > n - 1":
        mask = ~(o > n - 1)
    elif FORM == "not o >= n":
        mask = ~(o >= n)
    elif FORM == "n > o":
        mask = n > o
    else:
        mask = o < n - 1
    tl.store(out + o, tl.load(x + o, mask=mask, other=-1.0) * 2, mask=mask)


@triton.jit
def loop_kernel(x, out, n, FORM: tl.constexpr, B: tl.constexpr):
    total = tl.zeros([B], tl.float32)
    trips = 0
    for i in range(0, n, B):
        o = i + tl.arange(0, B)
        mask = o <= n - 1 if FORM == "o <= n - 1" else n - 1 >= o if FORM == "n - 1 >= o" else ~(o > n - 1)
        total += tl.load(x + o, mask=mask, other=0.0)
        trips += 1
    tl.store(out + tl.arange(0, B), total + trips)


FORMS = ["o <= n - 1", "n - 1 >= o", "not o > n - 1", "not o >= n", "n > o", "o < n - 1"]
LEAST = -(2**31)


@pytest.mark.parametrize("n", [1024, 1008, 1000, 999, 16, 1, 0, -16, LEAST, LEAST + 1])
@pytest.mark.parametrize("form", FORMS)
def test_elements_below_the_end(target, form, n):
    x, out = torch.arange(1024, dtype=torch.float32), torch.full((1024,), -7.0)
    up_to_the_last_kernel[(2,)](x, out, n, FORM=form, B=512)
    last = n if "n - 1" not in form else (n - 1 + 2**31) % 2**32 - 2**31 + (form != "o < n - 1")  # n - 1 wraps
    inside = torch.arange(1024) < last
    assert torch.equal(out, torch.where(inside, 2 * x, -7.0))


@pytest.mark.parametrize("n", [1024, 1000, 999, 1, 0, LEAST])
@pytest.mark.parametrize("form", FORMS[:3])
def test_in_loops(target, form, n):
    x, out = torch.arange(1024, dtype=torch.float32), torch.full((128,), -7.0)
    loop_kernel[(1,)](x, out, n, FORM=form, B=128)
    right = torch.where(torch.arange(1024) < n, x, 0.0).view(8, 128).sum(0) + max(0, (n + 127) // 128)
    assert torch.equal(out, right)


@pytest.mark.parametrize("form", FORMS)
def test_they_are_as_wide(build_dir, form):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::up_to_the_last_kernel", "--target", "sm_90a", "--emit", "ptx",
                           "--signature", f"x=*f32:16,out=*f32:16,n=i32:16,FORM='{form}',B=512"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert ("ld.global.v4" in done.stdout) == (form != "o < n - 1")
