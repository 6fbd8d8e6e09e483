"""A product of 16-bit matrices as PTX, written by hand: cp.async into three stages of swizzled shared memory, ldmatrix, mma.

C (M x N, f32) = A (M x K) B (K x N), all row-major; M and N are multiples of 64, K of 32. A block of four warps makes 64 x 64.
Lines that steer the pipeline end in a comment that names them, for the mutations in test_matmul.py.
"""
STAGE, STAGES = 8192, 3  # bytes: A 64 x 32, then B 32 x 64

HEAD = """.version 7.8
.target sm_80
.address_size 64
.visible .entry matmul(.param .u64 a, .param .u64 b, .param .u64 c)
{
.reg .pred %p<8>;
.reg .b32 %r<64>;
.reg .b32 %x<64>;
.reg .b64 %rd<32>;
.reg .f32 %acc<32>;
.shared .align 128 .b8 tiles[24576];
"""


def copies(stage):
    """A thread's 16 bytes of two rows of A and of B; the sources go on by one tile."""
    for row in range(2):
        yield f"@%p1 cp.async.cg.shared.global [{stage}+{2048 * row}], [%rd{1 + row}], 16;"
    for row in range(2):
        yield f"@%p1 cp.async.cg.shared.global [{stage}+{4096 + 2048 * row}], [%rd{3 + row}], 16;"


def advance(n):
    for row in range(2):
        yield f"add.s64 %rd{1 + row}, %rd{1 + row}, 64;"
        yield f"add.s64 %rd{3 + row}, %rd{3 + row}, {64 * n};"


def products(kind):
    """The stage at %r20: two steps of 16 along K."""
    for step in range(2):
        for i in range(2):
            yield f"add.u32 %r30, %r20, %r{21 + step};"
            yield f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%x{4 * i}, %x{4 * i + 1}, %x{4 * i + 2}, %x{4 * i + 3}}}, [%r30+{1024 * i}];"
        for j in range(2):
            x = 8 + 4 * j
            yield f"add.u32 %r30, %r20, %r{23 + j};"
            yield f"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%x{x}, %x{x + 1}, %x{x + 2}, %x{x + 3}}}, [%r30+{2048 * step}];"
        for i in range(2):
            for j in range(4):
                d = ", ".join(f"%acc{16 * i + 4 * j + k}" for k in range(4))
                a = ", ".join(f"%x{4 * i + k}" for k in range(4))
                yield (f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 {{{d}}}, {{{a}}}, "
                       f"{{%x{8 + 2 * j}, %x{9 + 2 * j}}}, {{{d}}};")


def lines(n, k, kind):
    yield from (f"ld.param.u64 %rd{10 + i}, [{name}];" for i, name in enumerate("abc"))
    yield from """mov.u32 %r0, %tid.x;
and.b32 %r1, %r0, 31;
shr.u32 %r2, %r0, 5;
and.b32 %r3, %r2, 1;
shr.u32 %r4, %r2, 1;
mov.u32 %r5, %ctaid.y;
shl.b32 %r5, %r5, 6;
mov.u32 %r6, %ctaid.x;
shl.b32 %r6, %r6, 6;
mov.u32 %r7, tiles;""".split("\n")
    # %rd1, %rd2, %r8: the thread's source and place in A; %rd3, %rd4, %r9: in B.
    yield from f"""shr.u32 %r10, %r0, 2;
and.b32 %r11, %r0, 3;
add.u32 %r12, %r5, %r10;
mul.lo.u32 %r12, %r12, {k};
mad.lo.u32 %r12, %r11, 8, %r12;
mad.wide.u32 %rd1, %r12, 2, %rd10;
add.s64 %rd2, %rd1, {64 * k};
shr.u32 %r12, %r10, 1;
and.b32 %r12, %r12, 3;
xor.b32 %r11, %r11, %r12;
shl.b32 %r11, %r11, 4;
mad.lo.u32 %r8, %r10, 64, %r11;
add.u32 %r8, %r8, %r7;
shr.u32 %r10, %r0, 3;
and.b32 %r11, %r0, 7;
mul.lo.u32 %r12, %r10, {n};
add.u32 %r12, %r12, %r6;
mad.lo.u32 %r12, %r11, 8, %r12;
mad.wide.u32 %rd3, %r12, 2, %rd11;
add.s64 %rd4, %rd3, {32 * n};
and.b32 %r12, %r10, 7;
xor.b32 %r11, %r11, %r12;
shl.b32 %r11, %r11, 4;
mad.lo.u32 %r9, %r10, 128, %r11;
add.u32 %r9, %r9, %r7;""".split("\n")
    # %r21, %r22: the lane's rows of A in a stage, for each step; %r23, %r24: of B, for each 16 columns.
    yield from """and.b32 %r10, %r1, 15;
shr.u32 %r11, %r1, 4;
shr.u32 %r12, %r1, 1;
and.b32 %r12, %r12, 3;
mad.lo.u32 %r13, %r3, 32, %r10;
shl.b32 %r13, %r13, 6;
xor.b32 %r14, %r11, %r12;
mad.lo.u32 %r21, %r14, 16, %r13;
add.u32 %r14, %r11, 2;
xor.b32 %r14, %r14, %r12;
mad.lo.u32 %r22, %r14, 16, %r13;
and.b32 %r12, %r1, 7;
mad.lo.u32 %r13, %r10, 128, 4096;
mad.lo.u32 %r11, %r4, 4, %r11;
xor.b32 %r14, %r11, %r12;
mad.lo.u32 %r23, %r14, 16, %r13;
add.u32 %r14, %r11, 2;
xor.b32 %r14, %r14, %r12;
mad.lo.u32 %r24, %r14, 16, %r13;""".split("\n")
    yield from (f"mov.f32 %acc{i}, 0f00000000;" for i in range(32))
    yield "setp.eq.u32 %p1, %r0, %r0;"
    for stage in range(STAGES - 1):
        yield f"add.u32 %r16, %r8, {STAGE * stage}; // stage"
        yield f"add.u32 %r17, %r9, {STAGE * stage}; // stage"
        yield from place(copies("%r16"))
        yield "cp.async.commit_group; // commit"
        yield from advance(n)
    yield "mov.u32 %r18, 0; // read"
    yield f"mov.u32 %r19, {STAGE * (STAGES - 1)}; // write"
    yield "mov.u32 %r15, 0;"
    yield "LOOP:"
    yield f"cp.async.wait_group {STAGES - 2}; // wait"
    yield "bar.sync 0; // barrier"
    yield f"setp.lt.u32 %p1, %r15, {k // 32 - STAGES + 1};"
    yield "add.u32 %r16, %r8, %r19;"
    yield "add.u32 %r17, %r9, %r19;"
    yield from place(copies("%r16"))
    yield "cp.async.commit_group; // commit"
    yield from advance(n)
    yield "add.u32 %r20, %r7, %r18;"
    yield from products(kind)
    for register, name in (("%r18", "read"), ("%r19", "write")):
        yield f"add.u32 {register}, {register}, {STAGE}; // advance {name}"
        yield f"setp.eq.u32 %p2, {register}, {STAGE * STAGES}; // wrap {name}"
        yield f"selp.u32 {register}, 0, {register}, %p2; // wrap {name}"
    yield "add.u32 %r15, %r15, 1;"
    yield f"setp.lt.u32 %p3, %r15, {k // 32};"
    yield "@%p3 bra LOOP;"
    yield from f"""shr.u32 %r10, %r1, 2;
and.b32 %r11, %r1, 3;
mad.lo.u32 %r12, %r3, 32, %r10;
add.u32 %r12, %r12, %r5;
mad.lo.u32 %r13, %r4, 32, %r6;
mad.lo.u32 %r13, %r11, 2, %r13;
mad.lo.u32 %r12, %r12, {n}, %r13;
mad.wide.u32 %rd5, %r12, 4, %rd12;""".split("\n")
    for i in range(2):
        for j in range(4):
            for half in range(2):
                at = 4 * ((16 * i + 8 * half) * n + 8 * j)
                yield f"st.global.v2.f32 [%rd5+{at}], {{%acc{16 * i + 4 * j + 2 * half}, %acc{16 * i + 4 * j + 2 * half + 1}}};"
    yield "ret;"


def place(some):
    """A's copies go to %r16, B's to %r17."""
    for line in some:
        yield line.replace("[%r16+4096]", "[%r17+4096]").replace("[%r16+6144]", "[%r17+6144]")


def text(n, k, kind="f16"):
    return HEAD + "\n".join(lines(n, k, kind)) + "\n}\n"
