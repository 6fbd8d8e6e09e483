# RUN: tegula compile %s::apart --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=APART
# RUN: tegula compile %s::together --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=TOGETHER
# RUN: tegula compile %s::in_place --target sm_90a --emit ptx --signature 'x=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=PLACE
# RUN: tegula compile %s::shifted --target sm_90a --emit ptx --signature 'x=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=SHIFTED
# RUN: tegula compile %s::together --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=256' | FileCheck %s --check-prefix=FEW
# RUN: tegula compile %s::kept --target sm_90a --num-warps 4 --emit ptx --signature 'k=*f32:16,v=*f32:16,out=*f32:16,n=i32,K=128,V=32' | FileCheck %s --check-prefix=KEPT
# RUN: tegula compile %s::kept --target sm_90a --num-warps 1 --emit ptx --signature 'k=*f32:16,v=*f32:16,out=*f32:16,n=i32,K=32,V=64' | FileCheck %s --check-prefix=MUCH
# RUN: tegula compile %s::apart --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,BLOCK=2048' | FileCheck %s --check-prefix=LARGE
# RUN: tegula compile %s::twice --target sm_90a --emit ptx --signature 'x=*f32:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=TWICE
# Loops over memory are compiled for few threads, so that loads of several trips run together, and for fewer if they hold more;
# not those whose warps all meet in each trip, since no load runs ahead across a barrier, unless a trip brings a thread few
# elements, or keeps a tile that it reduces.
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
