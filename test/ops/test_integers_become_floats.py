"""Integers of few bits become floats by their bits, not by the instruction for it: every value, and all ways in which registers hold them."""
import re
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl

FLOATS = [torch.float16, torch.bfloat16, torch.float32]
EVERY = {dtype: torch.arange(torch.iinfo(dtype).min, torch.iinfo(dtype).max + 1, dtype=torch.int32).to(dtype)
         for dtype in (torch.int8, torch.uint8, torch.int16, torch.uint16)}


@triton.jit
def cast_kernel(x, y, STEP: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, tl.load(x + i * STEP).to(y.dtype.element_ty))


@triton.jit
def fields_kernel(x, low, high, signed, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(low + i, (v & 15).to(low.dtype.element_ty))
    tl.store(high + i, ((v >> 4) & 63).to(low.dtype.element_ty))
    tl.store(signed + i, ((v.to(tl.int32) & 15) - 8).to(low.dtype.element_ty))


@triton.jit
def chain_kernel(x, y, N: tl.constexpr):
    """Long enough to be computed two registers at a time."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    f = tl.load(x + i).to(y.dtype.element_ty).to(tl.float32)
    f = tl.maximum(tl.minimum(((f * 2) * 0.5 + 0) * 4 * 0.25, 1e9), -1e9)
    tl.store(y + i, (-(-(f * 8 * 0.125))).to(y.dtype.element_ty))


@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("source", list(EVERY))
@pytest.mark.parametrize("step, block", [(1, 2048), (1, 256), (1, 64), (2, 512)])
def test_every_integer_is_rounded_once(target, source, result, step, block):
    x = EVERY[source].repeat(8) if len(EVERY[source]) < 2048 else EVERY[source]
    y = torch.full((len(x) // step,), float("nan"), dtype=result)
    cast_kernel[(len(y) // block,)](x, y, step, block)
    expected = x.to(torch.int32)[::step].to(torch.float64).to(result)
    assert torch.equal(y, expected) and not y[expected == 0].signbit().any()


@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("source", [torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32])
def test_fields_of_bits(target, source, result):
    g = torch.Generator().manual_seed(1)
    x = torch.randint(-2**31, 2**31, (2048,), generator=g).to(torch.int32).to(source)
    low, high, signed = (torch.full((2048,), float("nan"), dtype=result) for _ in range(3))
    fields_kernel[(2,)](x, low, high, signed, 1024)
    wide = x.to(torch.int64)
    assert torch.equal(low, (wide & 15).to(result))
    assert torch.equal(high, (wide >> 4 & 63).to(result))
    assert torch.equal(signed, ((wide & 15) - 8).to(result))


@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("source", [torch.int8, torch.uint8, torch.int16])
def test_in_a_long_chain(target, source, result):
    x = EVERY[source][:256]
    y = torch.full((256,), float("nan"), dtype=result)
    chain_kernel[(1,)](x, y, 256, num_warps=1)
    assert torch.equal(y, x.to(torch.int32).to(result))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("result", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("source", ["i8", "u8", "i16", "u16"])
def test_the_slow_instruction_is_not_used(build_dir, tmp_path, source, result, arch):
    subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::cast_kernel", "--target", arch, "--signature",
                    f"x=*{source}:16,y=*{result}:16,STEP=1,N=1024", "--emit", "ptx", "-o", tmp_path / "code.ptx"], check=True, timeout=120)
    assert not re.search(r"cvt\.rn\.(f16|bf16|f32)\.[us]\d+", (tmp_path / "code.ptx").read_text())


@triton.jit
def counted_kernel(o, T, FORM: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    moved = i
    for t in range(T):
        if FORM == "counter":
            v = t * N + i
        elif FORM == "distance":
            v = i - t * N
        elif FORM == "moved":
            v = moved
            moved += N
        elif FORM == "field":
            v = (((t * N + i) >> 2) & 31) - 16
        else:
            v = (t * N + i) & 1023
        tl.store(o + t * N + i, v.to(o.dtype.element_ty))


@triton.jit
def carried_kernel(x, o, T, SUMS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.zeros([N], x.dtype.element_ty)
    one = tl.cast(0, x.dtype.element_ty)
    for t in range(T):
        tl.store(o + t * N + i, v.to(o.dtype.element_ty))
        tl.store(o + (T + t) * N + i, one.to(o.dtype.element_ty))
        if SUMS:
            v += tl.load(x + t * N + i)
            one += tl.load(x + t * N)
        else:
            v = tl.load(x + t * N + i)
            one = tl.load(x + t * N)


@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("form", ["counter", "distance", "moved", "masked", "field"])
@pytest.mark.parametrize("block, warps", [(64, 1), (512, 4)])
def test_numbers_of_later_trips(target, form, result, block, warps):
    """The range of a loop's number is not that of its first trip."""
    y = torch.full((4 * block,), float("nan"), dtype=result)
    counted_kernel[(1,)](y, 4, form, block, num_warps=warps)
    at = torch.arange(4 * block)
    expected = {"counter": at, "moved": at, "distance": at % block - at // block * block, "masked": at & 1023, "field": (at >> 2 & 31) - 16}[form]
    assert torch.equal(y, expected.to(result))


@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("source", [torch.int8, torch.uint8, torch.int16, torch.int32])
@pytest.mark.parametrize("sums", [False, True])
def test_integers_that_loops_carry(target, source, result, sums):
    x = torch.randint(-90 if source.is_signed else 0, 90, (3, 64), generator=torch.Generator().manual_seed(4)).to(source)
    y = torch.full((2, 3, 64), float("nan"), dtype=result)
    carried_kernel[(1,)](x, y, 3, sums, 64, num_warps=1)
    before = torch.cat([torch.zeros(1, 64, dtype=source), x[:2]])
    if sums:
        before = torch.cumsum(before.to(torch.int64), 0).to(source)
    assert torch.equal(y[0], before.to(result))
    assert torch.equal(y[1], before[:, :1].expand(3, 64).to(result))


@pytest.mark.parametrize("result", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("source", ["i8", "u8", "i16", "u16", "i32", "u32", "i64"])
def test_pairs_are_code_of_early_gpus(build_dir, tmp_path, source, result):
    """sm_75 narrows no pair of floats by one instruction."""
    for kernel, signature in (("cast_kernel", f"x=*{source}:16,y=*{result}:16,STEP=1,N=1024"),
                              ("fields_kernel", f"x=*{source}:16,low=*{result}:16,high=*{result}:16,signed=*{result}:16,N=1024")):
        subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::{kernel}", "--target", "sm_75", "--signature", signature,
                        "--emit", "cubin", "-o", tmp_path / "code.cubin"], check=True, timeout=120)
