"""Moves elements within one buffer: right only because a tile is read whole before it is written (M2)."""
import tegula as triton
import tegula.language as tl


@triton.jit
def shift_kernel(ptr, n, distance, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(ptr + offsets + distance, tl.load(ptr + offsets, mask=mask), mask=mask)


@triton.jit
def shift_by_one_kernel(ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(ptr + i + 1, tl.load(ptr + i, mask=i < n), mask=i < n)


@triton.jit
def reverse_kernel(ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(ptr + (n - 1 - i), tl.load(ptr + i, mask=i < n), mask=i < n)


@triton.jit
def running_kernel(ptr, n, BLOCK: tl.constexpr):
    """Each trip reads what the trip before it wrote, one place further."""
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(ptr + i, mask=i < n)
        tl.store(ptr + i + 1, x + 1, mask=i < n)


@triton.jit
def swap_kernel(a_ptr, b_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n)
    b = tl.load(b_ptr + i, mask=i < n)
    tl.store(a_ptr + i, b, mask=i < n)
    tl.store(b_ptr + i, a, mask=i < n)


@triton.jit
def reload_kernel(src_ptr, dst_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The second load must see the store when dst overlaps src."""
    i = tl.arange(0, BLOCK)
    before = tl.load(src_ptr + i, mask=i < n)
    tl.store(dst_ptr + i, before * 2, mask=i < n)
    after = tl.load(src_ptr + i, mask=i < n)
    tl.store(out_ptr + i, before * 1000 + after, mask=i < n)
