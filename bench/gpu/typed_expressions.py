"""Expressions of every type, as text: what two compilers must give the same type and the same numbers for.

`jobs()` gives rows (type of x, type of y, body): a body is one expression of the tiles `x` and `y` of N elements, `i` = 0, 1, ... and
`at`, pointers to a copy of x, or statements that end in `r = ...`. `source(job)` is the kernel; `values(type, seed)` are N elements
of a type, its limits, zeros, infinities and NaN among them.
"""
import random

N = 256
SIGNED, UNSIGNED = [f"int{bits}" for bits in (8, 16, 32, 64)], [f"uint{bits}" for bits in (8, 16, 32, 64)]
INTEGERS, FLOATS = [*SIGNED, *UNSIGNED], ["float16", "bfloat16", "float32", "float64"]
TYPES = ["int1", *INTEGERS, *FLOATS]
EIGHT_BITS = {"float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5"}  # PyTorch's names and the language's

# The bits of a float's result are those of f64, all of a narrower one's; `meta` tells the type.
KERNEL = """import tegula as triton
import tegula.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def typed_kernel(xp, yp, copy, floats, integers, meta, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(xp + i){x_is_bool}
    y = tl.load(yp + i){y_is_bool}
    at = copy + i
    {body}
    if r.dtype.is_floating():
        tl.store(floats + i, r.to(tl.float64))
        tl.store(meta, r.dtype.primitive_bitwidth + (500 if r.dtype == tl.bfloat16 else 0))
    else:
        tl.store(integers + i, r.to(tl.int64))
        tl.store(meta, 1000 + r.dtype.primitive_bitwidth + (200 if r.dtype.is_int_signed() else 0))
"""


def source(job):
    of_x, of_y, body = job
    statements = body if "r = " in body else f"r = {body}"
    return KERNEL.format(body="\n    ".join(statements.split("; ")), x_is_bool=" != 0" if of_x == "int1" else "",
                         y_is_bool=" != 0" if of_y == "int1" else "")


def bits(name):
    return 8 if name in EIGHT_BITS else int(name.lstrip("abcdefghijklmnopqrstuvwxyz"))


def is_integer(name):
    return name == "int1" or name in INTEGERS


# --- expressions ---


def of_two(a, b):
    """Of tiles of two types. What the language leaves undefined, or both refuse, is left out."""
    yield from ["x + y", "x - y", "x * y", "x < y", "x >= y", "x == y", "x != y", "tl.where(x > y, x, y)"]
    if {a, b} != {"int1"}:
        yield from ["tl.maximum(x, y)", "tl.minimum(x, y)"]
    if not (is_integer(a) and is_integer(b)):
        yield "x / y"
    else:
        yield from ["x & y", "x | y", "x ^ y"]
        if "int1" not in (a, b):
            count = min(bits(a), bits(b)) - 1
            yield from [f"x << (y & {count})", f"x >> (y & {count})"]
            if (a in SIGNED) == (b in SIGNED):
                divisor = "tl.where(y == 0, 3, tl.where(y == -1, 5, y))" if b in SIGNED else "tl.where(y == 0, 3, y)"
                yield from [f"x {op} {divisor}" for op in ("//", "%", "/")]
    if not is_integer(a) and not is_integer(b):
        yield from ["tl.fma(x, y, x)", "x % y"]


def of_numbers(a):
    """Of a tile and numbers."""
    yield from ["x + 3", "3 - x", "x * 0.5", "x * 0.1", "0.1 + x", "x > 0.1", "x <= 0.1", "0.3 < x", "x == 100", "x != 2", "x > 1000", "x >= -1",
                "tl.maximum(x, 1)", "tl.minimum(x, 0.3)", "tl.where(x > 1, x, 0)", "tl.where(x > 1, x, 0.25)", "tl.where(x > 1, 1, 0)",
                "x + True", "x * 1e300", "x + 5000000000", "x - 3000000000"]
    if a != "int1":
        yield from ["tl.abs(x)", "-x", "tl.maximum(x, 1000)", "tl.minimum(x, -1)"]
    if is_integer(a):
        yield from ["~x", "x & 3", "x | 5", "3 ^ x"]
        if a != "int1":
            yield from ["x // 3", "x % 3", "x / 3", "x << 1", "x >> 1", "3 << (x & 3)", "100 // tl.where(x == 0, 1, x)", "tl.cdiv(x, 7)"]
    else:
        yield from ["x / 3", "x % 3", "tl.fma(x, 2, 1)", "tl.fma(x, 0.1, x)", "tl.clamp(x, -1.0, 1.0)"]


def conversions(a):
    for to in TYPES[1:]:
        if is_integer(to) and not is_integer(a):
            yield f"tl.where((x < 100) & (x >= {-99 if to in SIGNED else 0}), x, 1.0).to(tl.{to})"  # others are undefined
        else:
            yield f"x.to(tl.{to})"
        if a != "int1" and bits(to) == bits(a) and to != a:
            yield f"x.to(tl.{to}, bitcast=True)"
    for to in EIGHT_BITS.values():
        if a in FLOATS:
            yield f"x.to(tl.{to}).to(tl.float32)"
    for rounding in ("rtne", "rtz"):
        for to in FLOATS:
            if a in FLOATS and bits(to) < bits(a):
                yield f'x.to(tl.{to}, fp_downcast_rounding="{rounding}").to(tl.float32)'


def of_neighbours(a):
    """Reductions, scans and sorts, and what moves elements."""
    spread = "r = tl.broadcast_to(v, (N,))"
    yield from [f"v = tl.{name}(x, 0); {spread}" for name in ("max", "min", "argmax", "argmin", *(["sum", "xor_sum"] if is_integer(a) else []))]
    yield from ["tl.sort(x)", "tl.sort(x, descending=True)", "tl.flip(x, 0)", "tl.gather(x, i * 7 % N, 0)", "tl.associative_scan(x, 0, larger)",
                "tl.reshape(tl.topk(x, 16), (16, 1)).broadcast_to(16, 16).reshape(N)", "tl.load(xp + i, mask=i < 100, other=3)",
                "tl.join(x, y).permute(1, 0).reshape(N, 2).split()[0]"]
    yield "tl.cumsum(x, 0, reverse=True)" if is_integer(a) else "tl.cumprod(tl.where(x > 0, 1.0, -1.0).to(x.dtype), 0)"


def atomics(a):
    names = ["add", "xchg", *(["max", "min", "and", "or", "xor"] if a in INTEGERS else ["max", "min"] if bits(a) >= 32 else [])]
    for name in names:
        for order in ("", ', sem="relaxed"', ', sem="acquire", scope="cta"'):
            yield f"r = tl.atomic_{name}(at, y{order})"
            yield f"tl.atomic_{name}(at, y, mask=i % 3 != 0{order}); tl.debug_barrier(); r = tl.load(at)"
    yield from ["r = tl.atomic_cas(at, x, y)", "tl.atomic_cas(at, tl.where(i % 2 == 0, x, y), y); tl.debug_barrier(); r = tl.load(at)"]


RANDOM = ["tl.rand(7, i)", "tl.randint(7, i)", "tl.rand4x(3, i)[2]", "tl.randint4x(5, i, 7)[3]", "tl.philox(3, i, 0, 0, 0)[1]", "tl.rand(2**40 + 5, i)",
          "tl.randint(-3, i)", "tl.rand(7, i.to(tl.int64) + 2**33)", "tl.uint_to_uniform_float(i * 12345)"]
EXACT = ("floor ceil trunc round rint nearbyint llrint llround isnan isinf signbit finitef ffs popc clz brev abs fmod copysign fdim float2int_rn float2int_rd "
         "float2uint_rn float_as_int double2int_rz double2ll_rn int2float_rn int2float_rz ll2float_ru ull2double_rd float2ll_ru double2float_rd hadd rhadd "
         "mulhi sad byte_perm saturatef add_rn mul_rz div_rn sqrt_rn rcp_rn fma_rd").split()  # of libdevice; operands decide which a type has


def jobs():
    found = [(a, a, body) for a in TYPES for bodies in (of_numbers, conversions) for body in bodies(a)]
    found += [(a, a, body) for a in TYPES[1:] for body in of_neighbours(a)]
    found += [(a, a, body) for a in TYPES[1:] if a in FLOATS or bits(a) >= 32 for body in atomics(a)]
    found += [(a, b, body) for a in TYPES for b in TYPES for body in of_two(a, b)]
    found += [(a, a, body) for a in EIGHT_BITS for body in ("x.to(tl.float16)", "x.to(tl.float32)", "x.to(tl.int8, bitcast=True)")]
    found += [("int32", "int32", body) for body in RANDOM]
    return found + [(a, a, f"tl.extra.cuda.libdevice.{name}({given})") for name in EXACT for a in [*INTEGERS, *FLOATS] if bits(a) >= 32
                    for given in ("x", "x, y", "x, y, x")]


# --- elements ---


def values(name, seed):
    """N elements as a PyTorch tensor: of int1 as bytes that are 0 or 1, of 8-bit floats all there are."""
    import torch

    shuffled = random.Random(seed)
    if name in EIGHT_BITS:
        return torch.tensor(shuffled.sample(range(N), N), dtype=torch.uint8).view(getattr(torch, name))
    if name == "int1":
        return torch.tensor([shuffled.random() < 0.5 for _ in range(N)]).to(torch.int8)
    if name in FLOATS:
        edges = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 0.1, -0.1, 0.3, 1, 2, 3, 100, 0.5, 1.5, 65504, -65504, 1e-7, 1e-40, 3e38]
        found = edges + [shuffled.gauss(0, 4) * (1000 if k % 5 == 0 else 1) for k in range(N - len(edges))]
        return torch.tensor(shuffled.sample(found, N), dtype=torch.float64).to(getattr(torch, name))
    width = bits(name)
    least, most = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if name in SIGNED else (0, 2**width - 1)
    edges = [least, least + 1, most, most - 1, 0, 1, 2, 3, 5, 100, 127, *(max(least, -k) for k in (1, 2, 3, 100))]
    found = edges + [shuffled.randint(max(least, -9), 9) if k % 2 else shuffled.randint(least, most) for k in range(N - len(edges))]
    wrapped = [k - 2**width if k >= 2 ** (width - 1) else k for k in shuffled.sample(found, N)]
    return torch.tensor(wrapped, dtype=getattr(torch, f"int{width}")).view(getattr(torch, name))
