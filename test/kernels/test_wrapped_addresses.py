"""Addresses made with `%`: wide accesses where remainders follow each other, and no wrong number where they do not (M22)."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def wrapped_kernel(x_ptr, out_ptr, shift, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + (shift + i) % n))


@pytest.mark.parametrize("shift, n", [(0, 256), (16, 256), (240, 256), (0, 1024), (3, 255), (-5, 255)])
def test_each_element_comes_from_its_remainder(target, shift, n):
    memory = torch.arange(4096, dtype=torch.float32)
    x, out = memory[2048:], torch.zeros(512)
    wrapped_kernel[(1,)](x, out, shift, n, B=512)
    index = torch.tensor([abs(shift + i) % n * (1 if shift + i >= 0 else -1) for i in range(512)])
    assert torch.equal(out, memory[2048 + index])


@pytest.mark.sim
@pytest.mark.parametrize("shift, n", [(-512, 256), (-256, 256)])
def test_a_torn_run_ends_the_launch(shift, n, monkeypatch):
    """The remainders of -256, -255 ... by 256 are 0, -255 ...: no run. The GPU's code loads runs, so it refuses to go on."""
    import devices

    devices.use("sim", monkeypatch)
    memory = torch.arange(4096, dtype=torch.float32)
    with pytest.raises(triton.TritonError, match="negative multiple"):
        wrapped_kernel[(1,)](memory[2048:], torch.zeros(512), shift, n, B=512)


# --- quotients ---


@triton.jit
def split_kernel(x_ptr, out_ptr, width, stride, n, FORM: tl.constexpr, B: tl.constexpr, APART: tl.constexpr):
    """Rows of `width` that lie apart in memory, one after another in the result."""
    if FORM == "64 bits":
        i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    elif FORM == "argument":
        i = stride - 2 * width + tl.program_id(0) * B + tl.arange(0, B)
    else:
        i = tl.program_id(0) * APART + tl.arange(0, B)
    if FORM == "constants":
        at = i // 64 * 128 + i % 64
    elif FORM == "three parts":
        at = i // 512 * 1024 + i // 64 % 8 * 128 + i % 64
    elif FORM == "difference":
        at = i // 64 * 128 + (i - i // 64 * 64)
    elif FORM == "mask":
        at = i
    elif FORM == "branch":
        at = i
        if width > 0:
            at = i // width * stride + i % width
    else:
        at = i // width * stride + i % width
    inside = (i // width < n // width) & (i < n) if FORM == "mask" else i < n
    tl.store(out_ptr + i, tl.load(x_ptr + at, mask=inside, other=-1.0), mask=i < n)


QUOTIENTS = ["arguments", "constants", "three parts", "difference", "mask", "branch", "64 bits", "argument"]


@pytest.mark.parametrize("form", QUOTIENTS)
@pytest.mark.parametrize("width, n", [(64, 2048), (64, 1500), (48, 1536), (63, 1000), (7, 555)])
def test_each_element_comes_from_its_quotient(target, form, width, n):
    if form in ("constants", "three parts", "difference"):
        width = 64
    stride = 2 * width
    x, out = torch.arange(8192, dtype=torch.float32), torch.full((n,), -5.0)
    split_kernel[(4,)](x, out, width, stride, n, FORM=form, B=512, APART=512)
    i = torch.arange(n)
    at = {"mask": i, "three parts": i // 512 * 1024 + i // 64 % 8 * 128 + i % 64}.get(form, i // width * stride + i % width)
    expected = x[at]
    if form == "mask":
        expected = torch.where(i // width < n // width, expected, -1.0)
    assert torch.equal(out, expected)


@pytest.mark.sim
@pytest.mark.parametrize("form", ["constants", "three parts"])
def test_an_index_past_its_bits_ends_the_launch(form, monkeypatch):
    import devices

    devices.use("sim", monkeypatch)
    with pytest.raises(triton.TritonError, match="past its bits"):
        split_kernel[(3,)](torch.zeros(8192), torch.zeros(512), 64, 128, 512, FORM=form, B=512, APART=2**30)


@pytest.mark.parametrize("form, width", [("arguments", "i32:16"), ("constants", "i32"), ("three parts", "i32"), ("difference", "i32"), ("mask", "i32:16"),
                                         ("branch", "i32:16"), ("64 bits", "i32:16"), ("argument", "i32:16")])
def test_quotients_and_remainders_of_indices_keep_accesses_wide(build_dir, form, width):
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::split_kernel", "--target", "sm_90a", "--signature",
                           f"x_ptr=*f16:16,out_ptr=*f16:16,width={width},stride=i32:16,n=i32:16,FORM='{form}',B=1024,APART=1024"],
                          capture_output=True, text=True, timeout=120)
    load = "load of 1 element" if form == "argument" else "load of 8 elements"  # of arguments nobody knows that none is below zero
    assert done.returncode == 0 and load in done.stdout, done.stdout + done.stderr
