"""Instruction forms whose results a GPU has pinned: the PTX of each, and the operands it gets.

A form is one instruction with operands $d, $a, $b, $c. Its kernel runs one block of COUNT threads; thread i reads its
operands from slot i (8 bytes) of three buffers and writes the result to slot i of a fourth. `record.py` runs them on a
GPU and keeps the results in golden.npz; `test_golden.py` runs them on the machine and compares.
"""
import itertools
import zlib
from dataclasses import dataclass

import numpy as np
from matrix_forms import mma_forms, mma_operands, moving_forms

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
    version: str = "8.1"
    inputs: tuple = ()  # of mma: how its operands are made, their types; then a, b and c are its whole fragments


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
    return f""".version {form.version}
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
{".reg .b128 %q0;" if "b128" in form.text else ""}
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
    if form.inputs:
        return mma_operands(rng, form.inputs, COUNT)
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


def nan_forms():
    """Which of several NaN operands passes: every exponent is set to that of NaN and infinity."""
    def made(letter, number):
        return f"mov.b64 %rd{number}, ${letter}; or.b64 %rd{number}, %rd{number}, 0x7FF0000000000000; mov.b64 ${letter}, %rd{number};"

    for name, count in (("add.rn", 2), ("add.rz", 2), ("sub.rn", 2), ("mul.rn", 2), ("div.rn", 2), ("min", 2), ("max", 2),
                        ("fma.rn", 3), ("fma.rm", 3)):
        letters = "abc"[:count]
        body = " ".join(made(letter, 5 + i) for i, letter in enumerate(letters))
        yield Form(f"{body} {name}.f64 $d, {', '.join('$' + letter for letter in letters)};", "f64", ("f64",) * count)


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
    for name, kind in itertools.product(("lt", "equ"), ("f32", "f16")):
        yield op(f"setp.{name}.ftz.{kind}", kind, 2, result="pred")
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
    # %warpid is where the warp runs at the moment: no two recordings agree.
    for special in ("laneid", "tid.x", "ntid.x", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt",
                    "lanemask_ge", "nctaid.x", "ctaid.x"):
        yield Form(f"mov.u32 $d, %{special};", "u32", ())


def trigonometry_forms():
    """sin and cos promise little outside of [-pi, pi]: an operand in it."""
    for name in ("sin", "cos"):
        yield Form(f"abs.f32 $a, $a; min.f32 $a, $a, 0f40490FDB; {name}.approx.f32 $d, $a;", "f32", ("f32",),
                   absolute=2**-19)


def further_forms():
    """One form or more of the rows of the table that the families above leave out."""
    for name in ("add", "sub"):
        yield op(f"{name}.sat.s32", "s32", 2)
    yield op("mad.hi.sat.s32", "s32", 3)
    for kind in ("u16x2", "s16x2"):
        for name in ("add", "min", "max"):
            yield Form(f"{name}.{kind} $d, $a, $b;", "b32", ("b32", "b32"), arch=90)
    for name in ("min", "max"):
        yield op(f"{name}.relu.s32", "s32", 2, arch=90)
        yield Form(f"{name}.relu.s16x2 $d, $a, $b;", "b32", ("b32", "b32"), arch=90)
    for kind in ("u32", "s32", "u64"):
        yield Form(f"add.cc.{kind} $d, $a, $b; addc.{kind} $d, $d, $b;", kind, (kind, kind))
        yield Form(f"sub.cc.{kind} $d, $a, $b; subc.{kind} $d, $d, $b;", kind, (kind, kind))
        yield Form(f"mad.lo.cc.{kind} $d, $a, $b, $c; madc.hi.{kind} $d, $a, $b, $d;", kind, (kind,) * 3)
    yield Form("and.b32 $b, $b, 31; rem.s32 $c, $c, 40; fns.b32 $d, $a, $b, $c;", "b32", ("b32",) * 3)
    for name in ("and", "or", "xor"):
        yield op(f"{name}.pred", "pred", 2)
    yield op("not.pred", "pred", 1)
    for name in ("or", "and"):
        yield Form(f"lop3.{name}.b32 %r7|$d, $a, $b, 31, 0x80, $c;", "pred", ("b32", "b32", "pred"), arch=90, version="8.3")
    for bits in ("16", "32", "64"):
        yield Form(f"shr.b{bits} $d, $a, $b;", f"b{bits}", (f"b{bits}", "u32"))
        yield op(f"setp.eq.b{bits}", f"b{bits}", 2, result="pred")
    yield Form("setp.ne.or.b32 $d, $a, $b, $c;", "pred", ("b32", "b32", "pred"))
    yield Form("setp.hi.xor.u32 $d, $a, $b, $c;", "pred", ("u32", "u32", "pred"))
    for kind in ("f16", "f32", "f64", "bf16"):
        yield Form(f"setp.ltu.and.{kind} $d, $a, $b, $c;", "pred", (kind, kind, "pred"), arch=90)
    for kind in ("f16x2", "bf16x2"):
        both = "selp.b32 %r7, 1, 0, %p7; selp.b32 $d, 2, 0, %p8; or.b32 $d, $d, %r7;"
        yield Form(f"setp.lt.{kind} %p7|%p8, $a, $b; {both}", "b32", (kind, kind), arch=90)
        yield Form(f"setp.geu.xor.{kind} %p7|%p8, $a, $b, $c; {both}", "b32", (kind, kind, "pred"), arch=90)
        for result in (kind, "u32"):
            yield Form(f"set.le.{result}.{kind} $d, $a, $b;", "b32", (kind, kind), arch=90)
    for result in ("s32", "f32"):
        for name, kind in (("eq", "b32"), ("gt", "s32"), ("hs", "u32")):
            yield Form(f"set.{name}.{result}.{kind} $d, $a, $b;", result, (kind, kind))
            yield Form(f"set.{name}.and.{result}.{kind} $d, $a, $b, $c;", result, (kind, kind, "pred"))
    for kind in ("f32", "f64"):
        yield Form(f"set.gtu.u32.{kind} $d, $a, $b;", "u32", (kind, kind))
        yield Form(f"set.lt.or.f32.{kind} $d, $a, $b, $c;", "f32", (kind, kind, "pred"))
    for result, kind in (("f16", "f16"), ("u16", "f16"), ("bf16", "bf16"), ("s16", "bf16")):
        yield Form(f"set.ne.{result}.{kind} $d, $a, $b;", result, (kind, kind), arch=90)
    yield Form("slct.ftz.b32.f32 $d, $a, $b, $c;", "b32", ("b32", "b32", "f32"))
    for kind in ("f32", "f64"):
        yield op(f"mad.rn.{kind}", kind, 3)
    yield op("rcp.approx.ftz.f64", "f64", 1, ulps=2**32)
    yield op("rsqrt.approx.ftz.f64", "f64", 1, ulps=2**33)
    yield op("rsqrt.approx.f64", "f64", 1, ulps=2**33)
    for name in ("abs", "neg"):
        for kind in ("f16", "f16x2"):
            yield op(f"{name}.ftz.{kind}", kind, 1)
    for name, kind in itertools.product(("min", "max"), ("f16", "bf16")):
        yield op(f"{name}.xorsign.abs.{kind}", kind, 2, arch=86)
    yield Form("mov.pred $d, $a;", "pred", ("pred",))
    yield Form("mov.b128 %q0, {$a, $b}; mov.b128 {%rd7, $d}, %q0; sub.s64 $d, $d, %rd7;", "b64", ("b64", "b64"), arch=90,
               version="8.3")
    for source in ("u16", "u32", "u64", "s16", "s32", "s64"):
        for to in ("u8", "s8"):
            yield Form(f"cvt.sat.{to}.{source} $d, $a;", "u16", (source,))
    yield Form("cvt.u16.u8 %rs7, $a; cvt.sat.s8.u8 $d, %rs7;", "u16", ("u16",))
    yield Form("cvt.s16.s8 %rs7, $a; cvt.sat.u8.s8 $d, %rs7;", "u16", ("u16",))
    yield Form("cvt.sat.u64.s8 $d, $a;", "u64", ("u16",))
    for rounding in ("rni", "rzi"):
        yield op(f"cvt.{rounding}.ftz.sat.f32.f32", "f32", 1)
        yield op(f"cvt.{rounding}.sat.f16.f16", "f16", 1)
        yield op(f"cvt.{rounding}.bf16.bf16", "bf16", 1, arch=90)
    for to, source in (("bf16", "f16"), ("f16", "bf16")):
        yield op(f"cvt.{to}.{source}", source, 1, result=to, arch=90)
    for kind in ("f16", "f32", "f64"):
        yield op(f"cvt.{kind}.{kind}", kind, 1)
    for kind in ("f16", "f32", "f64", "bf16"):
        yield op(f"set.lt.{'ftz.' if kind == 'f16' else ''}u32.{kind}", kind, 2, result="u32", arch=90)
    yield op("cvt.ftz.f32.f32", "f32", 1)
    for bits in ("32", "64"):
        yield Form(f"bfi.b{bits} $d, $a, -1, $b, $c;", f"b{bits}", (f"b{bits}", "u32", "u32"))
    for text, to, source in (("sat.f64.f64", "f64", "f64"), ("sat.f16.f16", "f16", "f16"), ("f64.bf16", "f64", "bf16"),
                             ("sat.f64.f16", "f64", "f16"), ("sat.f32.f16", "f32", "f16"), ("ftz.sat.f64.f32", "f64", "f32"),
                             ("ftz.f32.bf16", "f32", "bf16"), ("ftz.f32.f16", "f32", "f16"), ("rn.f16.bf16", "f16", "bf16"),
                             ("rp.f16.bf16", "f16", "bf16"), ("rn.bf16.f16", "bf16", "f16"), ("rn.bf16.f64", "bf16", "f64"),
                             ("rm.bf16.f32", "bf16", "f32"), ("rp.bf16.f32", "bf16", "f32"), ("rn.relu.f16.f32", "f16", "f32"),
                             ("rz.relu.f16.f32", "f16", "f32"), ("rn.sat.f32.f64", "f32", "f64"),
                             ("rn.sat.f16.f64", "f16", "f64"), ("rn.ftz.f16.f32", "f16", "f32")):
        yield op(f"cvt.{text}", source, 1, result=to, arch=90)
    for text in ("rz", "rn.relu", "rz.relu"):
        yield op(f"cvt.{text}.tf32.f32", "f32", 1, result="b32", arch=90)
    for kind in ("u16", "s16"):
        yield Form(f"cvt.pack.sat.{kind}.s32 $d, $a, $b;", "b32", ("s32", "s32"))
    for kind in ("u8", "s8"):
        yield Form(f"cvt.pack.sat.{kind}.s32.b32 $d, $a, $b, $c;", "b32", ("s32", "s32", "b32"))


def memory_forms():
    """Atomics, each thread on its own slot of c: the old value times 3, plus the new one."""
    where = "ld.param.u64 %rd7, [c]; add.s64 %rd7, %rd7, %rd8;"

    def changed(instruction, bits):
        register, other = {"32": ("%r7", "%r6"), "64": ("%rd6", "%rd5")}[bits]
        return (f"{where} {instruction.replace('$d', register)} ld.global.b{bits} {other}, [%rd7]; "
                f"mad.lo.u{bits} $d, {register}, 3, {other};")

    for bits in ("32", "64"):
        kind = "b" + bits
        for name in ("and", "or", "xor", "exch"):
            yield Form(changed(f"atom.global.{name}.{kind} $d, [%rd7], $a;", bits), kind, (kind, kind, kind))
        yield Form(changed(f"atom.global.cas.{kind} $d, [%rd7], $a, $b;", bits), kind, (kind, kind, kind))
        yield Form(f"{where} red.global.xor.{kind} [%rd7], $a; ld.global.{kind} $d, [%rd7];", kind, (kind,) * 3)
        for name, sign in (("add", "u"), ("min", "u"), ("max", "u"), ("min", "s"), ("max", "s")):
            kind = sign + bits
            yield Form(changed(f"atom.global.{name}.{kind} $d, [%rd7], $a;", bits), kind, (kind, kind, kind))
            yield Form(f"{where} red.global.{name}.{kind} [%rd7], $a; ld.global.{kind} $d, [%rd7];", kind, (kind,) * 3)
    for name in ("inc", "dec"):
        yield Form(changed(f"atom.global.{name}.u32 $d, [%rd7], $a;", "32"), "u32", ("u32",) * 3)
        yield Form(f"{where} red.global.{name}.u32 [%rd7], $a; ld.global.u32 $d, [%rd7];", "u32", ("u32",) * 3)
    for kind, noftz in (("f32", ""), ("f64", ""), ("f16", ".noftz"), ("f16x2", ".noftz"), ("bf16", ".noftz"), ("bf16x2", ".noftz")):
        load = f"ld.global.{'f' if kind in ('f32', 'f64') else 'b'}{width(kind)} $d, [%rd7];"
        yield Form(f"{where} red.global.add{noftz}.{kind} [%rd7], $a; {load}", kind, (kind,) * 3, arch=90)
        yield Form(f"{where} atom.global.add{noftz}.{kind} $b, [%rd7], $a; {load}", kind, (kind,) * 3, arch=90)


def space_forms():
    """Loads, stores and atomics of other kinds and widths, on the thread's own slot of c; addresses of spaces."""
    where = "ld.param.u64 %rd7, [c]; add.s64 %rd7, %rd7, %rd8;"

    def touch(text, result="b32", kinds=("b32",) * 3, **more):
        return Form(f"{where} {text}", result, kinds, **more)

    for order in ("volatile", "relaxed.gpu", "acquire.sys", "relaxed.cta"):
        yield touch(f"ld.{order}.global.b32 $d, [%rd7];")
    for order in ("volatile", "relaxed.gpu", "release.cta"):
        yield touch(f"st.{order}.global.b32 [%rd7], $a; ld.global.b32 $d, [%rd7];")
    for load in ("ld.global.nc", "ldu.global"):
        yield touch(f"{load}.b32 $d, [%rd7];")
    yield touch("ld.global.v2.b32 {%r6, %r7}, [%rd7]; sub.u32 $d, %r6, %r7;")
    for kind in ("u8", "s8", "u16", "s16"):
        yield touch(f"ld.global.{kind} $d, [%rd7];", "b32")
    yield touch("prefetch.global.L1 [%rd7]; prefetch.global.L2::evict_last [%rd7]; prefetchu.L1 [%rd7]; ld.global.b32 $d, [%rd7];")
    yield touch("createpolicy.fractional.L2::evict_last.b64 %rd6; ld.global.L2::cache_hint.b32 $d, [%rd7], %rd6;")
    yield touch("createpolicy.range.global.L2::evict_last.b64 %rd6, [%rd7], 64, 128; ld.global.L2::cache_hint.b32 $d, [%rd7], %rd6;")
    yield touch("cvta.to.global.u64 %rd6, %rd7; cvta.global.u64 %rd6, %rd6; ld.b32 $d, [%rd6];")
    yield touch("isspacep.global $d, %rd7;", "pred")
    for space in ("shared", "param"):
        yield touch(f"isspacep.{space} $d, %rd7;", "pred")
    yield Form("mov.b64 %rd6, a; cvta.param.u64 %rd6, %rd6; ld.u64 %rd5, [%rd6]; cvta.to.param.u64 %rd6, %rd6; "
               "ld.param.u64 %rd4, [%rd6]; ld.param.u64 %rd3, [a]; setp.eq.u64 %p7, %rd5, %rd3; setp.eq.and.u64 $d, %rd4, %rd3, %p7;",
               "pred", ())
    yield Form(".shared .align 16 .b8 buffer[1024]; mov.u32 %r7, buffer; mad.lo.u32 %r7, %r8, 16, %r7; mov.b128 %q0, {$a, $b}; "
               "st.shared.b128 [%r7], %q0; ld.shared.b128 %q0, [%r7]; mov.b128 {%rd7, %rd6}, %q0; sub.s64 $d, %rd6, %rd7;", "b64",
               ("b64", "b64"), arch=90, version="8.3")
    for fence in ("fence.sc.gpu", "fence.acq_rel.cta", "membar.gl"):
        yield touch(f"st.global.b32 [%rd7], $a; {fence}; ld.global.b32 $d, [%rd7];")
    new = "ld.global.v2.f32 {%f6, $d}, [%rd7]; add.f32 $d, $d, %f6;"
    yield touch(f"red.global.add.v2.f32 [%rd7], {{$a, $b}}; {new}", "f32", ("f32",) * 3, arch=90)
    yield touch(f"atom.global.add.v2.f32 {{%f6, %f7}}, [%rd7], {{$a, $b}}; {new}", "f32", ("f32",) * 3, arch=90)
    for kind, name in itertools.product(("f16", "bf16"), ("add", "min", "max")):
        for bits, old in (("32", "%rs6, %rs7"), ("64", "%r6, %r7")):
            each = kind if bits == "32" else kind + "x2"
            new = f"[%rd7], {{$a, $b}}; ld.global.b{bits} $d, [%rd7];"
            yield touch(f"red.global.{name}.noftz.v2.{each} {new}", f"b{bits}", (each,) * 3, arch=90)
            yield touch(f"atom.global.{name}.noftz.v2.{each} {{{old}}}, {new}", f"b{bits}", (each,) * 3, arch=90)


def flow_forms():
    """Branches and what else steers."""
    yield Form("mov.b32 $d, $a; bra.uni over; add.s32 $d, $d, 1; over: add.s32 $d, $d, 2;", "b32", ("b32",))
    yield Form("mov.b32 $d, 1; setp.lt.s32 %p7, $a, 0; @%p7 bra over; mov.b32 $d, 2; over: add.s32 $d, $d, $a;", "b32", ("b32",))
    for leave in ("exit", "ret"):
        yield Form(f"setp.gt.u32 %p7, %r8, 999; @%p7 {leave}; mov.b32 $d, $a;", "b32", ("b32",))
    yield Form("and.b32 $a, $a, 1; ts: .branchtargets first, second; brx.idx $a, ts; first: mov.b32 $d, 5; bra over; "
               "second: mov.b32 $d, 7; over: nanosleep.u32 1; pmevent 1;", "b32", ("b32",))


def group_forms():
    """What the lanes of a warp and the warps of a block do together."""
    yield Form("activemask.b32 $d;", "b32", ())
    yield Form("elect.sync %r7|$d, -1;", "pred", (), arch=90)
    yield Form("bar.warp.sync -1; mov.b32 $d, $a;", "b32", ("b32",))
    for prefix in ("bar", "bar.cta", "barrier", "barrier.cta"):
        yield Form(f"{prefix}.sync 0; mov.b32 $d, $a;", "b32", ("b32",))
        yield Form(f"{prefix}.sync 1, 64; mov.b32 $d, $a;", "b32", ("b32",))
        yield Form(f"setp.lt.u32 %p7, %r8, 32; @%p7 {prefix}.arrive 1, 64; @!%p7 {prefix}.sync 1, 64; mov.b32 $d, $a;", "b32",
                   ("b32",))
        for count in ("", " 64,"):
            yield Form(f"{prefix}.red.popc.u32 $d, 0,{count} $a;", "u32", ("pred",))
            for name in ("and", "or"):
                yield Form(f"{prefix}.red.{name}.pred $d, 0,{count} $a;", "pred", ("pred",))


def matrix_forms():
    for text, version, inputs in mma_forms():
        yield Form(text, "b64", ("b64",) * 3, arch=90, version=version, inputs=inputs)
    for text, version in moving_forms():
        yield Form(text, "b64", ("b64",) * 2, arch=90, version=version)


def all_forms():
    made = [*f32_forms(), *f64_forms(), *nan_forms(), *half_forms(), *integer_forms(), *conversion_forms(), *comparison_forms(),
            *warp_forms(), *trigonometry_forms(), *further_forms(), *memory_forms(), *space_forms(), *flow_forms(),
            *group_forms(), *matrix_forms()]
    assert len({form.text for form in made}) == len(made)
    return made
