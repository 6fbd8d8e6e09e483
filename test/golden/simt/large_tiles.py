"""A tile that no thread has registers for is a loop over chunks; one that may meet its own stores stays whole."""
# RUN: tegula compile %s::scale --signature 'x=*f32:16,out=*f32:16,n=i32:16,B=65536' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=SCALE
# RUN: tegula compile %s::shift --signature 'x=*f32:16,n=i32:16,B=32768' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=SHIFT
# RUN: tegula compile %s::repeat --signature 'x=*f32:16,B=32768' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=REPEAT
# RUN: tegula compile %s::bias --signature 'x=*f32:16,b=*f32:16,out=*f32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=BIAS
# RUN: tegula compile %s::by_columns --signature 'x=*f32:16,out=*f32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=COLUMNS
# RUN: tegula compile %s::rows --signature 'x=*f32:16,out=*f32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ROWS
# RUN: tegula compile %s::whole --signature 'x=*f32:16,out=*f32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=WHOLE
# RUN: tegula compile %s::gelu --signature 'x=*f32:16,out=*f32:16,B=16384' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=GELU
# RUN: tegula compile %s::two --signature 'x=*f32:16,y=*f32:16,out=*f32:16,B=16384' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=TWO
# RUN: tegula compile %s::one --signature 'x=*f32:16,out=*f32:16,B=16384' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::between --signature 'x=*f32:16,out=*f32:16,n=i32:16,B=2048' --num-warps 1 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=BETWEEN
# RUN: tegula compile %s::between --signature 'x=*f32:16,out=*f32:16,n=i32:16,B=1024' --num-warps 1 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=HELD
# RUN: tegula compile %s::turned_too --signature 'x=*f16:16,turned=*f16:16,out=*f16:16' --num-warps 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=TURNED
# RUN: tegula compile %s::pairs --signature 'x=*f32:16,y=*f32:16,out=*f32:16,n=i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=PAIRS
# RUN: tegula compile %s::scanned --signature 'x=*f32:16,y=*f32:16,out=*f32:16,n=i32' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=SCANNED
# RUN: tegula explain %s::scale --signature 'x=*f32:16,out=*f32:16,n=i32:16,B=65536' --target sm_90a | FileCheck %s --check-prefix=SAID
import triton
import triton.language as tl


# SAID: a loop over chunks of at most 8192 elements
# SCALE-LABEL: tt.func @scale
# SCALE: scf.for
# SCALE: tt.load {{.*}}simt.width = 4{{.*}}tensor<8192x
# SCALE: tt.store {{.*}}simt.width = 4{{.*}}tensor<8192x
@triton.jit
def scale(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


# SHIFT-LABEL: tt.func @shift
# SHIFT-NOT: scf.for
# SHIFT: tt.store {{.*}}tensor<32768x
@triton.jit
def shift(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i + 1, tl.load(x + i, mask=i < n), mask=i < n)


# Chunks would see what others have stored.
# REPEAT-LABEL: tt.func @repeat
# REPEAT-NOT: scf.for
@triton.jit
def repeat(x, B: tl.constexpr):
    p = x + tl.arange(0, B) // 2
    tl.store(p, tl.load(p) + 1)


# The row that all chunks share is loaded once; rows stay whole.
# BIAS-LABEL: tt.func @bias
# BIAS: tt.load {{.*}}tensor<256x
# BIAS: scf.for
# BIAS-NOT: tensor<256x!tt.ptr
# BIAS: tt.load {{.*}}simt.width = 4{{.*}}tensor<32x256x
# BIAS: tt.store {{.*}}simt.width = 4{{.*}}tensor<32x256x
@triton.jit
def bias(x, b, out):
    i, j = tl.arange(0, 256), tl.arange(0, 256)
    p = i[:, None] * 256 + j[None, :]
    tl.store(out + p, tl.load(x + p) + tl.load(b + j)[None, :])


# Chunks are cut across rows if columns lie together in memory.
# COLUMNS-LABEL: tt.func @by_columns
# COLUMNS: scf.for
# COLUMNS: tt.load {{.*}}simt.width = 4{{.*}}tensor<256x32x
@triton.jit
def by_columns(x, out):
    i, j = tl.arange(0, 256), tl.arange(0, 256)
    p = i[:, None] + j[None, :] * 256
    tl.store(out + p, tl.load(x + p) + 1)


# Threads repeat the sums that they store, but read nothing that others store.
# ROWS-LABEL: tt.func @rows
# ROWS: scf.for
# ROWS-NOT: simt.barrier
# ROWS: tt.reduce {{.*}}axis 1
# ROWS: tt.store {{.*}}tensor<32x!tt.ptr
@triton.jit
def rows(x, out):
    i, j = tl.arange(0, 256), tl.arange(0, 256)
    tl.store(out + i, tl.sum(tl.load(x + i[:, None] * 256 + j[None, :]), 1))


# The sum of all of a tile needs all of it.
# WHOLE-LABEL: tt.func @whole
# WHOLE-NOT: scf.for
@triton.jit
def whole(x, out):
    i = tl.arange(0, 32768)
    v = tl.load(x + i)
    tl.store(out + i, v - tl.sum(v, 0))


# Much is computed for an element: fewer of them, so that more warps find room.
# GELU-LABEL: tt.func @gelu
# GELU: scf.for
# GELU: tt.load {{.*}}tensor<4096x
@triton.jit
def gelu(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(out + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)))


# Two loads fill more registers than one.
# TWO-LABEL: tt.func @two
# TWO: scf.for
# TWO: tt.load {{.*}}tensor<8192x
@triton.jit
def two(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i))


# ONE-LABEL: tt.func @one
# ONE-NOT: scf.for
# ONE: tt.load {{.*}}tensor<16384x
@triton.jit
def one(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) + 1)


# Scattered elements are loaded one by one, each with its address and what else was computed for it: what a thread cannot hold of
# that at once is computed in chunks. Half as many elements stay whole.
# BETWEEN-LABEL: tt.func @between
# BETWEEN: scf.for
# BETWEEN-COUNT-4: tt.load {{.*}}tensor<256x
# BETWEEN: tt.store {{.*}}tensor<256x
# HELD-LABEL: tt.func @between
# HELD-NOT: scf.for
@triton.jit
def between(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    row, column = (i // 112 % 128) * 0.5, (i % 112) * 0.5
    row0, column0 = row.to(tl.int32), column.to(tl.int32)
    row1, column1 = tl.minimum(row0 + 1, 63), tl.minimum(column0 + 1, 55)
    part = column - column0
    at = x + i // 14336 * 3584
    above = tl.load(at + row0 * 56 + column0, mask=i < n) * (1 - part) + tl.load(at + row0 * 56 + column1, mask=i < n) * part
    below = tl.load(at + row1 * 56 + column0, mask=i < n) * (1 - part) + tl.load(at + row1 * 56 + column1, mask=i < n) * part
    tl.store(out + i, above + (below - above) * (row - row0), mask=i < n)


# Chunks of one row would store the columns of `turned` two bytes at a time.
# TURNED-LABEL: tt.func @turned_too
# TURNED-NOT: scf.for
@triton.jit
def turned_too(x, turned, out):
    i, j = tl.arange(0, 4)[:, None], tl.arange(0, 2048)[None, :]
    v = tl.load(x + i * 2048 + j).to(tl.float32)
    tl.store(turned + j * 8192 + i, v)
    tl.store(out + i * 2048 + j, tl.erf(v / tl.max(v, 1)[:, None]))


# Changes of shape that keep the rows are cut with them. Chunks are parts of one store: nobody waits between them.
# PAIRS-LABEL: tt.func @pairs
# PAIRS: scf.for
# PAIRS-NOT: simt.barrier
# PAIRS: tt.split {{.*}}tensor<32x128x2x
# PAIRS-NOT: simt.barrier
# PAIRS: tt.store {{.*}}tensor<32x256x
@triton.jit
def pairs(x, y, out, n):
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 256)[None, :]
    v = tl.load(x + i * n + j) + tl.load(y + i * n + j)
    left, right = tl.split(tl.reshape(v, (64, 128, 2)))
    tl.store(out + i * n + j, tl.reshape(tl.join(left + right, left - right), (64, 256)))


# A scan over rows needs all of them; columns are cut in its place.
# SCANNED-LABEL: tt.func @scanned
# SCANNED: scf.for
# SCANNED: tt.scan {{.*}}axis 0
# SCANNED: (tensor<64x128x
@triton.jit
def scanned(x, y, out, n):
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 256)[None, :]
    tl.store(out + i * n + j, tl.cumsum(tl.load(x + i * n + j) + tl.load(y + i * n + j), 0))
