"""Parts of bytes as floats, as packed weights have them: whatever way the bits are taken, for all bytes, exactly."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import name_of

FORMS = {
    "low": lambda x: x & 15,
    "high": lambda x: x >> 4,
    "high, masked": lambda x: x >> 4 & 15,
    "pairs": lambda x: x >> 2 & 3,
    "upper bits in place": lambda x: x & 0xF0,
    "shifted twice": lambda x: (x >> 1) >> 2,
    "masked twice": lambda x: x & 0x7E & 0x3B,
    "masked, then shifted": lambda x: (x & 0xFC) >> 2,
    "one bit": lambda x: x >> 7 & 1,
    "all": lambda x: x & 255,
}


@triton.jit
def parts_kernel(x_ptr, out_ptr, FORM: tl.constexpr, WIDE: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    if WIDE is not None:
        x = x.to(WIDE)
    if FORM == "low":
        y = x & 15
    elif FORM == "high":
        y = x >> 4
    elif FORM == "high, masked":
        y = x >> 4 & 15
    elif FORM == "pairs":
        y = x >> 2 & 3
    elif FORM == "upper bits in place":
        y = x & 0xF0
    elif FORM == "shifted twice":
        y = (x >> 1) >> 2
    elif FORM == "masked twice":
        y = x & 0x7E & 0x3B
    elif FORM == "masked, then shifted":
        y = (x & 0xFC) >> 2
    elif FORM == "one bit":
        y = x >> 7 & 1
    else:
        tl.static_assert(FORM == "all")
        y = x & 255
    tl.store(out_ptr + i, y.to(out_ptr.dtype.element_ty))


BEYOND_INT8 = {"upper bits in place", "masked, then shifted", "all"}  # whose masks are no int8
CASES = [(form, dtype, wide) for form in FORMS for dtype in (torch.uint8, torch.int8) for wide in (None, "int16", "int32")
         if wide or dtype == torch.uint8 or form not in BEYOND_INT8]


@pytest.mark.parametrize("out", [torch.float16, torch.bfloat16, torch.float32], ids=name_of)
@pytest.mark.parametrize("form, dtype, wide", CASES)
def test_parts(target, form, dtype, wide, out):
    x = torch.arange(256, dtype=torch.int32).to(dtype)[torch.randperm(256, generator=torch.Generator().manual_seed(1))].contiguous()
    result = torch.full((256,), float("nan"), dtype=out)
    parts_kernel[(1,)](x, result, FORM=form, WIDE=getattr(tl, wide) if wide else None, B=256, num_warps=1)
    number = x.numpy() if wide is None else x.numpy().astype(wide)
    assert np.array_equal(result.double().numpy(), FORMS[form](number.astype(np.int64)).astype(np.float64))


@triton.jit
def signed_halves_kernel(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    both = tl.join((x << 4) >> 4, x >> 4)
    tl.store(out_ptr + 2 * i[:, None] + tl.arange(0, 2)[None, :], both.to(out_ptr.dtype.element_ty))


@triton.jit
def halves_and_bytes_kernel(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    both = tl.join(x >> 4, x)
    tl.store(out_ptr + 2 * i[:, None] + tl.arange(0, 2)[None, :], both.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("out", [torch.float16, torch.bfloat16, torch.float32], ids=name_of)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8], ids=name_of)
@pytest.mark.parametrize("kernel", [signed_halves_kernel, halves_and_bytes_kernel], ids=lambda kernel: kernel.fn.__name__)
def test_halves_beside_each_other(target, kernel, dtype, out):
    x = torch.arange(256, dtype=torch.int32).to(dtype)
    result = torch.full((256, 2), float("nan"), dtype=out)
    kernel[(1,)](x, result, B=256, num_warps=1)
    number = x.numpy()
    first = (number << 4).astype(number.dtype) >> 4 if kernel is signed_halves_kernel else number >> 4
    second = number >> 4 if kernel is signed_halves_kernel else number
    assert np.array_equal(result.double().numpy(), np.stack([first, second], 1).astype(np.float64))


@pytest.mark.sim
@pytest.mark.parametrize("wide", [None, tl.int32], ids=str)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8], ids=name_of)
def test_four_bytes_take_one_step(monkeypatch, dtype, wide):
    """A thread that has 16 bytes shifts and masks four words, and puts each pair into place at once."""
    monkeypatch.setattr(parts_kernel, "target", "ptxvm")
    text = parts_kernel.warmup(torch.empty(512, dtype=dtype), torch.empty(512, dtype=torch.float16), FORM="high, masked", WIDE=wide, B=512,
                               num_warps=1, grid=(1,)).asm["ptx"]
    assert text.count("shr.") <= 5 and text.count("prmt.") <= 9
