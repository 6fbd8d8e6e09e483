"""Philox-4x32-10 in NumPy, written from the constants of the language page: the oracle of tl.rand."""
import numpy as np

ROUND_A, ROUND_B = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
KEY_A, KEY_B = 0x9E3779B9, 0xBB67AE85
MASK = np.uint64(0xFFFFFFFF)


def philox4x32(seed, c0, c1=0, c2=0, c3=0, rounds=10):
    """Four arrays of uint32 for an array of counters."""
    c0 = np.atleast_1d(np.asarray(c0)).astype(np.uint64) & MASK
    c1, c2, c3 = (np.broadcast_to(np.asarray(c, dtype=np.uint64), c0.shape) for c in (c1, c2, c3))
    key = seed & 0xFFFFFFFFFFFFFFFF
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(rounds):
        a, b = ROUND_A * c0, ROUND_B * c2
        c0, c2 = (b >> np.uint64(32)) ^ c1 ^ np.uint64(k0), (a >> np.uint64(32)) ^ c3 ^ np.uint64(k1)
        c1, c3 = b & MASK, a & MASK
        k0, k1 = (k0 + KEY_A) & 0xFFFFFFFF, (k1 + KEY_B) & 0xFFFFFFFF
    return [c.astype(np.uint32) for c in (c0, c1, c2, c3)]


def uniform(words):
    """uint32 -> f32 in [0, 1)."""
    signed = words.view(np.int32)
    return np.where(signed < 0, ~signed, signed).astype(np.float32) * np.float32(4.6566127342e-10)


def rand(seed, offsets):
    return uniform(philox4x32(seed, offsets)[0])
