"""Instruction forms whose results a GPU has pinned: the PTX of each, and the operands it gets.

A form is one instruction with operands $d, $a, $b, $c. Its kernel runs one block of COUNT threads; thread i reads its
operands from slot i (8 bytes) of three buffers and writes the result to slot i of a fourth. `record.py` runs them on a
GPU and keeps the results in golden.npz; `test_golden.py` runs them on the machine and compares.
"""
import itertools
import zlib
from dataclasses import dataclass

import numpy as np

COUNT = 64
ROUNDS = ["rn", "rz", "rm", "rp"]
WIDTH = {"f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "f32": 32, "f64": 64, "tf32": 32, "e4m3x2": 16, "e5m2x2": 16,
         "pred": 32}
REGISTER = {8: "%rs", 16: "%rs", 32: "%r", 64: "%rd"}


def width(kind):
    return WIDTH.get(kind) or int(kind[1:])


@dataclass(frozen=True)
class Form:
    text: str          # "add.rn.f32 $d, $a, $b;"
    result: str        # its type; "pred" is stored as 0 or 1
    operands: tuple    # types
    ulps: float = 0    # how far results may be from the GPU's; 0: equal bits
    absolute: float = 0
    arch: int = 80


def register_name(kind, register):
    """A register for values of this type."""
    return {"f32": "%f", "f64": "%fd", "pred": "%p"}.get(kind, REGISTER[max(16, width(kind))]) + register


def kernel(form):
    """The PTX of a form."""
    registers = dict(zip("abc", [register_name(kind, str(i + 1)) for i, kind in enumerate(form.operands)]))
    registers["d"] = register_name(form.result, "0")
    body, setup = form.text, []
    for letter, register in registers.items():
        body = body.replace("$" + letter, register)
    for letter, kind in zip("abc", form.operands):
        setup.append(f"ld.param.u64 %rd9, [{letter}];\nadd.s64 %rd9, %rd9, %rd8;")
        if kind == "pred":
            setup.append(f"ld.global.u32 %r9, [%rd9];\nand.b32 %r9, %r9, 1;\nsetp.ne.u32 {registers[letter]}, %r9, 0;")
        else:
            setup.append(f"ld.global.{'f' if kind in ('f32', 'f64') else 'b'}{width(kind)} {registers[letter]}, [%rd9];")
    if form.result == "pred":
        body += f"\nselp.u32 %r0, 1, 0, {registers['d']};"
        store = "st.global.b32 [%rd9], %r0;"
    else:
        store = f"st.global.{'f' if form.result in ('f32', 'f64') else 'b'}{width(form.result)} [%rd9], {registers['d']};"
    lines = "\n".join(setup)
    return f""".version 8.1
.target sm_{form.arch}
.address_size 64
.visible .entry form(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{{
.reg .pred %p<10>;
.reg .b16 %rs<10>;
.reg .b32 %r<10>;
.reg .f32 %f<10>;
.reg .b64 %rd<10>;
.reg .f64 %fd<10>;
mov.u32 %r8, %tid.x;
mul.wide.u32 %rd8, %r8, 8;
{lines}
{body}
ld.param.u64 %rd9, [d];
add.s64 %rd9, %rd9, %rd8;
{store}
ret;
}}
"""


# ---- operands -------------------------------------------------------------------------------

LAYOUT = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "tf32": (8, 23)}


def floats(rng, kind):
    """Bits: special values, neighbours of one exponent, any bits."""
    exponent, mantissa = LAYOUT[kind]
    bits = exponent + mantissa + 1
    one = ((1 << (exponent - 1)) - 1) << mantissa
    infinity = ((1 << exponent) - 1) << mantissa
    special = [0, 1, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, one - 1, infinity - 1, infinity, infinity + 1,
               infinity | 1 << (mantissa - 1), one + (2 << mantissa)]
    special += [value | 1 << (bits - 1) for value in special]
    near = one - (3 << mantissa) + rng.integers(0, 8 << mantissa, COUNT // 2, dtype=np.uint64)
    near |= rng.integers(0, 2, COUNT // 2, dtype=np.uint64) << np.uint64(bits - 1)
    values = np.concatenate([np.array(special, np.uint64), near])
    if bits == 64:
        anything = rng.integers(0, 2**64, COUNT, dtype=np.uint64)
    else:
        anything = rng.integers(0, 1 << bits, COUNT, dtype=np.uint64)
    values = np.concatenate([values, anything])[:COUNT]
    rng.shuffle(values)
    return values


def integers(rng, bits):
    top = (1 << bits) - 1
    special = [0, 1, 2, 7, 31, 32, 33, 63, 64, top, top >> 1, (top >> 1) + 1, top - 1, bits]
    small = rng.integers(0, 100, COUNT // 4, dtype=np.uint64)
    anything = rng.integers(0, 2**64, COUNT, dtype=np.uint64) & np.uint64(top)
    values = np.concatenate([np.array(special, np.uint64), small, anything])[:COUNT]
    rng.shuffle(values)
    return values


def operand(rng, kind):
    if kind in LAYOUT:
        return floats(rng, kind)
    if kind in ("f16x2", "bf16x2"):
        return floats(rng, kind[:-2]) | floats(rng, kind[:-2]) << np.uint64(16)
    return integers(rng, width(kind))


def operands(form):
    """Three arrays of COUNT slots; the same for a form at any time."""
    rng = np.random.default_rng(zlib.crc32(form.text.encode()))
    made = [operand(rng, kind) for kind in form.operands]
    return made + [np.zeros(COUNT, np.uint64)] * (3 - len(made))


# ---- the forms ------------------------------------------------------------------------------


def op(mnemonic, kind, count, result=None, **more):
    letters = ", ".join("$" + letter for letter in "abc"[:count])
    return Form(f"{mnemonic} $d, {letters};", result or kind, (kind,) * count, **more)


def f32_forms():
    for name, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
        for rounding, ftz, sat in itertools.product(ROUNDS, ["", ".ftz"], ["", ".sat"]):
            yield op(f"{name}.{rounding}{ftz}{sat}.f32", "f32", count)
    for name, count in (("div", 2), ("rcp", 1), ("sqrt", 1)):
        for rounding, ftz in itertools.product(ROUNDS, ["", ".ftz"]):
            yield op(f"{name}.{rounding}{ftz}.f32", "f32", count)
    for ftz in ("", ".ftz"):
        yield op(f"div.full{ftz}.f32", "f32", 2, ulps=4)
        yield op(f"div.approx{ftz}.f32", "f32", 2, ulps=4)
        for name, ulps, absolute in (("rcp", 2, 0), ("rsqrt", 4, 0), ("sqrt", 4, 0), ("ex2", 4, 0), ("lg2", 8, 2**-21)):
            yield op(f"{name}.approx{ftz}.f32", "f32", 1, ulps=ulps, absolute=absolute)
        for name in ("min", "max"):
            for nan, xorsign in itertools.product(["", ".NaN"], ["", ".xorsign.abs"]):
                yield op(f"{name}{ftz}{nan}{xorsign}.f32", "f32", 2, arch=86 if xorsign else 80)
        yield op(f"neg{ftz}.f32", "f32", 1)
        yield op(f"abs{ftz}.f32", "f32", 1)
    yield op("copysign.f32", "f32", 2)
    yield op("tanh.approx.f32", "f32", 1, ulps=2**14)


def f64_forms():
    for name, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)):
        for rounding in ROUNDS:
            yield op(f"{name}.{rounding}.f64", "f64", count)
    for name, count in (("min", 2), ("max", 2), ("neg", 1), ("abs", 1), ("copysign", 2)):
        yield op(f"{name}.f64", "f64", count)


def half_forms():
    for kind in ("f16", "f16x2"):
        for name, ftz, sat in itertools.product(("add", "sub", "mul"), ("", ".ftz"), ("", ".sat")):
            yield op(f"{name}{ftz}{sat}.{kind}", kind, 2)
        for ftz, more in itertools.product(("", ".ftz"), ("", ".sat", ".relu")):
            yield op(f"fma.rn{ftz}{more}.{kind}", kind, 3)
        for name, ftz, nan in itertools.product(("min", "max"), ("", ".ftz"), ("", ".NaN")):
            yield op(f"{name}{ftz}{nan}.{kind}", kind, 2)
        for name in ("neg", "abs"):
            yield op(f"{name}.{kind}", kind, 1)
    for kind in ("bf16", "bf16x2"):
        for relu in ("", ".relu"):
            yield op(f"fma.rn{relu}.{kind}", kind, 3)
        for name in ("add", "sub", "mul"):
            yield op(f"{name}.rn.{kind}", kind, 2, arch=90)
        for name, nan in itertools.product(("min", "max"), ("", ".NaN")):
            yield op(f"{name}{nan}.{kind}", kind, 2)
        for name in ("neg", "abs"):
            yield op(f"{name}.{kind}", kind, 1)
    for kind in ("f16", "bf16"):
        for name in ("ex2.approx.ftz" if kind == "bf16" else "ex2.approx", "tanh.approx"):
            yield op(f"{name}.{kind}", kind, 1, ulps=2, arch=90)


def integer_forms():
    for kind in ("u16", "s16", "u32", "s32", "u64", "s64"):
        bits = kind[1:]
        for name in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            yield op(f"{name}.{kind}", kind, 2)
        yield op(f"mad.lo.{kind}", kind, 3)
        if bits != "64":
            wide = kind[0] + str(int(bits) * 2)
            yield op(f"mul.wide.{kind}", kind, 2, result=wide)
            yield Form(f"mad.wide.{kind} $d, $a, $b, $c;", wide, (kind, kind, wide))
        yield Form(f"shr.{kind} $d, $a, $b;", kind, (kind, "u32"))
        yield Form(f"sad.{kind} $d, $a, $b, $c;", kind, (kind, kind, kind))
    for bits in ("16", "32", "64"):
        for name in ("and", "or", "xor"):
            yield op(f"{name}.b{bits}", f"b{bits}", 2)
        for name in ("not", "cnot"):
            yield op(f"{name}.b{bits}", f"b{bits}", 1)
        yield Form(f"shl.b{bits} $d, $a, $b;", f"b{bits}", (f"b{bits}", "u32"))
        yield op(f"neg.s{bits}", f"s{bits}", 1)
        yield op(f"abs.s{bits}", f"s{bits}", 1)
    for bits in ("32", "64"):
        for name in ("popc", "clz"):
            yield op(f"{name}.b{bits}", f"b{bits}", 1, result="u32")
        yield op(f"brev.b{bits}", f"b{bits}", 1)
        for sign in "us":
            yield Form(f"bfe.{sign}{bits} $d, $a, $b, $c;", f"{sign}{bits}", (f"{sign}{bits}", "u32", "u32"))
            yield op(f"bfind.{sign}{bits}", f"{sign}{bits}", 1, result="u32")
            yield op(f"bfind.shiftamt.{sign}{bits}", f"{sign}{bits}", 1, result="u32")
        yield Form(f"bfi.b{bits} $d, $a, $b, $c, 7;", f"b{bits}", (f"b{bits}", f"b{bits}", "u32"))
    for name in ("u32", "s32"):
        yield op(f"mad.hi.{name}", name, 3)
        yield op(f"mul24.lo.{name}", name, 2)
        yield op(f"mul24.hi.{name}", name, 2)
        yield op(f"mad24.lo.{name}", name, 3)
        yield op(f"dp4a.{name}.{name}", name, 3)
        yield op(f"dp2a.lo.{name}.{name}", name, 3)
    for side, mode in itertools.product("lr", ("wrap", "clamp")):
        yield op(f"shf.{side}.{mode}.b32", "b32", 3)
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield op(f"prmt.b32{mode}", "b32", 3)
    for table in (0x96, 0xE8, 0x1D, 0x80):
        yield Form(f"lop3.b32 $d, $a, $b, $c, {table};", "b32", ("b32",) * 3)
    yield op("szext.wrap.s32", "s32", 2)
    yield op("bmsk.clamp.b32", "b32", 2)


def holds(to, source):
    """Whether every integer of one type is one of the other."""
    if to[0] == source[0]:
        return int(to[1:]) >= int(source[1:])
    return to[0] == "s" and int(to[1:]) > int(source[1:])


def conversion_forms():
    kinds = {"u16": 16, "u32": 32, "u64": 64, "s16": 16, "s32": 32, "s64": 64}
    for to, source in itertools.permutations(kinds, 2):
        yield op(f"cvt.{to}.{source}", source, 1, result=to)
        if not holds(to, source):
            yield op(f"cvt.sat.{to}.{source}", source, 1, result=to)
    for kind in kinds:
        for real in ("f16", "f32", "f64"):
            for rounding in ROUNDS:
                yield op(f"cvt.{rounding}.{real}.{kind}", kind, 1, result=real)
                yield op(f"cvt.{rounding}i.{kind}.{real}", real, 1, result=kind)
        yield op(f"cvt.rzi.ftz.{kind}.f32", "f32", 1, result=kind)
        yield op(f"cvt.rn.bf16.{kind}", kind, 1, result="bf16", arch=90)
        yield op(f"cvt.rzi.{kind}.bf16", "bf16", 1, result=kind, arch=90)
    for rounding in ROUNDS:
        yield op(f"cvt.{rounding}.f16.f32", "f32", 1, result="f16")
        yield op(f"cvt.{rounding}.f16.f64", "f64", 1, result="f16")
        yield op(f"cvt.{rounding}.f32.f64", "f64", 1, result="f32")
        yield op(f"cvt.{rounding}.ftz.f32.f64", "f64", 1, result="f32")
        for real in ("f16", "f32", "f64"):
            yield op(f"cvt.{rounding}i.{real}.{real}", real, 1)
    for to, source in (("f32", "f16"), ("f64", "f16"), ("f64", "f32"), ("f32", "bf16")):
        yield op(f"cvt.{to}.{source}", source, 1, result=to)
    yield op("cvt.ftz.f64.f32", "f32", 1, result="f64")
    yield op("cvt.sat.f32.f32", "f32", 1)
    yield op("cvt.rn.sat.f16.f32", "f32", 1, result="f16")
    for rounding, relu in itertools.product(("rn", "rz"), ("", ".relu")):
        yield op(f"cvt.{rounding}{relu}.bf16.f32", "f32", 1, result="bf16")
        for pair in ("f16x2", "bf16x2"):
            yield op(f"cvt.{rounding}{relu}.{pair}.f32", "f32", 2, result=pair)
    yield op("cvt.rna.tf32.f32", "f32", 1, result="b32")
    yield op("cvt.rn.tf32.f32", "f32", 1, result="b32", arch=90)
    for small in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            yield op(f"cvt.rn.satfinite{relu}.{small}.f32", "f32", 2, result=small, arch=90)
            yield op(f"cvt.rn.satfinite{relu}.{small}.f16x2", "f16x2", 1, result=small, arch=90)
            yield op(f"cvt.rn{relu}.f16x2.{small}", small, 1, result="f16x2", arch=90)


def comparison_forms():
    for kind in ("u16", "s32", "u32", "s64"):
        for name in ("eq", "ne", "lt", "le", "gt", "ge") + (("lo", "ls", "hi", "hs") if kind[0] == "u" else ()):
            yield op(f"setp.{name}.{kind}", kind, 2, result="pred")
    for kind in ("f16", "bf16", "f32", "f64"):
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"):
            yield op(f"setp.{name}.{kind}", kind, 2, result="pred", arch=90 if kind == "bf16" else 80)
    for name in ("lt", "equ"):
        yield op(f"setp.{name}.ftz.f32", "f32", 2, result="pred")
    for combine in ("and", "or", "xor"):
        yield Form(f"setp.lt.{combine}.s32 $d, $a, $b, $c;", "pred", ("s32", "s32", "pred"))
    for name, real in itertools.product(("finite", "infinite", "number", "notanumber", "normal", "subnormal"), ("f32", "f64")):
        yield op(f"testp.{name}.{real}", real, 1, result="pred")
    yield Form("selp.b32 $d, $a, $b, $c;", "b32", ("b32", "b32", "pred"))
    yield Form("selp.f64 $d, $a, $b, $c;", "f64", ("f64", "f64", "pred"))
    for kind in ("s32", "f32"):
        yield Form(f"slct.b32.{kind} $d, $a, $b, $c;", "b32", ("b32", "b32", kind))
    for result, kind in (("u32", "s32"), ("f32", "f32"), ("s32", "f32")):
        yield Form(f"set.lt.{result}.{kind} $d, $a, $b;", result, (kind, kind))


def warp_forms():
    for mode in ("up", "down", "bfly", "idx"):
        for lane, clamp in ((1, 31), (16, 31), (3, 0x181F), (5, 0)):
            yield Form(f"shfl.sync.{mode}.b32 $d, $a, {lane}, {clamp}, -1;", "b32", ("b32",))
    for mode in ("all", "any", "uni"):
        yield Form(f"vote.sync.{mode}.pred $d, $a, -1;", "pred", ("pred",))
    yield Form("vote.sync.ballot.b32 $d, $a, -1;", "b32", ("pred",))
    yield Form("and.b32 $a, $a, 3; match.any.sync.b32 $d, $a, -1;", "b32", ("b32",))
    yield Form("match.all.sync.b32 $d|%p8, $a, -1;", "b32", ("b32",))
    for name in ("add", "min", "max"):
        for kind in ("u32", "s32"):
            yield Form(f"redux.sync.{name}.{kind} $d, $a, -1;", kind, (kind,))
    for name in ("and", "or", "xor"):
        yield Form(f"redux.sync.{name}.b32 $d, $a, -1;", "b32", ("b32",))
    for special in ("laneid", "warpid", "tid.x", "ntid.x", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt",
                    "lanemask_ge", "nctaid.x", "ctaid.x"):
        yield Form(f"mov.u32 $d, %{special};", "u32", ())


def trigonometry_forms():
    """sin and cos promise little outside of [-pi, pi]: an operand in it."""
    for name in ("sin", "cos"):
        yield Form(f"abs.f32 $a, $a; min.f32 $a, $a, 0f40490FDB; {name}.approx.f32 $d, $a;", "f32", ("f32",),
                   absolute=2**-19)


def all_forms():
    made = [*f32_forms(), *f64_forms(), *half_forms(), *integer_forms(), *conversion_forms(), *comparison_forms(),
            *warp_forms(), *trigonometry_forms()]
    assert len({form.text for form in made}) == len(made)
    return made
