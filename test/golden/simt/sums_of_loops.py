# RUN: tegula compile %s::added --target sm_90a --emit ptx --signature 'x=*f32:16,out=*f32:16,n=i32:16,N=1024' | FileCheck %s --check-prefix=ADDED
# RUN: tegula compile %s::rows --target sm_90a --emit simt --signature 'x=*f16:16,out=*f32:16,n=i32:16,M=16,N=128' | FileCheck %s --check-prefix=ROWS
# RUN: tegula compile %s::scaled --target sm_90a --num-warps 1 --emit simt --signature 'x=*f32:16,out=*f32:16,n=i32:16,N=1024' | FileCheck %s --check-prefix=LANES
# RUN: tegula compile %s::scaled --target sm_90a --num-warps 4 --emit simt --signature 'x=*f32:16,out=*f32:16,n=i32:16,N=1024' | FileCheck %s --check-prefix=WARPS
# RUN: tegula compile %s::rounded --target sm_90a --emit simt --signature 'x=*f16:16,out=*f16:16,n=i32:16,N=1024' | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::added --target sm_90a --emit simt --signature 'x=*f32:16,out=*f32:16,n=i32:16,N=96' | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::read --target sm_90a --emit simt --signature 'x=*f32:16,out=*f32:16,n=i32:16,N=1024' | FileCheck %s --check-prefix=STAYS
# RUN: tegula explain %s::added --target sm_90a --signature 'x=*f32:16,out=*f32:16,n=i32:16,N=1024' | FileCheck %s --check-prefix=TOLD
# What a loop only adds up is combined across threads once, behind it: no trip shuffles or waits for other warps.
import tegula.language as tl
from tegula import jit


@jit
def added(x, out, n, N: tl.constexpr):
    total = 0.0
    largest = float("-inf")
    for start in range(0, n, N):
        v = tl.load(x + start + tl.arange(0, N))
        total += tl.sum(v)
        largest = tl.maximum(largest, tl.max(v))
    tl.store(out, total)
    tl.store(out + 1, largest)


# ADDED: ld.global
# ADDED-NOT: shfl
# ADDED-NOT: bar.sync
# ADDED: bra
# ADDED: shfl
# TOLD: sums_of_loops.py:20:{{.*}} each thread combines its own elements in the loop, all threads once behind it


@jit
def rows(x, out, n, M: tl.constexpr, N: tl.constexpr):
    acc = tl.zeros((M,), tl.float32)
    at = tl.arange(0, M)[:, None] * n + tl.arange(0, N)[None, :]
    for start in range(0, n, N):
        acc += tl.sum(tl.load(x + at + start).to(tl.float32), 1)
    tl.store(out + tl.arange(0, M), acc)


# Lanes lie along the rows; a thread keeps what it has of each row.
# ROWS: scf.for
# ROWS: tt.reduce {{.*}} axis 2
# ROWS: } : (tensor<16x16x8xf32
# ROWS: scf.yield
# ROWS: tt.reduce {{.*}} axis 1
# ROWS: } : (tensor<16x16xf32


@jit
def scaled(x, out, n, N: tl.constexpr):
    acc = 0.0
    for start in range(0, n, N):
        acc = acc * 0.5 + tl.sum(tl.load(x + start + tl.arange(0, N)))
    tl.store(out, acc)


# Each thread scales its part.
# LANES: scf.for
# LANES-SAME: -> (tensor<32xf32
# LANES: scf.yield
# LANES: tt.reduce
# LANES: } : (tensor<32xf32
# WARPS: scf.for
# WARPS-NOT: (tensor<1024xf32
# WARPS: scf.yield
# WARPS: tt.reduce


@jit
def rounded(x, out, n, N: tl.constexpr):
    acc = tl.full((), 0.0, tl.float16)
    for start in range(0, n, N):
        acc += tl.sum(tl.load(x + start + tl.arange(0, N)))
    tl.store(out, acc)


@jit
def read(x, out, n, N: tl.constexpr):
    acc = 0.0
    for start in range(0, n, N):
        acc += tl.sum(tl.load(x + start + tl.arange(0, N)))
        tl.store(out + start, acc)


# STAYS: scf.for
# STAYS: tt.reduce {{.*}} axis 0
# STAYS: -> f{{16|32}}
# STAYS: scf.yield
