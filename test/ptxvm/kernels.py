"""Kernels that exchange values between lanes, warps and blocks, for the machine to check."""
import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, in_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(in_ptr + row * stride + offsets, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def transpose(out_ptr, in_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(in_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + columns[:, None] * ROWS + rows[None, :], tl.trans(x))


@triton.jit
def column_sums(out_ptr, in_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(in_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + columns, tl.sum(x, axis=0))


@triton.jit
def total(out_ptr, in_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(in_ptr + offsets, mask=offsets < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))


@triton.jit
def twice_in_place(out_ptr, in_ptr, BLOCK: tl.constexpr):
    """A tile smaller than the block: several threads hold each element, one stores it."""
    offsets = tl.arange(0, BLOCK)
    x = tl.load(out_ptr + offsets) + tl.load(in_ptr + offsets)
    tl.store(out_ptr + offsets, x)
    tl.store(out_ptr + offsets, tl.load(out_ptr + offsets) * 2)
