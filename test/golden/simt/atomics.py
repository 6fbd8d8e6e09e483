# RUN: tegula compile %s::added_columns --target sm_90a --num-warps 4 --emit simt --signature "x=*f32,sums=*f32,SEM='release'" | FileCheck %s --check-prefix=ORDERED
# RUN: tegula compile %s::added_columns --target sm_90a --num-warps 4 --emit simt --signature "x=*f32,sums=*f32,SEM='relaxed'" | FileCheck %s --check-prefix=RELAXED
# RUN: tegula compile %s::count --target sm_90a --emit ptx --signature 'x=*i32,counts=*i32,n=i32,BLOCK=128' | FileCheck %s --check-prefix=COUNT
# RUN: tegula compile %s::ticket --target sm_75 --emit ptx --signature 'x=*i32,out=*i32' | FileCheck %s --check-prefix=TICKET
# RUN: tegula compile %s::add --target sm_90a --emit ptx --signature 'x=*bf16,out=*bf16,BLOCK=128' | FileCheck %s --check-prefix=NATIVE
# RUN: tegula compile %s::add --target sm_80 --emit ptx --signature 'x=*bf16,out=*bf16,BLOCK=128' | FileCheck %s --check-prefix=LOOP
# RUN: tegula compile %s::publish --target sm_80 --emit ptx --signature 'x=*f32,flag=*i32,BLOCK=256' | FileCheck %s --check-prefix=PUBLISH
# RUN: tegula compile %s::consume --target sm_80 --emit ptx --signature 'x=*f32,out=*f32,flag=*i32,BLOCK=256' | FileCheck %s --check-prefix=CONSUME
# RUN: tegula compile %s::accumulate --target sm_90a --emit ptx --signature 'x=*f32:16,BLOCK=512' | FileCheck %s --check-prefix=QUADS
# RUN: tegula compile %s::accumulate --target sm_90a --emit ptx --signature 'x=*bf16:16,BLOCK=1024' | FileCheck %s --check-prefix=OCTETS
# RUN: tegula compile %s::accumulate --target sm_80 --emit ptx --signature 'x=*f16:16,BLOCK=1024' | FileCheck %s --check-prefix=PAIRS
# RUN: tegula compile %s::accumulate --target sm_90a --emit ptx --signature 'x=*f32,BLOCK=512' | FileCheck %s --check-prefix=SINGLE
# RUN: tegula compile %s::spread --target sm_90a --emit ptx --signature 'x=*f32:16,BLOCK=1024,SEM="acq_rel",SCOPE="sys"' | FileCheck %s --check-prefix=BOTH
# RUN: tegula compile %s::spread --target sm_80 --emit ptx --signature 'x=*f32:16,BLOCK=256,SEM="release",SCOPE="sys"' | FileCheck %s --check-prefix=AHEAD
# RUN: tegula compile %s::spread --target sm_80 --emit ptx --signature 'x=*f32:16,BLOCK=256,SEM="acquire",SCOPE="cta"' | FileCheck %s --check-prefix=BEHIND
# RUN: tegula compile %s::spread --target sm_80 --emit ptx --signature 'x=*f32:16,BLOCK=128,SEM="acq_rel",SCOPE="sys"' | FileCheck %s --check-prefix=ALONE
# RUN: tegula compile %s::accumulate_loaded --target sm_90a --emit ptx --signature 'x=*bf16:16,out=*f32:16,BLOCK=1024' | FileCheck %s --check-prefix=LOADED
# RUN: tegula compile %s::accumulate_sums --target sm_90a --emit ptx --signature 'x=*bf16:16,out=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=SUMS
# RUN: tegula compile %s::accumulate_words --target sm_90a --emit ptx --signature 'x=*i32:16,BLOCK=512' | FileCheck %s --check-prefix=WORDS
# RUN: tegula compile %s::add_product --target sm_90a --emit ptx --signature 'a=*f16:16,b=*f16:16,sums=*f32:16,N=128' | FileCheck %s --check-prefix=LINES
# RUN: tegula compile %s::add_product --target sm_90a --emit ptx --signature 'a=*f16:16,b=*f16:16,sums=*f32:16,N=16' | FileCheck %s --check-prefix=SECTORS
# RUN: tegula compile %s::sums_of_trips --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,sums=*f32:16,n=i32,SCOPE="gpu",READS=0' | FileCheck %s --check-prefix=UNSEEN
# RUN: tegula compile %s::sums_of_trips --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,sums=*f32:16,n=i32,SCOPE="sys",READS=0' | FileCheck %s --check-prefix=SEEN
# RUN: tegula compile %s::sums_of_trips --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,sums=*f32:16,n=i32,SCOPE="gpu",READS=1' | FileCheck %s --check-prefix=SEEN
# RUN: tegula compile %s::sums_of_trips --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,sums=*i32:16,n=i32,SCOPE="gpu",READS=0' | FileCheck %s --check-prefix=SEEN
# RUN: tegula compile %s::added_rows --target sm_90a --num-warps 4 --emit simt --signature 'x=*f32:16,sums=*f32:16' | FileCheck %s --check-prefix=ROWS
# RUN: tegula compile %s::add_column_sums --target sm_90a --num-warps 4 --emit simt --signature 'x=*f16:16,sums=*f32:16' | FileCheck %s --check-prefix=SMALL
# Atomics: one thread an element, `red` where nobody wants what was there, barriers where `sem` orders the
# program's other threads.
import tegula.language as tl
from tegula import jit


@jit
def count(x, counts, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.atomic_add(counts + tl.load(x + i, mask=i < n), 1, mask=i < n, sem="relaxed")


# Sums need no order among themselves, and other arguments none.
# COUNT-NOT: bar.sync
# COUNT: @%p{{[0-9]+}} atom.global.gpu.relaxed.add.u32
# COUNT-NOT: bar.sync


@jit
def ticket(x, out):
    """Thread 0 takes it, all of the program see it."""
    old = tl.atomic_add(x, 1, scope="sys")
    tl.store(out + old, 1)


# TICKET-NOT: bar.sync
# TICKET: atom.global.sys.acq_rel.add.u32
# TICKET: st.shared.b32
# TICKET: bar.sync
# TICKET: ld.shared.b32


@jit
def add(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.atomic_add(x + i, 1.0, sem="relaxed"))


# NATIVE-NOT: bar.sync
# NATIVE: atom.global.gpu.relaxed.add.noftz.bf16
# NATIVE-NOT: bar.sync
# LOOP: ld.volatile.global.b16
# LOOP: atom.global.relaxed.gpu.cas.b16
# LOOP: bra


@jit
def publish(x, flag, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)
    tl.atomic_xchg(flag, 1, sem="release")


# PUBLISH: st.global
# PUBLISH: bar.sync
# PUBLISH: atom.global.gpu.release.exch.b32
# PUBLISH-NOT: bar.sync


@jit
def consume(x, out, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(flag, 0, sem="acquire")
    tl.store(out + i, tl.load(x + i))


# CONSUME-NOT: bar.sync
# CONSUME: atom.global.gpu.acquire.add.u32
# CONSUME: bar.sync
# CONSUME: ld.global


@jit
def accumulate(x, BLOCK: tl.constexpr):
    tl.atomic_add(x + tl.arange(0, BLOCK), 1.0, sem="relaxed")


# QUADS-COUNT-1: red.relaxed.gpu.global.add.v4.f32
# QUADS-NOT: red.
# OCTETS-COUNT-1: red.relaxed.gpu.global.add.noftz.v4.bf16x2
# OCTETS-NOT: red.
# PAIRS-COUNT-4: red.relaxed.gpu.global.add.noftz.f16x2
# SINGLE-COUNT-4: atom.global.gpu.relaxed.add.f32


@jit
def spread(x, BLOCK: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr):
    tl.atomic_add(x + tl.arange(0, BLOCK), 1.0, sem=SEM, scope=SCOPE)


# Fences around all of a thread's steps order them: each ordered step would wait for the one before.
# BOTH-NOT: atom
# BOTH: fence.acq_rel.sys;
# BOTH-COUNT-2: atom.relaxed.sys.global.add.v4.f32
# BOTH-NOT: atom
# BOTH: fence.acq_rel.sys;
# AHEAD: fence.acq_rel.sys;
# AHEAD-COUNT-2: atom.global.sys.relaxed.add.f32
# AHEAD-NOT: fence
# BEHIND-NOT: fence
# BEHIND-COUNT-2: atom.global.cta.relaxed.add.f32
# BEHIND: fence.acq_rel.cta;
# ALONE-NOT: fence
# ALONE: atom.global.sys.acq_rel.add.f32
# ALONE-NOT: fence


@jit
def accumulate_loaded(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(out + i, tl.load(x + i).to(tl.float32), sem="relaxed")


# Neighbouring lanes add neighbouring quads, so that each step takes whole sectors; the loads are as narrow.
# LOADED-COUNT-2: ld.global.v2.b32
# LOADED-NOT: shared
# LOADED-COUNT-2: red.relaxed.gpu.global.add.v4.f32
# LOADED-NOT: red.


@jit
def accumulate_sums(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + i).to(tl.float32)
    tl.atomic_add(out + i, total, sem="relaxed")


# Loads of a loop stay wide; the sums move once, behind it.
# SUMS: ld.global.v4.b32
# SUMS: st.shared
# SUMS: ld.shared
# SUMS-COUNT-2: red.relaxed.gpu.global.add.v4.f32
# SUMS-NOT: red.


@jit
def accumulate_words(x, BLOCK: tl.constexpr):
    tl.atomic_add(x + tl.arange(0, BLOCK), 1, sem="relaxed")


# No instruction adds several integers: a thread's are as far apart as its warps are wide.
# WORDS: add.s64 [[SECOND:%rd[0-9]+]], {{%rd[0-9]+}}, 512;
# WORDS: add.u32 {{%r[0-9]+}}, {{\[}}[[SECOND]]], {{%r[0-9]+}};


# Sums of columns are added by all threads, one each: steps of few threads add to a line in parts, and each that orders what is
# around it has a thread wait for memory.
# ORDERED: simt.convert {{.*}} tensor<128xf32
# ORDERED: tt.atomic_rmw
# RELAXED: simt.convert {{.*}} tensor<128xf32
# RELAXED: tt.atomic_rmw
@jit
def added_columns(x, sums, SEM: tl.constexpr):
    column = tl.arange(0, 128)
    tile = tl.load(x + tl.arange(0, 16)[:, None] * 128 + column[None, :])
    tile *= tl.sum(tile, 1)[:, None] + tl.max(tile, 1)[:, None] + tl.min(tile, 1)[:, None]
    tl.atomic_add(sums + column, tl.sum(tile, 0), sem=SEM)


@jit
def add_product(a, b, sums, N: tl.constexpr):
    m, n, k = tl.arange(0, 64), tl.arange(0, N), tl.arange(0, 64)
    product = tl.dot(tl.load(a + m[:, None] * 64 + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]))
    tl.atomic_add(sums + m[:, None] * N + n[None, :], product, sem="relaxed")


# Four lanes of a product's result have a sector of each row. Where rows have whole lines, the result moves so that
# each instruction adds to some; shorter rows are added to as they lie.
# LINES: st.shared
# LINES: red.relaxed.gpu.global.add.v4.f32
# SECTORS-NOT: add.v4.f32
# SECTORS: red.relaxed.gpu.global.add.v2.f32


@jit
def sums_of_trips(x, out, sums, n, SCOPE: tl.constexpr, READS: tl.constexpr):
    i = tl.arange(0, 512)
    for start in range(0, n, 512):
        tile = tl.load(x + start + i)
        tl.store(out + start + i, tile * 2)
        tl.atomic_add(sums + i, tile.to(sums.dtype.element_ty), scope=SCOPE)
    if READS:
        tl.atomic_xchg(sums, 0)


# Sums of floats that no program of the launch can wait for order nothing: the warps do not meet for them, and no
# thread waits for its stores. Integers, and what `sys` or another atomic sees, keep the order.
# UNSEEN-NOT: bar.sync
# UNSEEN-NOT: fence
# UNSEEN: red.relaxed.gpu.global.add.v4.f32
# UNSEEN-NOT: bar.sync
# SEEN: st.global
# SEEN: bar.sync
# SEEN: {{fence.acq_rel|atom.acq_rel}}


# Sums of rows, of which each lane of a row has eight or more, are added by all threads, one each.
# ROWS: simt.convert {{.*}} tensor<128xf32
# ROWS: tt.atomic_rmw fadd, relaxed
@jit
def added_rows(x, sums):
    row = tl.arange(0, 128)
    tile = tl.load(x + row[:, None] * 128 + tl.arange(0, 128)[None, :])
    tl.atomic_add(sums + row, tl.sum(tile, 1))


# Sixteen lanes hold all sums, eight each; every thread adds one of them, so that a warp fills a line.
# SMALL: tt.atomic_rmw fadd, relaxed{{.*}}simt.width = 1
@jit
def add_column_sums(x, sums):
    row, column = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, 128)
    added = tl.sum(tl.load(x + row[:, None] * 128 + column[None, :]).to(tl.float32), 0)
    tl.atomic_add(sums + column, added, sem="relaxed")
