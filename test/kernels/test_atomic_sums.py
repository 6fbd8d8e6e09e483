"""Atomic sums of floats on the cores, 16 bytes at once: of rows that start anywhere, with lanes that are off, beside
sums of other programs that meet the same bytes. The bytes beside a row stay as they are.
"""
import ctypes
import mmap

import pytest
import torch

import tegula as triton
import tegula.language as tl

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.fixture(autouse=True)
def cpu():
    import tegula
    tegula.set_target("cpu")


@triton.jit
def row_kernel(out, values, first, last, old, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    before = tl.atomic_add(out + i, tl.load(values + i), mask=(i >= first) & (i < last))
    tl.store(old + i, before)


def anything(count, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-8, 8, (count, ), generator=generator).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", [16, 64])
def test_values(dtype, block):
    for start in range(9):
        for first, last in [(0, block), (0, 0), (0, block - 1), (3, block), (5, 7), (block - 1, block), (2, 14)]:
            room = anything(block + 32, dtype, 1)
            room[0] = room[-1] = float("inf")
            values, old = anything(block, dtype, 2), torch.full((block, ), 77, dtype=dtype)
            expected, before = room.clone(), torch.zeros(block, dtype=dtype)
            at = slice(start + first, start + last)
            before[first:last] = expected[at]
            expected[at] += values[first:last]
            row_kernel[(1, )](room[start:], values, first, last, old, BLOCK=block)
            bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
            assert torch.equal(room.view(bits), expected.view(bits)), (start, first, last)
            assert torch.equal(old, before), (start, first, last)


def test_signs_of_zeros_beside_it():
    """A lane that is off adds no zero: -0.0 stays."""
    out, old = torch.full((16, ), -0.0), torch.empty(16)
    row_kernel[(1, )](out, torch.zeros(16), 5, 7, old, BLOCK=16)
    assert torch.signbit(out).tolist() == [not 5 <= i < 7 for i in range(16)]


@triton.jit
def rows_kernel(out, index, columns, BLOCK: tl.constexpr):
    row, i = tl.load(index + tl.program_id(0)), tl.arange(0, BLOCK)
    tl.atomic_add(out + row * columns + i, tl.full([BLOCK], 1, out.dtype.element_ty), mask=i < columns)


@triton.jit
def single_kernel(out, columns):
    tl.atomic_add(out + tl.program_id(0) % columns, 1.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 3, 17, 31, 32])
def test_no_sum_is_lost(dtype, columns):
    """Neighbouring rows share blocks of 16 bytes."""
    programs, rows = 20000, 97
    most = {torch.float16: 2048, torch.bfloat16: 256}.get(dtype, programs)
    index = torch.arange(programs, dtype=torch.int32) % rows
    for _ in range(3):
        out = torch.zeros(rows * columns, dtype=dtype)
        rows_kernel[(programs, )](out, index, columns, BLOCK=32)
        counts = torch.bincount(index.long()).clamp(max=most)
        assert torch.equal(out.view(rows, columns), counts.to(dtype)[:, None].expand(rows, columns))


@triton.jit
def mixed_kernel(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) % 2:
        tl.atomic_add(out + 1 + i, tl.full([BLOCK], 1.0, tl.float32))
    else:
        tl.atomic_add(out + tl.program_id(0) // 2 % (BLOCK + 2), 1.0)


def test_sums_of_two_widths_meet():
    programs = 18 * 4000
    out = torch.zeros(18)
    mixed_kernel[(programs, )](out, BLOCK=16)
    expected = torch.full((18, ), programs / 2 / 18)
    expected[1:17] += programs / 2
    assert torch.equal(out, expected)


def test_at_the_end_of_memory():
    """No byte of the next page is touched: it cannot be."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    whole = torch.frombuffer(memory, dtype=torch.float32)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(whole.data_ptr() + page), ctypes.c_size_t(page), 0) == 0
    try:
        out, old = whole[:page // 4], torch.empty(32)
        expected = torch.zeros_like(out)
        for count in (16, 17, 13, 2):
            first = 16 if count < 16 else 0
            row_kernel[(1, )](out[out.numel() - count - first:], torch.ones(32), first, first + count, old, BLOCK=32)
            expected[-count:] += 1
        assert torch.equal(out, expected)
    finally:
        libc.mprotect(ctypes.c_void_p(whole.data_ptr() + page), ctypes.c_size_t(page), 3)
