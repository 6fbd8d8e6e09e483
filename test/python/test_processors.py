"""Launches on the cores compiled for an older processor (`TEGULA_CPU`), whose vectors are narrower and whose LLVM takes other ways."""
import platform
from pathlib import Path

import pytest
import torch

import tegula as triton
import tegula.language as tl

FLAGS = set(Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n")[0].split())
PROCESSORS = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
AT_HAND = [name for name, flag in PROCESSORS.items() if flag in FLAGS]
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="names of processors of x86-64")


@pytest.fixture(params=[*AT_HAND, "native"])
def processor(request, monkeypatch):
    monkeypatch.setenv("TEGULA_CPU", request.param)
    monkeypatch.setenv("TEGULA_TARGET", "cpu")
    return request.param


def defined(function):
    """The kernel anew: compiled for the processor of now."""
    kernel = triton.jit(function)
    kernel.target = "cpu"
    return kernel


def added(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)


@pytest.mark.parametrize("shift", [0, 1, 5])
@pytest.mark.parametrize("count", [3, 8, 29, 64, 200])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_atomic_additions_of_16_bits_end_with_their_tile(processor, dtype, count, shift):
    x = torch.arange(count).remainder(7).to(dtype)
    memory = torch.ones(count + 64, dtype=dtype)
    wanted = memory.clone()
    wanted[shift:shift + count] += x
    defined(added)[(triton.cdiv(count, 64),)](x, memory[shift:], count, BLOCK=64)
    assert torch.equal(memory, wanted)


def narrowed(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r, c = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    mask = (r < rows) & (c < columns)
    value = tl.load(x + r * columns + c, mask=mask, other=0)
    tl.store(out + r * columns + c, (value * 2).to(out.dtype.element_ty), mask=mask)


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 1), (1, 5), (4, 7), (2, 16)])
@pytest.mark.parametrize("dtype, narrow", [(torch.float32, torch.float16), (torch.int32, torch.int8), (torch.float32, torch.bfloat16), (torch.int64, torch.int16)])
def test_masked_accesses_leave_their_neighbours(processor, dtype, narrow, rows, columns):
    x = torch.arange(rows * columns).to(dtype)
    memory = torch.full((rows * columns + 40,), 9, dtype=narrow)
    defined(narrowed)[(1,)](x, memory[20:], rows, columns, ROWS=4, COLUMNS=16)
    assert torch.equal(memory[20:20 + rows * columns], (x * 2).to(narrow))
    assert (memory[:20] == 9).all() and (memory[20 + rows * columns:] == 9).all()


def normalized(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + tl.program_id(0) * n + at, (value / tl.sum(value, 0)).to(out.dtype.element_ty), mask=at < n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_softmax(processor, dtype):
    x = torch.randn(5, 77).to(dtype)
    out = torch.empty_like(x)
    defined(normalized)[(5,)](x, out, 77, BLOCK=128)
    torch.testing.assert_close(out.double(), x.double().softmax(1), rtol=1e-2 if dtype.itemsize == 2 else 1e-5, atol=1e-4)


def multiplied(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    product = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]))
    tl.store(c + m[:, None] * N + n[None, :], product)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int8], ids=str)
def test_product(processor, dtype):
    a, b = torch.randint(-4, 5, (32, 48)).to(dtype), torch.randint(-4, 5, (48, 64)).to(dtype)
    c = torch.empty(32, 64, dtype=torch.int32 if dtype == torch.int8 else torch.float32)
    defined(multiplied)[(1,)](a, b, c, M=32, N=64, K=48)
    assert torch.equal(c.double(), a.double() @ b.double())


def code_of(processor, monkeypatch):
    monkeypatch.setenv("TEGULA_CPU", processor)
    x = torch.zeros(64)
    return defined(added)[(1,)](x, torch.zeros(64), 64, BLOCK=64).asm["asm"]


@pytest.mark.skipif("avx2" not in FLAGS, reason="a processor without AVX2")
def test_code_is_for_the_processor_that_is_named(monkeypatch):
    assert "%ymm" not in code_of("x86-64-v2", monkeypatch)
    assert "%ymm" in code_of("x86-64-v3", monkeypatch)


def test_a_processor_that_nobody_knows_is_refused(monkeypatch):
    with pytest.raises(triton.CompilationError, match="no x86-64 machine named `vax`"):
        code_of("vax", monkeypatch)


@pytest.mark.skipif("amx_tile" in FLAGS, reason="a processor with AMX")
def test_code_with_instructions_that_are_not_there_is_not_run(monkeypatch):
    with pytest.raises(triton.CompilationError, match=r"was compiled for `sapphirerapids`, and this processor has no .*amx-tile.*\n.*\n.*\n.*`native` is this machine"):
        code_of("sapphirerapids", monkeypatch)
