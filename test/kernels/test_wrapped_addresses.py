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


# --- elements that no access reads ---


@triton.jit
def halo_kernel(x_ptr, out_ptr, n, first, last, FORM: tl.constexpr, B: tl.constexpr):
    """A circular buffer of n elements, read from `first` blocks of 16 on, which may be below zero."""
    place = tl.program_id(0) * B + tl.arange(0, B)
    o = place + first * 16
    i = o % n
    inside = (o >= 0) & (o < last)
    if FORM == "one mask":
        v = tl.load(x_ptr + i, mask=inside, other=-1.0)
    elif FORM == "two masks":
        v = tl.load(x_ptr + i, mask=inside, other=-1.0) + tl.load(x_ptr + 4096 + i, mask=inside & (o < last - 16), other=0.0)
    elif FORM == "rows":
        columns = tl.arange(0, B)
        square = tl.load(x_ptr + i[None, :] + columns[:, None] * 0, mask=inside[None, :] & (columns < last + 4096)[:, None], other=-1.0)
        v = tl.max(square, 0)
    elif FORM == "select":
        v = tl.where(inside, tl.load(x_ptr + tl.where(o >= 0, i, 0), mask=o < last, other=-1.0), -1.0)
    elif FORM == "select the other way":
        v = tl.where(inside, tl.load(x_ptr + tl.where(o < 0, 0, i), mask=o < last, other=-1.0), -1.0)
    elif FORM == "other dimension":  # the condition is of rows, the remainder of columns
        square = tl.load(x_ptr + i[None, :] + tl.arange(0, B)[:, None] * 0, mask=inside[:, None], other=-1.0)
        v = tl.max(square, 0)
    elif FORM == "mask of the remainder":
        v = tl.load(x_ptr + i, mask=inside & (i >= 0), other=-1.0)
    elif FORM == "only below":
        v = tl.load(x_ptr + 2048 + i, mask=i < 0, other=-1.0)
    elif FORM == "data":
        v = tl.load(x_ptr + i, mask=inside, other=-1.0) + tl.where(i < 8, 0.5, 0.25)
    else:  # "carried": the remainder is of the trip before, the mask of this one
        v = tl.zeros((B,), tl.float32)
        at = place
        for trip in range(2):
            v += tl.load(x_ptr + 2048 + at, mask=o >= -64 * trip, other=-1.0)
            at = (o + last * trip) % n
    tl.store(out_ptr + place, v)


def halo(x, n, first, last, form, length):
    o = torch.arange(length) + 16 * first
    if n == 0:
        return torch.full((length,), -1.0)
    i = torch.fmod(o, n)
    inside = (o >= 0) & (o < last)
    at = torch.where(inside, i, 0)
    read = torch.where(inside, x[at], -1.0)
    if form == "two masks":
        return read + torch.where(inside & (o < last - 16), x[4096 + at], 0.0)
    if form == "only below":
        return torch.where(i < 0, x[2048 + i], -1.0)
    if form == "data":
        return read + torch.where(i < 8, 0.5, 0.25)
    if form == "carried":
        return torch.where(o >= 0, x[2048 : 2048 + length], -1.0) + torch.where(o >= -64, x[2048 + i], -1.0)
    return read


WHERE_GUARDED = ["one mask", "two masks", "rows", "select", "select the other way"]


@pytest.mark.parametrize("form", WHERE_GUARDED)
@pytest.mark.parametrize("n, first, last", [(64, -8, 100), (64, -4, 256), (48, -6, 200), (64, 0, 256), (0, -8, -200), (33, -7, 99)])
def test_elements_that_masks_leave_out_may_be_torn(target, form, n, first, last):
    """A multiple of n below zero is no mistake where no access reads there; nor is a divisor of 0."""
    if n == 0 and form.startswith("select"):
        pytest.skip("the select's pointers are read unmasked")
    x, out = torch.arange(8192, dtype=torch.float32), torch.zeros(256)
    halo_kernel[(2,)](x, out, n, first, last, FORM=form, B=128, num_warps=1)
    assert torch.equal(out, halo(x, n, first, last, form, 256))


@pytest.mark.parametrize("form", ["mask of the remainder", "only below", "data", "carried"])
@pytest.mark.parametrize("n, first, last", [(64, -8, 100), (64, -4, 256), (48, -6, 200), (64, 0, 256), (33, -7, 99)])
def test_a_torn_element_that_matters_is_right_or_ends_the_launch(target, form, n, first, last):
    if target == "cuda":
        pytest.skip("a failed assertion ends the process's use of the device")
    x, out = torch.arange(8192, dtype=torch.float32), torch.zeros(256)
    try:
        halo_kernel[(2,)](x, out, n, first, last, FORM=form, B=128, num_warps=1)
    except triton.TritonError as error:
        assert "negative multiple" in str(error) and first < 0
    else:
        assert torch.equal(out, halo(x, n, first, last, form, 256))


@pytest.mark.sim
def test_a_mask_of_another_dimension_leaves_no_element_out(monkeypatch):
    import devices

    devices.use("sim", monkeypatch)
    with pytest.raises(triton.TritonError, match="negative multiple"):
        halo_kernel[(1,)](torch.zeros(8192), torch.zeros(64), 32, -2, 64, FORM="other dimension", B=64, num_warps=1)


@pytest.mark.parametrize("form, B", [("one mask", 1024), ("two masks", 1024), ("rows", 64)])
def test_guarded_remainders_keep_accesses_wide(build_dir, form, B):
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::halo_kernel", "--target", "sm_90a", "--signature",
                           f"x_ptr=*f16:16,out_ptr=*f16:16,n=i32:16,first=i32,last=i32:16,FORM='{form}',B={B}"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "load of 8 elements" in done.stdout, done.stdout + done.stderr


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
    assert done.returncode == 0 and "load of 8 elements" in done.stdout, done.stdout + done.stderr


# --- quotients of what may be below zero ---


@triton.jit
def padded_kernel(x_ptr, out_ptr, first, width, padding, B: tl.constexpr, TRIPS: tl.constexpr):
    """Rows of `width` without the padding behind them, as quantizers of blocks read them; `first` is in blocks of 16."""
    place = tl.arange(0, B)
    i = place + first * 16
    for trip in range(TRIPS):
        if padding != 0:
            at = i - i // width * padding
        else:
            at = i
        tl.store(out_ptr + trip * B + place, tl.load(x_ptr + at, mask=i < width * 1024, other=-1.0))
        i += B


def padded(first, width, padding, length):
    i = torch.arange(length) + 16 * first
    return i - torch.div(i, width, rounding_mode="trunc") * padding


@pytest.mark.parametrize("first, width, padding", [(0, 64, 3), (0, 64, 0), (3, 48, 5), (5, 63, 2), (-1, 256, 7), (-3, 1024, 0), (-16, 1, 0)])
def test_each_element_comes_from_its_row(target, first, width, padding):
    x, out = torch.arange(4096, dtype=torch.float32), torch.zeros(512)
    padded_kernel[(1,)](x[1024:], out, first, width, padding, B=256, TRIPS=2)
    i = torch.arange(512) + 16 * first
    assert torch.equal(out, torch.where(i < width * 1024, x[1024 + padded(first, width, padding, 512)], -1.0))


@pytest.mark.parametrize("first, width, padding", [(-4, 64, 3), (-32, 128, 1), (-3, 48, 5)])
def test_a_torn_row_is_right_or_ends_the_launch(target, first, width, padding):
    """-64 // 64 is -1, and -63 // 64 is 0: no row of one quotient."""
    if target == "cuda":
        pytest.skip("a failed assertion ends the process's use of the device")
    x, out = torch.arange(4096, dtype=torch.float32), torch.zeros(512)
    try:
        padded_kernel[(1,)](x[1024:], out, first, width, padding, B=256, TRIPS=2)
    except triton.TritonError as error:
        assert "`//` of a negative multiple" in str(error)
    else:
        assert torch.equal(out, x[1024 + padded(first, width, padding, 512)])


def test_rows_with_padding_are_read_wide(build_dir):
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::padded_kernel", "--target", "sm_90a", "--signature",
                           "x_ptr=*f16:16,out_ptr=*f16:16,first=i32,width=i32:16,padding=i32:16,B=1024,TRIPS=2"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "load of 8 elements" in done.stdout, done.stdout + done.stderr
