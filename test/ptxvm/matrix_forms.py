"""Forms of the matrix instructions and the asynchronous copies, for forms.py: their PTX, and operands that tell one way of
summing from another.

A lane's fragment may be larger than its slots: the second half of A and of C come from the slot of the thread in the other
warp (the block has two). A form returns 64 bits of D; `half` says which. matrices.py takes operands and results apart again.
"""
import itertools

import numpy as np

# shape: registers of A, of B, and of C and D with 32 bits
SHAPES = {"m16n8k8": (2, 1, 4), "m16n8k16": (4, 2, 4), "m16n8k4": (2, 1, 4), "m16n8k32": (4, 2, 4), "m8n8k16": (1, 1, 2),
          "m8n8k4": (1, 1, 2)}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "f64": 64, "f32": 32, "s32": 32}
EXPONENT = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "f32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2), "f64": (11, 52)}
FLOATS = ("plain", "cancel", "mixed", "subnormal", "special", "zeros", "large")


def registers(shape, kind, sums):
    a, b, c = SHAPES[shape]
    if kind == "tf32" and shape == "m16n8k8":
        a, b = 4, 2
    if kind in ("s8", "u8") and shape == "m16n8k16":
        a, b = 2, 1
    return a, b, c // 2 if sums == "f16" else c


def listed(prefix, first, count):
    return "{" + ", ".join(f"{prefix}{first + i}" for i in range(count)) + "}"


def mma_text(name, shape, a, b, sums, half, more=""):
    mnemonic = f"mma.sync.aligned.{shape}.row.col{more}.{sums}.{a}.{b}.{sums}"
    across = "ld.param.u64 %rd7, [{0}]; xor.b64 %rd6, %rd8, 256; add.s64 %rd7, %rd7, %rd6;"
    if sums == "f64":
        return (f"{name}_{half}: .reg .f64 %m<8>; mov.b64 %m0, $a; mov.b64 %m1, $b; mov.b64 %m2, $c; {across.format('c')} "
                f"ld.global.f64 %m3, [%rd7]; {mnemonic} {{%m4, %m5}}, {{%m0}}, {{%m1}}, {{%m2, %m3}}; mov.b64 $d, %m{4 + half};")
    counts = registers(shape, a, sums)
    return (f"{name}_{half}: .reg .b32 %m<16>; mov.b64 {{%m0, %m1}}, $a; mov.b64 {{%m4, %m5}}, $b; mov.b64 {{%m8, %m9}}, $c; "
            f"{across.format('a')} ld.global.v2.b32 {{%m2, %m3}}, [%rd7]; {across.format('c')} "
            f"ld.global.v2.b32 {{%m10, %m11}}, [%rd7]; {mnemonic} {listed('%m', 12, counts[2])}, {listed('%m', 0, counts[0])}, "
            f"{listed('%m', 4, counts[1])}, {listed('%m', 8, counts[2])}; "
            f"mov.b64 $d, {listed('%m', 12 + 2 * half, 2)};")


def mma_forms():
    """(text, version, (inputs, types of A, B and sums))"""
    def made(name, shape, a, b, sums, more="", version="8.1"):
        halves = 2 if sums == "f64" or registers(shape, a, sums)[2] == 4 else 1
        for half in range(halves):
            yield mma_text(name, shape, a, b, sums, half, more), version, (name, a, b, sums)

    for name in FLOATS:
        for shape in ("m16n8k8", "m16n8k16"):
            for kind, sums in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")):
                yield from made(name, shape, kind, kind, sums)
        for shape in ("m16n8k4", "m16n8k8"):
            yield from made(name, shape, "tf32", "tf32", "f32")
        for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
            yield from made(name, "m16n8k32", a, b, "f32", version="8.4")
        if name != "large":
            yield from made(name, "m8n8k4", "f64", "f64", "f64")
    for shape in ("m8n8k16", "m16n8k16", "m16n8k32"):
        for a, b, more in itertools.product(("s8", "u8"), ("s8", "u8"), ("", ".satfinite")):
            yield from made("integers", shape, a, b, "s32", more)


def moving_forms():
    """ldmatrix, stmatrix, movmatrix, cp.async: (text, version). Each thread's 16 bytes of shared memory hold $a and $b."""
    filled = (".reg .b32 %m<16>; .shared .align 16 .b8 tile[2048]; mov.u32 %r7, tile; mad.lo.u32 %r7, %r8, 16, %r7; "
              "mov.b64 {%m4, %m5}, $a; mov.b64 {%m6, %m7}, $b; st.shared.v4.b32 [%r7], {%m4, %m5, %m6, %m7}; bar.sync 0;")
    mixed = "mad.lo.u32 %m0, %m2, 3, %m0; mad.lo.u32 %m1, %m3, 5, %m1; mov.b64 $d, {%m0, %m1};"
    zero = " ".join(f"mov.b32 %m{i}, 0;" for i in range(4))
    for count, trans in itertools.product((1, 2, 4), ("", ".trans")):
        for space in (".shared", ""):
            address = "%r7" if space else "%rd7"
            generic = "" if space else "cvt.u64.u32 %rd7, %r7; cvta.shared.u64 %rd7, %rd7;"
            yield (f"{filled} {zero} {generic} ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {listed('%m', 0, count)}, "
                   f"[{address}]; {mixed}"), "8.1"
        yield (f"{filled} stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r7], {listed('%m', 4, count)}; bar.sync 0; "
               f"ld.shared.v4.b32 {{%m0, %m1, %m2, %m3}}, [%r7]; {mixed}"), "8.1"
    yield "mov.b64 {%r6, %r7}, $a; movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r6; mov.b64 $d, {%r6, %r7};", "8.1"
    # Threads of one parity copy their own slot of b and the next one's over $a and $b.
    source = "ld.param.u64 %rd7, [b]; add.s64 %rd7, %rd7, %rd8; and.b32 %r6, %r8, 1; setp.eq.u32 %p7, %r6, 0;"
    back = "ld.shared.v4.b32 {%m0, %m1, %m2, %m3}, [%r7];"
    policy = "createpolicy.fractional.L2::evict_first.b64 %rd6;"
    for what in ("ca.shared.global [%r7], [%rd7], 4;", "ca.shared.global [%r7+8], [%rd7], 8;", "@%p7 ca.shared.global [%r7], [%rd7], 16;",
                 "@%p7 cg.shared.global [%r7], [%rd7], 16;", "@%p7 cg.shared.global.L2::128B [%r7], [%rd7], 16, 8;",
                 "ca.shared.global [%r7], [%rd7], 8, %r6;", "ca.shared.global [%r7], [%rd7], 8, %p7;",
                 "@%p7 cg.shared.global [%r7], [%rd7], 16, %r6;", "@%p7 cg.shared.global [%r7], [%rd7], 16, !%p7;",
                 "ca.shared.global.L2::cache_hint [%r7], [%rd7], 8, %rd6;",
                 "@%p7 cg.shared.global.L2::cache_hint [%r7], [%rd7], 16, 4, %rd6;"):
        guard, _, rest = what.rpartition("@%p7 ")
        copy = ("@%p7 " if guard or what.startswith("@") else "") + "cp.async." + rest
        for wait in ("cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;"):
            yield f"{filled} {source} {policy} {copy} {wait} {back} {mixed}", "8.1"


# ---- operands -------------------------------------------------------------------------------

def assembled(sign, exponent, mantissa, kind):
    e, m = EXPONENT[kind]
    bits = (sign.astype(np.uint64) << np.uint64(e + m)) | (exponent.astype(np.uint64) << np.uint64(m)) | mantissa.astype(np.uint64)
    return bits


def floats(rng, kind, inputs, count, isSum):
    """Bits of `count` floats. Of 8 bits there is no room for extremes: exponents are then any."""
    e, m = EXPONENT[kind]
    bias, top = (1 << (e - 1)) - 1, (1 << e) - 1
    sign = rng.integers(0, 2, count)
    mantissa = rng.integers(0, 1 << m, count, dtype=np.uint64)
    if kind == "tf32":
        mantissa &= np.uint64(~0x1FFF & (1 << 23) - 1 if inputs != "plain" else (1 << 23) - 1)  # the lower bits do not count
    near = rng.integers(-2, 3, count) + bias
    if inputs == "plain":
        exponent = near
    elif inputs == "cancel":  # few magnitudes, equal significands: sums of large terms that leave small ones
        large = rng.integers(0, 2, count) == 0
        mantissa = np.where(large, np.uint64(0), mantissa)
        exponent = np.where(large, bias + (3 if not isSum else 6), bias - rng.integers(0, min(8, bias - 1) + 1, count))
    elif inputs == "mixed":
        spread = min(bias - 1, 12 if not isSum else 24)
        exponent = bias + rng.integers(-spread, spread + 1, count)
        mantissa = np.where(rng.integers(0, 2, count) == 0, mantissa, np.uint64(0))
    elif inputs == "subnormal":
        exponent = np.where(rng.integers(0, 3, count) == 0, rng.integers(1, 4, count), 0)
        if kind in ("bf16", "tf32"):  # products that f32 holds as subnormals
            exponent = bias - 68 + rng.integers(-12, 8, count)
            exponent = np.where(rng.integers(0, 6, count) == 0, 0, exponent)
    elif inputs == "special":
        exponent = near
        odd = rng.integers(0, 40, count)
        exponent = np.where(odd == 0, top, np.where(odd == 1, 0, exponent))
        mantissa = np.where((odd < 2) & (rng.integers(0, 2, count) == 0), np.uint64(0), mantissa)
    elif inputs == "zeros":  # zeros of both signs beside large and small numbers: do they take part in the largest exponent?
        pick = rng.integers(0, 3, count)
        exponent = np.where(pick == 0, 0, np.where(pick == 1, top - 1, rng.integers(1, 4, count)))
        if kind in ("bf16", "tf32", "f32", "f64"):
            exponent = np.where(pick == 0, 0, np.where(pick == 1, bias + 30, bias - 30))
        mantissa = np.where(pick == 0, np.uint64(0), mantissa)
        if isSum:
            exponent, mantissa = exponent * 0, mantissa * np.uint64(0)
    else:  # large: sums beyond the largest finite number
        exponent = top - 1 - rng.integers(0, 3, count)
        if kind in ("bf16", "tf32", "f64") and not isSum:
            exponent = bias + (bias + 1) // 2 - 1 - rng.integers(0, 3, count)
    return assembled(sign, np.clip(exponent, 0, top), mantissa, kind)


def integers(rng, bits, count):
    values = rng.integers(0, 1 << bits, count, dtype=np.uint64)
    extreme = rng.integers(0, 2, count) == 0
    ends = np.array([0, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1], np.uint64)
    return np.where(extreme, ends[rng.integers(0, 4, count)], values)


def packed(values, bits):
    """Elements, lowest first, into slots of 64 bits."""
    per = 64 // bits
    rows = values.astype(np.uint64).reshape(-1, per)
    return np.bitwise_or.reduce(rows << (np.arange(per, dtype=np.uint64) * np.uint64(bits)), axis=1)


def mma_operands(rng, inputs, count):
    name, *kinds = inputs
    slots = []
    for kind, isSum in zip(kinds, (False, False, True)):
        bits = BITS[kind]
        elements = count * 64 // bits
        values = integers(rng, bits, elements) if kind in ("s8", "u8", "s32") else floats(rng, kind, name, elements, isSum)
        slots.append(packed(values, bits))
    return slots
