# RUN: tegula compile %s::columns --target sm_90a --num-warps 8 --emit simt --signature 'x=*f16:16,sums=*f32:16,out=*f16:16,C=i32:16,R=4,N=2048' | FileCheck %s --check-prefix=COLUMNS
# RUN: tegula compile %s::both --target sm_90a --num-warps 8 --emit simt --signature 'x=*f16:16,sums=*f32:16,rows=*f32:16,C=i32:16,R=8,N=2048' | FileCheck %s --check-prefix=BOTH
# RUN: tegula compile %s::largest --target sm_90a --num-warps 8 --emit simt --signature 'x=*f16:16,sums=*f32:16,rows=*i32:16,C=i32:16,R=64,N=512' | FileCheck %s --check-prefix=ROWS
# RUN: tegula compile %s::running --target sm_90a --num-warps 8 --emit simt --signature 'x=*f32,sums=*f32:16,C=i32,R=32,N=512' | FileCheck %s --check-prefix=RUNNING
# RUN: tegula compile %s::largest --target sm_90a --num-warps 8 --emit ptx --signature 'x=*f16:16,sums=*f32:16,rows=*i32:16,C=i32:16,R=64,N=512' | FileCheck %s --check-prefix=PARTS
# RUN: tegula compile %s::few --target sm_90a --num-warps 16 --emit ptx --signature 'x=*f32,sums=*f32,C=i32,R=16,N=128' | FileCheck %s --check-prefix=FEW
# RUN: tegula compile %s::added --target sm_90a --num-warps 4 --emit simt --signature 'x=*f32,y=*f32,sums=*f32:16,C=i32,R=4,N=2048' | FileCheck %s --check-prefix=ADDED
# RUN: tegula compile %s::added --target sm_90a --num-warps 4 --emit simt --signature 'x=*f32,y=*f32,sums=*f32:16,C=i32,R=4,N=512' | FileCheck %s --check-prefix=SMALL
# RUN: tegula compile %s::groups --target sm_90a --num-warps 2 --emit simt --signature 'x=*f32:16,sums=*f32,out=*f32:16,C=i32,R=2,N=4096,G=32' | FileCheck %s --check-prefix=GROUPS
# RUN: tegula compile %s::weighted --target sm_90a --num-warps 4 --emit simt --signature 'x=*bf16:16,sums=*bf16:16,rows=*f32,n=i32,N=2048,R=2' | FileCheck %s --check-prefix=WEIGHTED
# RUN: tegula compile %s::weighted --target sm_90a --num-warps 4 --emit simt --signature 'x=*bf16:16,sums=*f32:16,rows=*f32,n=i32,N=512,R=4' | FileCheck %s --check-prefix=ROWWARPS
# RUN: tegula compile %s::weighted --target sm_90a --num-warps 4 --emit simt --signature 'x=*bf16:16,sums=*f32:16,rows=*f32,n=i32,N=2048,R=2' | FileCheck %s --check-prefix=CARRIED
# The warps of a tile whose columns are summed lie side by side along its rows, where that exchanges less: each thread then
# has whole columns. They lie across the rows where more is exchanged along these.
import tegula.language as tl
from tegula import jit


@jit
def columns(x, sums, out, C, R: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, N)[None, :]
    tile = tl.load(x + at).to(tl.float32)
    tl.store(sums + tl.arange(0, N), tl.sum(tile, 0))
    tl.store(out + at, tl.exp(tile).to(tl.float16))


# COLUMNS: #simt.layout<{{.*}}[4x2048]{{.*}} warp=[(0,256),(0,512),(0,1024)]
# COLUMNS: tt.reduce {{.*}} axis 0
# COLUMNS-NOT: simt.scratch
# COLUMNS: tensor<2048xf32


@jit
def both(x, sums, rows, C, R: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, N)[None, :]
    tile = tl.load(x + at).to(tl.float32)
    tl.store(sums + tl.arange(0, N), tl.sum(tile, 0))
    tl.store(rows + tl.arange(0, R), tl.sum(tile, 1))


# BOTH: #simt.layout<{{.*}}[8x2048]{{.*}} warp=[(0,256),(0,512),(0,1024)]


@jit
def largest(x, sums, rows, C, R: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, N)[None, :]
    tile = tl.load(x + at).to(tl.float32)
    tl.store(sums + tl.arange(0, N), tl.sum(tile, 0))
    tl.store(rows + tl.arange(0, R), tl.argmax(tile, 1))


# ROWS: #simt.layout<{{.*}}[64x512]{{.*}} warp=[(1,0),(2,0),(4,0)]
# Of the 16 columns that a thread has each warp adds up two, and reads the others from where their warps put them.
# PARTS: bar.sync
# PARTS-COUNT-14: add.{{.*}}f32
# PARTS-NOT: add.{{.*}}f32
# PARTS: bar.sync


# Of 128 results each of as many threads adds up one, of 16 warps; which lie so that no two lanes meet in a bank.
# FEW: st.shared.b32
# FEW: bar.sync
# FEW-COUNT-16: ld.shared.b32
# FEW-COUNT-15: add.{{.*}}f32
# FEW-NOT: add.{{.*}}f32
# FEW: bar.sync
# FEW-COUNT-4: ld.shared.b32
# FEW-NOT: ld.shared
@jit
def few(x, sums, C, R: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, N)[None, :]
    tile = tl.load(x + at, tl.arange(0, N)[None, :] < C, other=0.0)
    tile = (tile - tl.sum(tile, 1)[:, None]) * tl.max(tile, 1)[:, None]
    tl.store(sums + tl.arange(0, N), tl.sum(tile * tl.min(tile, 1)[:, None], 0))


# Sums that a loop carries for all columns of a warp's row would crowd the registers: the warps lie along the columns. Few do not.
# ADDED: #simt.layout<{{.*}}[4x2048]{{.*}} warp=[(0,{{[0-9]+}}),(0,{{[0-9]+}})]
# SMALL: #simt.layout<{{.*}}[4x512]{{.*}} warp=[(1,0),(2,0)]
@jit
def added(x, y, sums, C, R: tl.constexpr, N: tl.constexpr):
    column = tl.arange(0, N)
    of_x, of_products = tl.zeros((N,), tl.float32), tl.zeros((N,), tl.float32)
    for i in range(8):
        at = (tl.program_id(0) * 8 + i) * R * C + tl.arange(0, R)[:, None] * C + column[None, :]
        a, b = tl.load(x + at), tl.load(y + at)
        a *= tl.sum(a * b, 1)[:, None]
        of_x += tl.sum(a, 0)
        of_products += tl.sum(a * b, 0)
    tl.store(sums + column, of_x)
    tl.store(sums + N + column, of_products)


@jit
def running(x, sums, C, R: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, N)[None, :]
    tile = tl.cumsum(tl.load(x + at), 0)
    tile -= tl.sum(tile, 1)[:, None]
    tl.store(sums + tl.arange(0, N), tl.sum(tile, 0))


# RUNNING: #simt.layout<{{.*}}[32x512]{{.*}} warp=[(0,32),(0,64),(0,128)]


# So do those of a tile whose elements are grouped besides: reductions of what it is reshaped to count as well.
@jit
def groups(x, sums, out, C, R: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, N)[None, :]
    tile = tl.load(x + at)
    tl.store(sums + tl.arange(0, N), tl.sum(tile, 0))
    grouped = tl.reshape(tile, (R, N // G, G))
    tile = tl.reshape(grouped / tl.max(tl.abs(grouped), 2, keep_dims=True), (R, N))
    tl.store(sums + N + tl.arange(0, N), tl.sum(tile, 0))
    tl.store(out + at, tile)


# GROUPS: #simt.layout<{{.*}}[2x4096]{{.*}} warp=[(0,32)]
# GROUPS-NOT: simt.convert
# GROUPS-NOT: simt.scratch
# GROUPS: tt.return


# Rows that a trip weighs by their own sums, fewer than the warps: these meet for each row anyway, so that all of them lie
# along the columns, whose sums and the rows' largest weight need no other thread then.
@jit
def weighted(x, sums, rows, n, R: tl.constexpr, N: tl.constexpr):
    column = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    largest = -1e30
    for start in range(0, n, R):
        row = start + tl.arange(0, R)
        tile = tl.load(x + row[:, None] * N + column[None, :], row[:, None] < n, other=0.0).to(tl.float32)
        weight = tl.sum(tile * tile, 1)
        before, largest = largest, tl.maximum(largest, tl.max(weight, 0))
        total = total * tl.exp(before - largest) + tl.sum(tile * tl.exp(weight - largest)[:, None], 0)
        tl.store(rows + row, weight, row < n)
    tl.store(sums + column, total.to(sums.dtype.element_ty))


# WEIGHTED: #simt.layout<{{.*}}[2x2048]{{.*}} warp=[(0,{{[0-9]+}}),(0,{{[0-9]+}})]
# WEIGHTED: scf.for
# WEIGHTED-COUNT-1: simt.scratch
# WEIGHTED-NOT: simt.scratch
# WEIGHTED: scf.yield
# Where each row has its warp the columns' sums, which one number scales, are combined across these once, behind the loop.
# ROWWARPS: #simt.layout<{{.*}}[4x512]{{.*}} warp=[(1,0),(2,0)]
# ROWWARPS: scf.for
# ROWWARPS-NOT: -> (tensor<512xf32
# ROWWARPS: scf.yield
# ROWWARPS: tt.reduce {{.*}} axis 0
# Sums that are stored wider than the tile is loaded move behind the loop.
# CARRIED: scf.for
# CARRIED-NOT: simt.convert {{.*}} bytes 8192
# CARRIED: scf.yield
# CARRIED: simt.convert {{.*}} bytes 8192
