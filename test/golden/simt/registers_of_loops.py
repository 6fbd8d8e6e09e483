# RUN: tegula compile %s::apart --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=APART
# RUN: tegula compile %s::together --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=TOGETHER
# RUN: tegula compile %s::in_place --target sm_90a --emit ptx --signature 'x=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=PLACE
# RUN: tegula compile %s::shifted --target sm_90a --emit ptx --signature 'x=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=SHIFTED
# RUN: tegula compile %s::together --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=256' | FileCheck %s --check-prefix=FEW
# RUN: tegula compile %s::together --target sm_90a --num-warps 4 --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=16384' | FileCheck %s --check-prefix=FULL
# RUN: tegula compile %s::kept --target sm_90a --num-warps 4 --emit ptx --signature 'k=*f32:16,v=*f32:16,out=*f32:16,n=i32,K=128,V=32' | FileCheck %s --check-prefix=KEPT
# RUN: tegula compile %s::kept --target sm_90a --num-warps 1 --emit ptx --signature 'k=*f32:16,v=*f32:16,out=*f32:16,n=i32,K=32,V=64' | FileCheck %s --check-prefix=MUCH
# RUN: tegula compile %s::apart --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=2048' | FileCheck %s --check-prefix=LARGE
# RUN: tegula compile %s::twice --target sm_90a --emit ptx --signature 'x=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=TWICE
# RUN: tegula compile %s::rows --target sm_90a --emit ptx --signature 'x=*f16:16,out=*f16:16,n=i32,stop=i32,R=16,BLOCK=256,BELOW="n",BY="blocks"' | FileCheck %s --check-prefix=ROWS
# RUN: tegula compile %s::rows --target sm_90a --emit ptx --signature 'x=*f16:16,out=*f16:16,n=i32,stop=i32,R=16,BLOCK=256,BELOW="n",BY="elements"' | FileCheck %s --check-prefix=ROWS
# RUN: tegula compile %s::rows --target sm_90a --emit ptx --signature 'x=*f16:16,out=*f16:16,n=i32,stop=i32,R=16,BLOCK=256,BELOW="stop",BY="elements"' | FileCheck %s --check-prefix=OTHERS
# RUN: tegula compile %s::rows --target sm_90a --emit ptx --signature 'x=*f16:16,out=*f16:16,n=i32,stop=i32,R=16,BLOCK=256,BELOW="nothing",BY="elements"' | FileCheck %s --check-prefix=OTHERS
# RUN: tegula compile %s::rows --target sm_90a --emit ptx --signature 'x=*f16:16,out=*f16:16,n=i32,stop=i32,R=16,BLOCK=256,BELOW="n",BY="halves"' | FileCheck %s --check-prefix=OTHERS
# RUN: tegula compile %s::rows_in_place --target sm_90a --emit ptx --signature 'x=*f16:16,n=i32,R=16,BLOCK=256,LAG=0' | FileCheck %s --check-prefix=ROWS
# RUN: tegula compile %s::rows_in_place --target sm_90a --emit ptx --signature 'x=*f16:16,n=i32,R=16,BLOCK=256,LAG=1' | FileCheck %s --check-prefix=OTHERS
# RUN: tegula compile %s::each --target sm_90a --num-warps 4 --emit ptx --signature 'x=*f16:16,out=*f16:16,n=i32,R=8,BLOCK=1024' | FileCheck %s --check-prefix=WIDE
# RUN: tegula compile %s::each --target sm_90a --num-warps 4 --emit ptx --signature 'x=*f16:16,out=*f16:16,n=i32,R=8,BLOCK=256' | FileCheck %s --check-prefix=NARROW
# RUN: tegula compile %s::gated --target sm_90a --num-warps 2 --emit ptx --signature 'x=*f32:16,y=*bf16:16,out=*bf16:16,n=i32' | FileCheck %s --check-prefix=WIDE
# RUN: tegula compile %s::centered --target sm_90a --num-warps 2 --emit ptx --signature 'x=*f32:16,y=*bf16:16,out=*bf16:16,n=i32' | FileCheck %s --check-prefix=REDUCED
# RUN: tegula compile %s::rows_of_factors --target sm_90a --num-warps 4 --emit ptx --signature 'w=*bf16:16,a=*bf16:16,b=*bf16:16,out=*f32:16,n=i32:16,R=16,BLOCK=2048' | FileCheck %s --check-prefix=AMPLE
# RUN: tegula compile %s::rows_of_factors --target sm_90a --num-warps 4 --emit ptx --signature 'w=*bf16:16,a=*bf16:16,b=*bf16:16,out=*f32:16,n=i32:16,R=2,BLOCK=2048' | FileCheck %s --check-prefix=SOME
# RUN: tegula compile %s::segments --target sm_90a --num-warps 4 --emit ptx --signature 'x=*f32:16,ends=*i64:16,out=*f32:16,n=i32:16,FROM="memory"' | FileCheck %s --check-prefix=SEGMENTS
# RUN: tegula compile %s::segments --target sm_90a --num-warps 4 --emit ptx --signature 'x=*f32:16,ends=*i64:16,out=*f32:16,n=i32:16,FROM="argument"' | FileCheck %s --check-prefix=APART
# Loops over memory are compiled for few threads, so that loads of several trips run together, and for fewer if they hold more;
# not those whose warps all meet in each trip, since no load runs ahead across a barrier, unless a trip brings a thread few
# elements, or so many that few of their loads would be under way together, or keeps a tile that it reduces; nor those whose number of
# trips comes from memory, which are short.
import tegula.language as tl
from tegula import jit


@jit
def apart(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + i)
    tl.store(out + i, total)


# APART: .minnctapersm 4
# LARGE: .minnctapersm 8


@jit
def segments(x, ends, out, n, FROM: tl.constexpr):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    total = tl.zeros((128,), tl.float32)
    begin, end = 0, n
    if FROM == "memory":
        begin = tl.load(ends + tl.program_id(1)).to(tl.int32)
        end = begin + tl.minimum(tl.load(ends + tl.program_id(1) + 1).to(tl.int32) - begin, 64)
    for row in range(begin, end):
        total += tl.load(x + row * n + i)
    tl.store(out + i, total)


# SEGMENTS-NOT: .minnctapersm
# SEGMENTS: ret


@jit
def together(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    largest = float("-inf")
    for start in range(0, n, BLOCK):
        largest = tl.maximum(largest, tl.max(tl.load(x + start + i) - largest))
    tl.store(out, largest)


# TOGETHER-NOT: .minnctapersm
# TOGETHER: bar.sync
# FEW: .minnctapersm
# FEW: bar.sync
# FULL: .minnctapersm 2
# FULL: bar.sync


@jit
def in_place(x, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i) * 2)


# PLACE: .minnctapersm
# PLACE-NOT: bar.sync


@jit
def shifted(x, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i + 1) * 2)


# SHIFTED-NOT: .minnctapersm
# SHIFTED: bar.sync


@jit
def kept(k, v, out, n, K: tl.constexpr, V: tl.constexpr):
    i, j = tl.arange(0, K), tl.arange(0, V)
    state = tl.zeros((K, V), tl.float32)
    for t in range(0, n):
        key = tl.load(k + t * K + i)
        state += key[:, None] * (tl.load(v + t * V + j) - tl.sum(state * key[:, None], 0))[None, :]
        tl.store(out + t * V + j, tl.sum(state, 0))


# KEPT: .minnctapersm 4
# KEPT: bar.sync
# One that holds more has room for it.
# MUCH: .minnctapersm {{1[0-9]$}}


@jit
def twice(x, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + tl.arange(0, BLOCK))
    mean = tl.sum(total) / n
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i + 1) - mean)


# TWICE: .minnctapersm 4


@jit
def rows(x, out, n, stop, R: tl.constexpr, BLOCK: tl.constexpr, BELOW: tl.constexpr, BY: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    for trip in range(0, tl.cdiv(n, BLOCK) if BY == "blocks" else n, 1 if BY == "blocks" else BLOCK // 2 if BY == "halves" else BLOCK):
        c = (trip * BLOCK if BY == "blocks" else trip) + tl.arange(0, BLOCK)[None, :]
        mask = c < (stop if BELOW == "stop" else n) if BELOW != "nothing" else None
        tl.store(out + r * n + c, tl.load(x + r * n + c, mask=mask) * 2, mask=mask)


# Rows of n elements whose index within a row is masked below n: no trip stores what another one has stored. Where the mask is
# another, or none, a row's end could lie in the next row; and trips that go on by less than they store meet.
# ROWS: .minnctapersm
# ROWS-NOT: bar.sync
# OTHERS: bar.sync


@jit
def rows_in_place(x, n, R: tl.constexpr, BLOCK: tl.constexpr, LAG: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)[None, :]
        tl.store(x + r * n + c, tl.load(x + r * n + c + LAG, mask=c + LAG < n) * 2, mask=c < n)


# Nothing is carried from trip to trip, and a trip's loads are enough: the programs of a multiprocessor are worth more than the next trip's.
@jit
def each(x, out, n, R: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at[None, :] < n
        tl.store(out + rows[:, None] * n + at[None, :], tl.load(x + rows[:, None] * n + at[None, :], inside) + 1.0, inside)


# A trip that brings more than a thread can hold beside what it computes has loads enough under way with few registers.
@jit
def rows_of_factors(w, a, b, out, n, R: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums = tl.load(w + row * n + at).to(tl.float32)
        for r in tl.static_range(R):
            sums += tl.load(b + row * R + r).to(tl.float32) * tl.load(a + r * n + at).to(tl.float32)
        squares += sums * sums
    tl.store(out + row, tl.sum(squares))


# AMPLE-NOT: .minnctapersm
# SOME: .minnctapersm


# Nor are chunks of a tile told of all registers: the assembler would let each load wait for the one before.
@jit
def gated(x, y, out, n):
    at = (tl.program_id(0) * 16 + tl.arange(0, 16))[:, None] * n + tl.arange(0, 512)[None, :]
    inside = (tl.arange(0, 512) < n)[None, :]
    gate = tl.sigmoid(tl.load(x + at, inside, 0.0))
    tl.store(out + at, gate * tl.load(y + at, inside, 0.0).to(tl.float32), inside)


# Chunks in which something is reduced are.
@jit
def centered(x, y, out, n):
    at = (tl.program_id(0) * 16 + tl.arange(0, 16))[:, None] * n + tl.arange(0, 512)[None, :]
    inside = (tl.arange(0, 512) < n)[None, :]
    row = tl.load(x + at, inside, 0.0)
    row -= tl.sum(row, 1)[:, None] / n
    tl.store(out + at, row * tl.load(y + at, inside, 0.0).to(tl.float32), inside)


# WIDE-NOT: .minnctapersm
# NARROW: .minnctapersm 4
# REDUCED: .minnctapersm 4
