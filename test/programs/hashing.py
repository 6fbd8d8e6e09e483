"""Hashes of 32 and 64 bits, a Bloom filter in packed bits, xorshift: arithmetic that must wrap."""
import torch
import triton
import triton.language as tl

from beside import integers, same


@triton.jit
def rotl32(x, r: tl.constexpr):
    return (x << r) | (x >> (32 - r))


@triton.jit
def murmur3(key, seed):
    h = tl.zeros_like(key).to(tl.uint32) + seed
    k = key.to(tl.uint32)
    k *= 0xCC9E2D51
    k = rotl32(k, 15)
    k *= 0x1B873593
    h ^= k
    h = rotl32(h, 13)
    h = h * 5 + 0xE6546B64
    h ^= 4
    h ^= h >> 16
    h *= 0x85EBCA6B
    h ^= h >> 13
    h *= 0xC2B2AE35
    h ^= h >> 16
    return h


@triton.jit
def murmur_kernel(x_ptr, out_ptr, n, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, murmur3(x, seed).to(tl.int64), mask=i < n)


@triton.jit
def fnv_kernel(bytes_ptr, out_ptr, n, LENGTH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.full((BLOCK,), 0xCBF29CE484222325, dtype=tl.uint64)
    for j in range(LENGTH):
        b = tl.load(bytes_ptr + i * LENGTH + j, mask=i < n, other=0)
        h = (h ^ b) * 0x100000001B3
    tl.store(out_ptr + i, h.to(tl.int64, bitcast=True), mask=i < n)


@triton.jit
def bloom_kernel(keys_ptr, bits_ptr, found_ptr, n, nbits, PROBE: tl.constexpr, HASHES: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys_ptr + i, mask=i < n, other=0)
    found = tl.full((BLOCK,), 1, tl.int1)
    for s in tl.static_range(HASHES):
        place = murmur3(key, s) % nbits.to(tl.uint32)
        word, bit = (place >> 5).to(tl.int32), (place & 31).to(tl.int32)
        if PROBE:
            found &= ((tl.load(bits_ptr + word) >> bit) & 1) != 0
        else:
            tl.atomic_or(bits_ptr + word, (1 << bit).to(tl.int32), mask=i < n)
    if PROBE:
        tl.store(found_ptr + i, found, mask=i < n)


def murmur_of(key, seed):
    mask, h, k = 0xFFFFFFFF, seed, key * 0xCC9E2D51 & 0xFFFFFFFF
    rotl = lambda x, r: (x << r | x >> (32 - r)) & mask
    h ^= rotl(k, 15) * 0x1B873593 & mask
    h = (rotl(h, 13) * 5 + 0xE6546B64) & mask ^ 4
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


def check_murmur(device):
    x = integers(0, 2**31 - 1, (100,), device=device)
    out = torch.zeros(100, dtype=torch.int64, device=device)
    murmur_kernel[(1,)](x, out, 100, 42, BLOCK=128)
    assert out.tolist() == [murmur_of(k, 42) for k in x.tolist()]


def check_fnv(device):
    text = integers(0, 256, (40, 7), device=device, dtype=torch.uint8)
    out = torch.zeros(40, dtype=torch.int64, device=device)
    fnv_kernel[(2,)](text, out, 40, LENGTH=7, BLOCK=32)
    for row, found in zip(text.tolist(), out.tolist()):
        h = 0xCBF29CE484222325
        for b in row:
            h = (h ^ b) * 0x100000001B3 % 2**64
        assert h == found % 2**64


def check_bloom_filter(device):
    keys = integers(0, 10**9, (50,), device=device)
    bits, found = torch.zeros(32, dtype=torch.int32, device=device), torch.zeros(50, dtype=torch.bool, device=device)
    bloom_kernel[(1,)](keys, bits, None, 50, 1024, PROBE=False, HASHES=3, BLOCK=64)
    bloom_kernel[(1,)](keys, bits, found, 50, 1024, PROBE=True, HASHES=3, BLOCK=64)
    assert found.all()
    strangers = torch.zeros_like(found)
    bloom_kernel[(1,)](keys + 10**9, bits, strangers, 50, 1024, PROBE=True, HASHES=3, BLOCK=64)
    assert strangers.sum() <= 5
    set_bits = sum(bin(w & 0xFFFFFFFF).count("1") for w in bits.tolist())
    assert set_bits == len({murmur_of(k, s) % 1024 for k in keys.tolist() for s in range(3)})
