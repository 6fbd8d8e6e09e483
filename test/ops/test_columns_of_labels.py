"""One number compared with the places of a row's elements, in loops and outside: labels of each width, outside of the row too."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def in_trips_kernel(label_ptr, out_ptr, n, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    label = tl.load(label_ptr + tl.program_id(0))
    out_ptr += tl.program_id(0) * n
    if WIDE:
        n = tl.cast(n, tl.int64)
    for start in tl.range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + column, tl.where(column == label, 2, 1) + (label != column + 3), column < n)


@triton.jit
def at_once_kernel(label_ptr, out_ptr, n, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    label = tl.load(label_ptr + tl.program_id(0))
    first = (tl.program_id(1) * BLOCK).to(tl.int64 if WIDE else tl.int32)
    column = first - 3 + tl.arange(0, BLOCK)
    place = first + tl.arange(0, BLOCK)
    equal = tl.where(column + 3 == label, 2, 1) + (label != column + 6)
    tl.store(out_ptr + tl.program_id(0) * n + place, equal, place < n)


LABELS = [0, 1, 5, 255, 256, 511, 700, 1099, 1100, 5000, -1, -3, -100, -(2**31), 2**31 - 1]
WIDER = [2**32, 2**32 + 5, 2**32 - 1, -(2**32) + 7, 2**31, 2**31 + 5, 2**63 - 1, -(2**63), -(2**63) + 5, 2**63 - 3]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("kernel", [in_trips_kernel, at_once_kernel], ids=["in_trips", "at_once"])
def test_only_the_label_is_found(target, kernel, dtype, wide):
    dtype = getattr(torch, dtype)
    limits = torch.iinfo(dtype)
    labels = [each for each in LABELS + WIDER if limits.min <= each <= limits.max]
    n, block = 1100, 512
    given = torch.tensor([each - 2**64 if each >= 2**63 else each for each in labels], dtype=torch.int64).to(dtype)
    out = torch.zeros(len(labels), n, dtype=torch.int32)
    grid = (len(labels), 1 if kernel is in_trips_kernel else triton.cdiv(n, block))
    kernel[grid](given, out, n, block, wide, num_warps=2)
    columns = range(n)
    expected = [[(2 if c == label else 1) + (label != c + 3) for c in columns] for label in labels]
    torch.testing.assert_close(out, torch.tensor(expected, dtype=torch.int32))
