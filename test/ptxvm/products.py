"""Products by wgmma as PTX, written by hand: one instruction of one warpgroup, its operands laid out as a descriptor says.

D (64 x N) = A (64 x K) B (N x K)ᵀ [+ C]. The host puts A and B into the bytes that shared memory shall hold (by the formulas of
the PTX manual, in the order of `place`); the kernel copies them there, multiplies and stores D by lanes.
"""
import itertools
from typing import NamedTuple

import numpy as np
from matrix_forms import FLOATS, floats, integers

THREADS, SPAN = 128, {"none": 16, "32": 32, "64": 64, "128": 128}
CODE = {"none": 0, "128": 1, "64": 2, "32": 3}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}


class Case(NamedTuple):
    a: str = "f16"
    b: str = "f16"
    n: int = 64
    swizzle: str = "128"
    transposes: tuple = (0, 0)  # A, B
    a_in_registers: bool = False
    scale_d: bool = True
    negates: tuple = (1, 1)

    @property
    def k(self):
        return 32 * 8 // BITS[self.a]

    @property
    def sums(self):
        return "s32" if self.a in ("s8", "u8") else "f32"

    @property
    def name(self):
        return (f"m64n{self.n}k{self.k} {self.a} {self.b} swizzle {self.swizzle} transposed {self.transposes} "
                f"{'registers' if self.a_in_registers else 'shared'} {'c' if self.scale_d else 'no c'} {self.negates}")


def offsets(rows, k, size, swizzle, transposed):
    """Byte offsets of elements [rows, k] from an aligned start, the leading and the stride offset, the bytes of all."""
    span = SPAN[swizzle]
    row, at = np.meshgrid(np.arange(rows), np.arange(k), indexing="ij")
    if not transposed:
        byte = at * size
        stride, leading = (8 * span, 128 * ((rows + 7) // 8)) if swizzle == "none" else (8 * span, 16)
        if swizzle == "none":
            stride = 128
            where = row % 8 * 16 + row // 8 * stride + byte // 16 * leading + byte % 16
        else:
            where = row % 8 * span + row // 8 * stride + byte
    else:
        together = span // size
        outer = max(1, rows // together)
        if swizzle == "none":
            stride, leading = 128 * (k // 8), 128  # of the next eight rows, of the next eight of K
            where = row % 8 * size + row // 8 * stride + at % 8 * 16 + at // 8 * leading
        else:
            leading, stride = 8 * span, 8 * span * outer
            where = row % together * size + row // together * leading + at % 8 * span + at // 8 * stride
    mask = (span // 16 - 1) << 7
    where = where ^ ((where & mask) >> 3)
    return where, leading, stride, -(-int(where.max() + size) // 1024) * 1024


def place(values, swizzle, transposed):
    """The bytes of shared memory that hold a matrix of unsigned integers, and its descriptor at byte 0."""
    rows, k = values.shape
    size = values.dtype.itemsize
    where, leading, stride, total = offsets(rows, k, size, swizzle, transposed)
    memory = np.zeros(total, np.uint8)
    for byte in range(size):
        memory[where + byte] = (values >> (8 * byte)).astype(np.uint8)
    return memory, CODE[swizzle] << 62 | (stride >> 4) << 32 | (leading >> 4) << 16


def listed(prefix, count, first=0):
    return "{" + ", ".join(f"{prefix}{first + i}" for i in range(count)) + "}"


def text(case, shared_bytes, b_at, a_descriptor, b_descriptor):
    count = case.n // 2
    kind = "f32" if case.sums == "f32" else "b32"
    a = listed("%x", 4) if case.a_in_registers else "%rd20"
    scales = "" if case.sums == "s32" else f", {case.negates[0]}, {case.negates[1]}"
    if BITS[case.a] == 16:
        scales += "".join(f", {t}" for t in (case.transposes[1:] if case.a_in_registers else case.transposes))
    lines = [f""".version 8.4
.target sm_90a
.address_size 64
.visible .entry form(.param .u64 bytes, .param .u64 words, .param .u64 sums)
.reqntid {THREADS}
{{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b32 %x<4>; .reg .b64 %rd<32>; .reg .{kind} %d<{count}>;
.shared .align 1024 .b8 tile[{shared_bytes}];
ld.param.u64 %rd1, [bytes]; ld.param.u64 %rd2, [words]; ld.param.u64 %rd3, [sums];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd4, %r0, 16; add.s64 %rd5, %rd1, %rd4;
mov.u32 %r1, tile; shl.b32 %r2, %r0, 4; add.u32 %r2, %r1, %r2;
mov.u32 %r4, %r0;
FILL: ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%rd5]; st.shared.v4.b32 [%r2], {{%r5, %r6, %r7, %r8}};
add.s64 %rd5, %rd5, {16 * THREADS}; add.u32 %r2, %r2, {16 * THREADS}; add.u32 %r4, %r4, {THREADS};
setp.lt.u32 %p1, %r4, {shared_bytes // 16}; @%p1 bra FILL;
fence.proxy.async.shared::cta; // proxy
bar.sync 0; // barrier
mul.wide.u32 %rd6, %r0, 16; add.s64 %rd6, %rd2, %rd6;
ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%rd6];
mul.wide.u32 %rd7, %r0, {4 * count}; add.s64 %rd7, %rd3, %rd7;"""]
    lines += [f"ld.global.{kind} %d{i}, [%rd7+{4 * i}];" for i in range(count)]
    lines.append(f"""shr.u32 %r3, %r1, 4; and.b32 %r3, %r3, 16383; cvt.u64.u32 %rd8, %r3;
mov.b64 %rd20, {a_descriptor}; add.s64 %rd20, %rd20, %rd8;
mov.b64 %rd21, {b_descriptor + (b_at >> 4)}; add.s64 %rd21, %rd21, %rd8;
setp.{'eq' if case.scale_d else 'ne'}.u32 %p2, %r0, %r0;
wgmma.fence.sync.aligned; // fence
wgmma.mma_async.sync.aligned.m64n{case.n}k{case.k}.{case.sums}.{case.a}.{case.b} {listed('%d', count)}, {a}, %rd21, %p2{scales}; // product
wgmma.commit_group.sync.aligned; // commit
wgmma.wait_group.sync.aligned 0; // wait""")
    lines += [f"st.global.{kind} [%rd7+{4 * i}], %d{i};" for i in range(count)]
    return "\n".join([*lines, "ret;", "}", ""])


def words_of(case, a):
    """A as the registers of a lane hold it: [thread, 4]."""
    per = 32 // BITS[case.a]
    words = np.zeros((THREADS, 4), np.uint32)
    for thread, reg, i in itertools.product(range(THREADS), range(4), range(per)):
        lane, warp = thread % 32, thread // 32
        value = a[16 * warp + lane // 4 + 8 * (reg % 2), per * (lane % 4) + i + 4 * per * (reg // 2)]
        words[thread, reg] |= np.uint32(int(value) << (i * BITS[case.a]))
    return words


def lanes_of(case, matrix):
    """[64, n] as [thread, register]; and back by `matrix_of`."""
    return matrix[place_of(case)]


def place_of(case):
    thread, reg = np.meshgrid(np.arange(THREADS), np.arange(case.n // 2), indexing="ij")
    lane = thread % 32
    return 16 * (thread // 32) + lane // 4 + 8 * (reg // 2 % 2), 8 * (reg // 4) + 2 * (lane % 4) + reg % 2


def matrix_of(case, lanes):
    matrix = np.zeros((64, case.n), lanes.dtype)
    matrix[place_of(case)] = lanes
    return matrix


def launch(case, a, b, c):
    """The text and the arrays of a product of unsigned integers as bits; the last array is C and becomes D, by lanes."""
    a_bytes, a_descriptor = place(a, case.swizzle, case.transposes[0])
    b_bytes, b_descriptor = place(b, case.swizzle, case.transposes[1])
    memory = np.concatenate([a_bytes, b_bytes])
    memory = np.concatenate([memory, np.zeros(-len(memory) % (16 * THREADS), np.uint8)])
    code = text(case, len(memory), len(a_bytes), a_descriptor, b_descriptor)
    return code, [memory, words_of(case, a), np.ascontiguousarray(lanes_of(case, c))]


def cases():
    """Every element type, form and way to lie."""
    for kind in ("f16", "bf16"):
        for swizzle, transposes, a_in_registers in itertools.product(SPAN, itertools.product((0, 1), repeat=2), (False, True)):
            if not (a_in_registers and transposes[0]):
                yield Case(kind, kind, 64, swizzle, transposes, a_in_registers)
    pairs = [("tf32", "tf32"), *itertools.product(("e4m3", "e5m2"), repeat=2), ("s8", "s8"), ("u8", "u8")]
    for (a, b), a_in_registers in itertools.product(pairs, (False, True)):
        yield Case(a, b, 32, "32", a_in_registers=a_in_registers)
    for swizzle in SPAN:
        yield Case("tf32", "tf32", 16, swizzle)
        yield Case("s8", "s8", 16, swizzle)
    for n in (8, 24, 80, 136, 256):
        yield Case(n=n)
        yield Case(n=n, scale_d=False, negates=(1, -1))
        yield Case("bf16", "bf16", n, negates=(-1, 1))
    for n in (64, 128, 256):
        yield Case(n=n, transposes=(0, 1))


# ---- recordings -------------------------------------------------------------------------------

WIDTH = {8: np.uint8, 16: np.uint16, 32: np.uint32}


def sum_cases():
    """(name of operands, case, seed): operands that tell one way of summing from another."""
    pairs = [("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), *itertools.product(("e4m3", "e5m2"), repeat=2)]
    for inputs, (a, b), a_in_registers in itertools.product(FLOATS, pairs, (False, True)):
        yield inputs, Case(a, b, 8, "32", a_in_registers=a_in_registers), 1
    for kind in ("s8", "u8"):
        yield "integers", Case(kind, kind, 8, "32"), 1


def bits_for(inputs, case, seed):
    """A, B, C as bits."""
    rng = np.random.default_rng([seed, *map(ord, inputs + case.name)])
    matrices = []
    for kind, shape, is_sum in ((case.a, (64, case.k), False), (case.b, (case.n, case.k), False), (case.sums, (64, case.n), True)):
        count, width = shape[0] * shape[1], BITS.get(kind, 32)
        values = integers(rng, width, count) if inputs == "integers" else floats(rng, kind, inputs, count, is_sum)
        matrices.append(values.astype(WIDTH[width]).reshape(shape))
    return matrices


def label(inputs, case):
    return f"{inputs}: {case.name}"
