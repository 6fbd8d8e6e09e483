"""Integer operations by clauses N1 to N5, in NumPy and Python integers: the oracle of test_integer_arithmetic."""
import numpy as np

TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def interesting(dtype, count=64, seed=0):
    """Extremes, neighbours of zero, powers of two, random bits."""
    info = np.iinfo(dtype)
    edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, info.max // 2]
    if info.min < 0:
        edges += [-1, -2, -3, -7]
    rng = np.random.default_rng(seed)
    rest = rng.integers(info.min, info.max, count - len(edges), dtype=dtype, endpoint=True)
    return np.concatenate([np.array(edges, dtype=dtype), rest])


def wrapped(values, dtype):
    """Python integers modulo 2^width, as the type has them."""
    width = np.iinfo(dtype).bits
    unsigned = [int(v) & ((1 << width) - 1) for v in values]
    return np.array(unsigned, dtype=f"uint{width}").view(dtype)


def truncating(a, b):
    if b == 0:
        return 0, 0
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def shifted(a, amount, width, left):
    amount &= (1 << width) - 1
    if left:
        return a << amount if amount < width else 0
    return a >> min(amount, width)  # Python's >> fills with the sign


def apply(op, x, y, dtype):
    width = np.iinfo(dtype).bits
    functions = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "floordiv": lambda a, b: truncating(a, b)[0], "mod": lambda a, b: truncating(a, b)[1],
        "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
        "shl": lambda a, b: shifted(a, b, width, True), "shr": lambda a, b: shifted(a, b, width, False),
        "max": max, "min": min, "neg": lambda a, b: -a, "not": lambda a, b: ~a,
    }
    return wrapped([functions[op](int(a), int(b)) for a, b in zip(x, y)], dtype)
