"""Loads of elements of less than a byte: bytes in, elements as uint8 codes out (builtins/PackedMemory.cpp)."""
import triton
import triton.language as tl


@triton.jit
def load_packed(base, index, mask, bits: tl.constexpr, cache: tl.constexpr, eviction: tl.constexpr):
    # Eight elements are `bits` bytes, so that no product is larger than the address.
    within = (index & 7) * bits
    byte = (index >> 3) * bits + (within >> 3)
    shift = (within & 7).to(tl.uint32)
    if mask is None:
        word = tl.load(base + byte, cache_modifier=cache, eviction_policy=eviction).to(tl.uint32)
    else:
        word = tl.load(base + byte, mask=mask, cache_modifier=cache, eviction_policy=eviction).to(tl.uint32)
    if 8 % bits != 0:
        # Only elements that cross the end of a byte touch the next one.
        crosses = shift + bits > 8
        if mask is not None:
            crosses = crosses & mask
        high = tl.load(base + byte + 1, mask=crosses, other=0, cache_modifier=cache, eviction_policy=eviction)
        word = word | (high.to(tl.uint32) << 8)
    return ((word >> shift) & ((1 << bits) - 1)).to(tl.uint8)


@triton.jit
def load_packed_run(base, first, mask, n: tl.constexpr, begins_at_byte: tl.constexpr, bits: tl.constexpr, cache: tl.constexpr,
                    eviction: tl.constexpr):
    # Rows of n consecutive elements from first[row, 0] on. Eight of them are a word of `bits` bytes, and of one more
    # where the row begins within a byte; the elements are shifted out of the word in registers. `mask` has an element for
    # each of them, or one for each row.
    rows: tl.constexpr = first.shape[0]
    groups: tl.constexpr = n // 8
    byte = (first >> 3) * bits + tl.arange(0, groups)[None, :] * bits
    at = (tl.arange(0, 8) * bits)[None, :]  # where the elements begin in their word
    parts: tl.constexpr = bits if begins_at_byte else bits + 1
    if not begins_at_byte:
        within = (first & 7) * bits
        phase = within & 7
        byte += within >> 3
        at += phase
    wide: tl.constexpr = tl.uint64 if bits > (4 if begins_at_byte else 3) else tl.uint32
    word = tl.zeros((rows, groups), wide)
    for j in tl.static_range(parts):
        if mask is not None and mask.shape[1] != 1:
            touches = (at < 8 * (j + 1)) & (at + bits > 8 * j)
            used = touches[:, None, :] & tl.reshape(mask, (rows, groups, 8))
            wanted = tl.max(used.to(tl.int32), 2) != 0
            part = tl.load(base + byte + j, mask=wanted, other=0, cache_modifier=cache, eviction_policy=eviction)
        elif mask is not None or j == bits:
            wanted = phase != 0 if j == bits else mask
            if mask is not None and j == bits:
                wanted = wanted & mask
            wanted = tl.broadcast_to(wanted, (rows, groups))
            part = tl.load(base + byte + j, mask=wanted, other=0, cache_modifier=cache, eviction_policy=eviction)
        else:
            part = tl.load(base + byte + j, cache_modifier=cache, eviction_policy=eviction)
        word = word | (part.to(wide) << (8 * j))
    codes = (word[:, :, None] >> at.to(wide)[:, None, :]) & ((1 << bits) - 1)
    return tl.reshape(codes.to(tl.uint8), (rows, n))


@triton.jit
def decode_packed(code, bits: tl.constexpr, is_signed: tl.constexpr):
    if is_signed:
        return (code << (8 - bits)).to(tl.int8) >> (8 - bits)
    else:
        return code
