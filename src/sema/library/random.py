"""Random numbers: Philox-4x, a block cipher over counters (Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3", SC 2011). Bit for bit what Triton gives."""
import triton
import triton.language as tl


@triton.jit
def philox_impl(c0: integer, c1: integer, c2: integer, c3: integer, k0: integer, k1: integer, n_rounds: count = 10):
    tl.static_assert(c0.dtype == tl.uint32 or c0.dtype == tl.uint64, "philox needs uint32 or uint64 counters")
    is_wide: tl.constexpr = c0.dtype == tl.uint64
    multiplier_a: tl.constexpr = 0xD2E7470EE14C6C93 if is_wide else 0xD2511F53
    multiplier_b: tl.constexpr = 0xCA5A826395121157 if is_wide else 0xCD9E8D57
    weyl_a: tl.constexpr = 0x9E3779B97F4A7C15 if is_wide else 0x9E3779B9
    weyl_b: tl.constexpr = 0xBB67AE8584CAA73B if is_wide else 0xBB67AE85
    for _ in tl.static_range(n_rounds):
        old_c0 = c0
        old_c2 = c2
        c0 = tl.umulhi(old_c2, multiplier_b) ^ c1 ^ k0
        c2 = tl.umulhi(old_c0, multiplier_a) ^ c3 ^ k1
        c1 = old_c2 * multiplier_b
        c3 = old_c0 * multiplier_a
        k0 = k0 + weyl_a
        k1 = k1 + weyl_b
    return c0, c1, c2, c3


@triton.jit
def philox(seed: integer, c0: integer, c1: integer, c2: integer, c3: integer, n_rounds: count = 10):
    key = tl.to_tensor(seed).to(tl.uint64)
    counter = tl.to_tensor(c0)
    if counter.dtype.primitive_bitwidth == 32:
        return philox_impl(counter.to(tl.uint32), tl.to_tensor(c1).to(tl.uint32), tl.to_tensor(c2).to(tl.uint32),
                           tl.to_tensor(c3).to(tl.uint32), key.to(tl.uint32), (key >> 32).to(tl.uint32), n_rounds)
    else:
        return philox_impl(counter.to(tl.uint64), tl.to_tensor(c1).to(tl.uint64), tl.to_tensor(c2).to(tl.uint64),
                           tl.to_tensor(c3).to(tl.uint64), key, tl.full((), 0, tl.uint64), n_rounds)


@triton.jit
def randint4x(seed: integer, offset: integer, n_rounds: count = 10):
    counter = tl.to_tensor(offset)
    low = counter.to(tl.uint32)
    zero = tl.zeros_like(low)
    if counter.dtype.primitive_bitwidth > 32:
        high = (counter >> 32).to(tl.uint32)
        return philox(seed, low, high, zero, zero, n_rounds)
    else:
        return philox(seed, low, zero, zero, zero, n_rounds)


@triton.jit
def randint(seed: integer, offset: integer, n_rounds: count = 10):
    word, _, _, _ = randint4x(seed, offset, n_rounds)
    return word


@triton.jit
def uint_to_uniform_float(x: integer):
    # As a signed number; negative ones fold onto the non-negative. Then scaled into [0, 1).
    if x.dtype.primitive_bitwidth == 32:
        bits = x.to(tl.int32, bitcast=True)
        return tl.where(bits < 0, -bits - 1, bits) * 4.6566127342e-10
    else:
        tl.static_assert(x.dtype.primitive_bitwidth == 64, "uint_to_uniform_float needs 32 or 64 bits")
        wide_bits = x.to(tl.int64, bitcast=True)
        return tl.where(wide_bits < 0, -wide_bits - 1, wide_bits) * 1.0842020432385337e-19


@triton.jit
def rand(seed: integer, offset: integer, n_rounds: count = 10):
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@triton.jit
def rand4x(seed: integer, offsets: integer, n_rounds: count = 10):
    w0, w1, w2, w3 = randint4x(seed, offsets, n_rounds)
    return (uint_to_uniform_float(w0), uint_to_uniform_float(w1), uint_to_uniform_float(w2),
            uint_to_uniform_float(w3))


@triton.jit
def pair_uniform_to_normal(u1: real, u2: real):
    # Box and Muller; the logarithm of 0 is kept away.
    radius = tl.sqrt(-2.0 * tl.log(tl.maximum(1.0e-7, u1)))
    angle = 6.283185307179586 * u2
    return radius * tl.cos(angle), radius * tl.sin(angle)


@triton.jit
def randn(seed: integer, offset: integer, n_rounds: count = 10):
    w0, w1, _, _ = randint4x(seed, offset, n_rounds)
    normal, _ = pair_uniform_to_normal(uint_to_uniform_float(w0), uint_to_uniform_float(w1))
    return normal


@triton.jit
def randn4x(seed: integer, offset: integer, n_rounds: count = 10):
    u0, u1, u2, u3 = rand4x(seed, offset, n_rounds)
    n0, n1 = pair_uniform_to_normal(u0, u1)
    n2, n3 = pair_uniform_to_normal(u2, u3)
    return n0, n1, n2, n3
