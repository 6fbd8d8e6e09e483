"""Sums over rows that lie apart: what is read of a row are a few lines of the cache."""
import torch

import tegula as triton
import tegula.language as tl
from measure import Case


@triton.jit
def column_sum_kernel(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([COLUMNS], tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.sum(tl.load(x + row[:, None] * columns + column[None, :], mask=mask, other=0.0), axis=0)
    tl.store(out + column, total, mask=column < columns)


def case(rows, columns):
    x = torch.randn(rows, columns)

    def ours():
        out = torch.empty(columns)
        column_sum_kernel[(triton.cdiv(columns, 64),)](x, out, rows, columns, ROWS=32, COLUMNS=64)
        return out

    def error():
        return (ours() - x.double().sum(0)).abs().max().item(), 1e-3

    return Case(f"column_sum {rows}x{columns} f32", ours, {"torch": lambda: x.sum(0)}, error, 4 * x.numel(), "GB/s")


def cases():
    yield case(1024, 1024)
    yield case(16, 65600) # half of a tile's rows are behind the last one
