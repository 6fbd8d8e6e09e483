"""Sort of unsigned keys with values, four bits a pass: count, scan, scatter in order."""
import torch
import triton
import triton.language as tl

from beside import integers, same

RADIX_BITS = tl.constexpr(4)
RADIX = tl.constexpr(16)


@triton.jit
def digit_of(key, shift):
    return ((key >> shift) & (RADIX - 1)).to(tl.int32)


@triton.jit
def count_kernel(keys, counts, n, shift, num_blocks, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    digit = digit_of(tl.load(keys + offs, mask=mask, other=0), shift)
    hist = tl.histogram(digit, RADIX, mask=mask)
    # by digit, then by block: a scan gives where each block puts each digit
    tl.store(counts + tl.arange(0, RADIX) * num_blocks + pid, hist)


@triton.jit
def exclusive_scan_kernel(x, n, BLOCK: tl.constexpr):
    carry = tl.zeros((), tl.int32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        v = tl.load(x + offs, mask=offs < n, other=0)
        tl.store(x + offs, tl.cumsum(v, 0) - v + carry, mask=offs < n)
        carry += tl.sum(v, 0)


@triton.jit
def scatter_kernel(keys, values, keys_out, values_out, offsets, n, shift, num_blocks, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    key = tl.load(keys + offs, mask=mask, other=0)
    value = tl.load(values + offs, mask=mask, other=0)
    digit = tl.where(mask, digit_of(key, shift), RADIX)
    mine = digit[:, None] == tl.arange(0, RADIX)[None, :]
    before = tl.cumsum(mine.to(tl.int32), axis=0)
    rank = tl.sum(tl.where(mine, before - 1, 0), axis=1)
    base = tl.load(offsets + digit * num_blocks + pid, mask=mask, other=0)
    tl.store(keys_out + base + rank, key, mask=mask)
    tl.store(values_out + base + rank, value, mask=mask)


def radix_sort(keys, values, bits=32, BLOCK=64):
    n = keys.numel()
    blocks = triton.cdiv(n, BLOCK)
    counts = torch.empty(RADIX.value * blocks, dtype=torch.int32, device=keys.device)
    spare_keys, spare_values = torch.empty_like(keys), torch.empty_like(values)
    keys, values = keys.clone(), values.clone()
    for shift in range(0, bits, RADIX_BITS.value):
        count_kernel[(blocks,)](keys, counts, n, shift, blocks, BLOCK=BLOCK)
        exclusive_scan_kernel[(1,)](counts, counts.numel(), BLOCK=128)
        scatter_kernel[(blocks,)](keys, values, spare_keys, spare_values, counts, n, shift, blocks, BLOCK=BLOCK)
        keys, spare_keys, values, spare_values = spare_keys, keys, spare_values, values
    return keys, values


def check_sorts_and_keeps_the_order_of_equal_keys(device):
    for n, bits in ((1, 4), (200, 8), (333, 16)):
        keys = integers(0, 2**bits, (n,), device=device, dtype=torch.int64).to(torch.uint32)
        values = torch.arange(n, dtype=torch.int32, device=device)
        sorted_keys, order = radix_sort(keys, values, bits)
        expected = torch.sort(keys.cpu().long(), stable=True)
        same(sorted_keys.cpu().long(), expected.values)
        same(order, expected.indices)
