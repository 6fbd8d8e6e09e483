"""Outputs above 32 MiB that are not in memory yet: a launch that fills them asks the system for huge pages, and one
that writes a little here and there does not, since each page that it touches would become 2 MiB.
"""
import re

import pytest
import torch

import tegula as triton
import tegula.language as tl

MODE = "/sys/kernel/mm/transparent_hugepage/enabled"
FLOATS = 48 << 18  # 48 MiB


def mode():
    try:
        with open(MODE) as file:
            return re.search(r"\[(\w+)\]", file.read()).group(1)
    except OSError:
        return "none"


pytestmark = pytest.mark.skipif(mode() != "madvise", reason="the system waits for no advice")


def is_advised(tensor):
    middle = tensor.data_ptr() + tensor.numel() * tensor.itemsize // 2
    here = False
    with open("/proc/self/smaps") as file:
        for line in file:
            if bounds := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
                here = int(bounds[1], 16) <= middle < int(bounds[2], 16)
            elif here and line.startswith("VmFlags:"):
                return "hg" in line.split()
    raise AssertionError("the tensor is in no mapping")


@pytest.fixture(autouse=True)
def cpu():
    import tegula
    tegula.set_target("cpu")


@triton.jit
def block_kernel(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, i, mask=i < n)


@triton.jit
def reversed_kernel(out, n, BLOCK: tl.constexpr):
    i = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, i, mask=i < n)


@triton.jit
def planes_kernel(out, n, BLOCK: tl.constexpr):
    plane = tl.num_programs(0).to(tl.int64) * BLOCK
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(1) * plane + i, tl.program_id(1) * plane + i)


@triton.jit
def persistent_kernel(out, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), n // BLOCK, tl.num_programs(0)):
        i = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, i)


@triton.jit
def columns_kernel(out, n, BLOCK: tl.constexpr):
    for k in range(0, n, BLOCK):
        i = tl.program_id(0) * n + k + tl.arange(0, BLOCK)
        tl.store(out + i, i)


FILLING = {
    "block": (block_kernel, (FLOATS // 1024, ), FLOATS),
    "reversed": (reversed_kernel, (FLOATS // 1024, ), FLOATS),
    "planes": (planes_kernel, (256, FLOATS // (256 * 1024)), FLOATS),
    "persistent": (persistent_kernel, (7, ), FLOATS),
    "columns": (columns_kernel, (96, ), FLOATS // 96),
    "one_program_more": (block_kernel, (FLOATS // 1024 + 1, ), FLOATS),
}


@pytest.mark.parametrize("name", FILLING)
def test_filled(name):
    kernel, grid, n = FILLING[name]
    out = torch.empty(FLOATS, dtype=torch.int32)
    assert not is_advised(out)
    kernel[grid](out, n, BLOCK=1024)
    assert is_advised(out)
    assert torch.equal(out, torch.arange(FLOATS, dtype=torch.int32))


def test_memory_that_is_there_keeps_its_pages():
    out = torch.full((FLOATS, ), -1, dtype=torch.int32)
    block_kernel[(FLOATS // 1024, )](out, FLOATS, BLOCK=1024)
    assert not is_advised(out)
    assert torch.equal(out, torch.arange(FLOATS, dtype=torch.int32))


@triton.jit
def rows_kernel(out, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    tl.store(out + i, i)


@triton.jit
def scatter_kernel(out, index, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    tl.store(out + row * BLOCK + tl.arange(0, BLOCK), row)


@triton.jit
def chosen_kernel(out, chosen, BLOCK: tl.constexpr):
    if tl.load(chosen + tl.program_id(0)):
        tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1)


@triton.jit
def masked_kernel(out, chosen, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 1, mask=tl.load(chosen + i) != 0)


@triton.jit
def apart_kernel(out, BLOCK: tl.constexpr):
    """Even steps at first, and then somewhere else."""
    block = tl.program_id(0)
    block = tl.where(block == tl.num_programs(0) - 1, 1 << 14, block)
    tl.store(out + block * BLOCK + tl.arange(0, BLOCK), 1)


@triton.jit
def again_kernel(out, BLOCK: tl.constexpr):
    """All programs of the second axis store the same."""
    i = tl.program_id(0) * BLOCK * 16 + tl.arange(0, BLOCK)
    tl.store(out + i, 1)


def resident(tensor):
    """Bytes of the tensor's mapping that are in memory."""
    middle, here = tensor.data_ptr() + tensor.numel() * tensor.itemsize // 2, False
    with open("/proc/self/smaps") as file:
        for line in file:
            if bounds := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
                here = int(bounds[1], 16) <= middle < int(bounds[2], 16)
            elif here and line.startswith("Rss:"):
                return int(line.split()[1]) << 10
    raise AssertionError("the tensor is in no mapping")


def test_rows_apart():
    """48 MiB in rows of 4 KiB, 16 KiB apart: no more pages than it touches are in memory behind it."""
    out = torch.empty(4 * FLOATS, dtype=torch.int32)
    rows_kernel[(FLOATS // 1024, )](out, 4096, BLOCK=1024)
    assert not is_advised(out) and resident(out) < 128 << 20


def test_rows_with_a_small_gap():
    out = torch.empty(FLOATS * 5 // 4, dtype=torch.int32)
    rows_kernel[(FLOATS // 1024, )](out, 1280, BLOCK=1024)
    assert is_advised(out)
    rows = out.view(-1, 1280)[:, :1024]
    assert torch.equal(rows, torch.arange(out.numel(), dtype=torch.int32).view(-1, 1280)[:, :1024])


SPARSE = {
    "scattered": lambda out, zeros: scatter_kernel[(FLOATS // 1024, )](out, zeros, BLOCK=1024),
    "if": lambda out, zeros: chosen_kernel[(FLOATS // 1024, )](out, zeros, BLOCK=1024),
    "mask": lambda out, zeros: masked_kernel[(FLOATS // 1024, )](out, zeros, BLOCK=1024),
    "somewhere_else": lambda out, zeros: apart_kernel[(9000, )](out, BLOCK=1024),
    "again": lambda out, zeros: again_kernel[(1000, 64)](out, BLOCK=1024),
    "below_the_limit": lambda out, zeros: block_kernel[(8000, )](out, FLOATS, BLOCK=1024),
}


@pytest.mark.parametrize("name", SPARSE)
def test_not_filled(name):
    out = torch.empty(16385 * 1024, dtype=torch.int32)
    SPARSE[name](out, torch.zeros(FLOATS, dtype=torch.int32))
    assert not is_advised(out)
