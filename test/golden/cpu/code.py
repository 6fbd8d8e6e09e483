# LLVM IR and remarks for named processors, so that the machine at hand does not matter.
# RUN: tegula compile %s::scale --signature 'x=*f32,out=*f32,n=i32,BLOCK=256' --cpu haswell --emit llvm | FileCheck %s --check-prefix=AVX2
# RUN: tegula compile %s::scale --signature 'x=*f32,out=*f32,n=i32,BLOCK=256' --cpu skylake-avx512 --emit llvm | FileCheck %s --check-prefix=AVX512
# RUN: tegula compile %s::exponential --signature 'x=*f32,out=*f32,n=i32,BLOCK=256' --cpu haswell --emit asm | FileCheck %s --check-prefix=MATH
# RUN: tegula compile %s::halves --signature 'x=*bf16,out=*bf16,n=i32,BLOCK=100' --cpu haswell --emit asm | FileCheck %s --check-prefix=BF16
# RUN: tegula explain %s::gathered --signature 'x=*f32,index=*i32,out=*f32,BLOCK=64' --cpu haswell | FileCheck %s --check-prefix=GATHER
# RUN: tegula explain %s::product --signature 'a=*f32,b=*f32,c=*f32' --cpu haswell | FileCheck %s --check-prefix=DOT
# RUN: tegula compile %s::product --signature 'a=*bf16,b=*bf16,c=*f32' --cpu znver4 --emit asm | FileCheck %s --check-prefix=PAIRS
# RUN: tegula compile %s::product --signature 'a=*bf16,b=*bf16,c=*f32' --cpu skylake-avx512 --emit asm | FileCheck %s --check-prefix=NOPAIRS
# RUN: tegula compile %s::paired --signature 'word=*i64,x=*f32,n=i32' --cpu haswell --emit asm | FileCheck %s --check-prefix=WHOLE
# RUN: tegula compile %s::polled --signature 'flag=*i32,out=*i32,n=i32' --cpu haswell --emit llvm | FileCheck %s --check-prefix=POLLED
import triton
import triton.language as tl


# M10: a word that is put together of a float and an integer is stored as a whole, not half by half.
# WHOLE-LABEL: tegula_paired:
# WHOLE-NOT: vmovss %xmm{{[0-9]+}}, (%r
# WHOLE: movq %r{{[a-z0-9]+}}, (%r
# WHOLE-NOT: movl %{{[a-z0-9]+}}, 4(%r
# WHOLE: retq
@triton.jit
def paired(word, x, n):
    bits = (tl.load(x) * 2.0).to(tl.uint32, bitcast=True)
    tl.store(word, (n.to(tl.int64) << 32) | bits.to(tl.int64))


# M21: each poll happens, whole, and so does the store through the polled argument; another argument's does not.
# POLLED-LABEL: define {{.*}}tegula_polled
# POLLED: store atomic volatile i32 {{.*}} monotonic
# POLLED: load atomic volatile i32{{.*}} monotonic
# POLLED-NOT: store atomic
# POLLED: store volatile i32
@triton.jit
def polled(flag, out, n):
    tl.store(flag, n)
    while tl.load(flag + 1, volatile=True) == 0:
        tl.debug_barrier()
    tl.store(out, n)


# Below the bound no masks, across it one masked vector.
# AVX2:   load <8 x float>
# AVX2:   fmul contract <8 x float>
# AVX2:   store <8 x float>
# AVX2:   @llvm.masked.load.v8f32
# AVX2:   @llvm.masked.store.v8f32
# AVX512: load <16 x float>
# AVX512: fmul contract <16 x float>
# AVX512: @llvm.masked.store.v16f32
@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 3.0, mask=i < n)


# The math library is inlined: no call leaves the kernel but for the runtime.
# MATH-LABEL: tegula_exponential:
# MATH-NOT:   call{{.*}} {{[^t]|t[^e]}}
# MATH:       vfmadd
# MATH-NOT:   call{{.*}} {{[^t]|t[^e]}}
# MATH:       retq
@triton.jit
def exponential(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)


# No call of a run-time library for bf16, in masked tails and selections neither.
# BF16-LABEL: tegula_halves:
# BF16-NOT:   call{{.*}} {{[^t]|t[^e]}}
# BF16:       retq
@triton.jit
def halves(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(v > 0.5, v * v, v) + tl.sum(v, axis=0), mask=i < n)


# GATHER: code.py:[[# @LINE + 4]]:{{[0-9]+}}: access: load {{.*}}
@triton.jit
def gathered(x, index, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + tl.load(index + i)))


# DOT: dot: register-blocked 6x16 kernel in f32
# Factors in bf16 stay it where the processor multiplies pairs of them; subnormal ones (N20) are widened.
# PAIRS-LABEL: tegula_product:
# PAIRS: vdpbf16ps
# PAIRS: vfmadd
# NOPAIRS-LABEL: tegula_product:
# NOPAIRS-NOT: vdpbf16ps
# NOPAIRS: vfmadd
@triton.jit
def product(a, b, c):
    m = tl.arange(0, 16)[:, None]
    n = tl.arange(0, 48)[None, :]
    k = tl.arange(0, 20)
    out = tl.dot(tl.load(a + m * 20 + k[None, :]), tl.load(b + k[:, None] * 48 + n))
    tl.store(c + m * 48 + n, out)


# f16 rounds each op, also where the machine has f16 arithmetic: no fused multiply-add (N9).
# RUN: tegula compile %s::chain --signature 'x=*f16,out=*f16,BLOCK=128' --cpu sapphirerapids --emit asm | FileCheck %s --check-prefix=F16
# F16-LABEL: tegula_chain:
# F16-NOT:   vfmadd
# F16:       retq
@triton.jit
def chain(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, v * v + v)


# A launch that writes more than the cache holds stores past it, whole vectors only.
# RUN: tegula compile %s::scale --signature 'x=*f32,out=*f32,n=i32,BLOCK=256' --cpu haswell --emit asm | FileCheck %s --check-prefix=STREAM
# RUN: tegula explain %s::scale --signature 'x=*f32,out=*f32,n=i32,BLOCK=256' --cpu haswell | FileCheck %s --check-prefix=EXPLAIN
# STREAM:     vmovntps %ymm
# STREAM-NOT: vmovnt{{.*}}xmm
# STREAM:     sfence
# EXPLAIN: access: past the cache where the launch writes 32 MiB or more

# A range that a launch fills is told to the runtime once; of one that hangs on memory nothing is known.
# RUN: tegula explain %s::scale --signature 'x=*f32,out=*f32,n=i32,BLOCK=256' --cpu haswell | FileCheck %s --check-prefix=FRESH
# RUN: tegula compile %s::scale --signature 'x=*f32,out=*f32,n=i32,BLOCK=256' --cpu haswell --emit llvm | FileCheck %s --check-prefix=TOLD
# RUN: tegula compile %s::scatter --signature 'out=*f32,at=*i32,BLOCK=256' --cpu haswell --emit llvm | FileCheck %s --check-prefix=UNTOLD
# FRESH:      access: where a launch fills 32 MiB or more that are not in memory yet, huge pages are asked for
# TOLD:       call void @tegula_expect_stores
# TOLD-NOT:   call void @tegula_expect_stores
# UNTOLD-NOT: tegula_expect_stores
@triton.jit
def scatter(out, at, BLOCK: tl.constexpr):
    i = tl.load(at + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 1.0)


# What the kernel reads again, or writes again and again, stays in the cache.
# RUN: tegula compile %s::read_again --signature 'x=*f32,out=*f32,BLOCK=256' --cpu haswell --emit asm | FileCheck %s --check-prefix=AGAIN
# AGAIN-NOT: vmovnt
@triton.jit
def read_again(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2.0)
    for k in range(10):
        tl.store(x + i, tl.load(out + i) + k)


# Rows of a strip that are far apart are prefetched a trip ahead; those that a loop does not go on with are not.
# RUN: tegula compile %s::column_sums --signature 'x=*f32,out=*f32,rows=i32,stride=i32,STEP=32' --cpu haswell --emit asm | FileCheck %s --check-prefix=AHEAD
# RUN: tegula explain %s::column_sums --signature 'x=*f32,out=*f32,rows=i32,stride=i32,STEP=32' --cpu haswell | FileCheck %s --check-prefix=ROWS
# RUN: tegula compile %s::column_sums --signature 'x=*f32,out=*f32,rows=i32,stride=i32,STEP=64' --cpu haswell --emit asm | FileCheck %s --check-prefix=APART
# AHEAD:     prefetcht1
# ROWS:      access: rows of the next trip are prefetched where they are 2 KiB or more apart
# APART-NOT: prefetch
# RUN: tegula compile %s::column_tiles --signature 'x=*f32,out=*f32,tiles=i32,stride=i32' --cpu haswell --emit asm | FileCheck %s --check-prefix=AHEAD
@triton.jit
def column_sums(x, out, rows, stride, STEP: tl.constexpr):
    columns = tl.program_id(0) * 64 + tl.arange(0, 64)
    sums = tl.zeros([64], tl.float32)
    for first in range(0, rows, STEP):
        row = first + tl.arange(0, 32)
        sums += tl.sum(tl.load(x + row[:, None] * stride + columns[None, :], mask=row[:, None] < rows, other=0.0), axis=0)
    tl.store(out + columns, sums)


# So are those of a product's factor, and those that a pointer goes to which the loop moves.
# RUN: tegula compile %s::strip_of_product --signature 'x=*f32,out=*f32,tiles=i32,stride=i32' --cpu haswell --emit asm | FileCheck %s --check-prefix=AHEAD
# RUN: tegula compile %s::moved_column_sums --signature 'x=*f32,out=*f32,tiles=i32,stride=i32,STEP=32' --cpu haswell --emit asm | FileCheck %s --check-prefix=AHEAD
# RUN: tegula compile %s::moved_column_sums --signature 'x=*f32,out=*f32,tiles=i32,stride=i32,STEP=64' --cpu haswell --emit asm | FileCheck %s --check-prefix=APART
@triton.jit
def column_tiles(x, out, tiles, stride):
    columns = tl.program_id(0) * 64 + tl.arange(0, 64)
    sums = tl.zeros([32, 64], tl.float32)
    for tile in range(tiles):
        row = tile * 32 + tl.arange(0, 32)
        sums += tl.load(x + row[:, None] * stride + columns[None, :])
    tl.store(out + columns, tl.sum(sums, axis=0))


@triton.jit
def moved_column_sums(x, out, tiles, stride, STEP: tl.constexpr):
    columns = tl.program_id(0) * 64 + tl.arange(0, 64)
    at = x + tl.arange(0, 32)[:, None] * stride + columns[None, :]
    sums = tl.zeros([64], tl.float32)
    for tile in range(tiles):
        sums += tl.sum(tl.load(at), axis=0)
        at += STEP * stride
    tl.store(out + columns, sums)


@triton.jit
def strip_of_product(x, out, tiles, stride):
    columns = tl.arange(0, 64)
    sums = tl.zeros([32, 64], tl.float32)
    for tile in range(tiles):
        row = tile * 32 + tl.arange(0, 32)
        sums += tl.dot(tl.full([32, 32], 1.0, tl.float32), tl.load(x + row[:, None] * stride + columns[None, :]))
    tl.store(out + tl.arange(0, 32)[:, None] * 64 + columns[None, :], sums)


# The loop goes on along the rows of a factor: what follows in each is prefetched, whichever way the factor lies. Steps
# of another length are not followed.
# RUN: tegula compile %s::rows_of_product --signature 'x=*f32,out=*f32,tiles=i32,stride=i32,STEP=32,LIES=0' --cpu haswell --emit asm | FileCheck %s --check-prefix=AHEAD
# RUN: tegula compile %s::rows_of_product --signature 'x=*f32,out=*f32,tiles=i32,stride=i32,STEP=32,LIES=1' --cpu haswell --emit asm | FileCheck %s --check-prefix=AHEAD
# RUN: tegula compile %s::rows_of_product --signature 'x=*f32,out=*f32,tiles=i32,stride=i32,STEP=64,LIES=1' --cpu haswell --emit asm | FileCheck %s --check-prefix=APART
@triton.jit
def rows_of_product(x, out, tiles, stride, STEP: tl.constexpr, LIES: tl.constexpr):
    row = tl.program_id(0) * 32 + tl.arange(0, 32)
    column = tl.arange(0, 32)
    sums = tl.zeros([32, 32], tl.float32)
    for tile in range(tiles):
        at = tile * STEP + column
        ones = tl.full([32, 32], 1.0, tl.float32)
        if LIES == 0:
            sums += tl.dot(tl.load(x + row[:, None] * stride + at[None, :]), ones)
        else:
            sums += tl.dot(ones, tl.load(x + row[None, :] * stride + at[:, None]))
    tl.store(out + row[:, None] * 32 + column[None, :], sums)


# Float remainders are the library's, too.
# RUN: tegula compile %s::remainders --signature 'x=*f32,out=*f32,BLOCK=128' --cpu haswell --emit llvm | FileCheck %s --check-prefix=FMOD
# FMOD-NOT: frem
# FMOD:     tgm_fmod_f32
@triton.jit
def remainders(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) % 1.5)


# A vector of which no lane is on is not read from its own page, which may not be there, but from zeros; nor is it stored.
# RUN: tegula compile %s::rows_behind --signature 'x=*f32,out=*f32,m=i32,n=i32,s=i32' --cpu haswell --emit llvm | FileCheck %s --check-prefix=BEHIND
# RUN: tegula compile %s::lanes_off --signature 'x=*f32,y=*f32,out=*f32' --cpu haswell --emit llvm | FileCheck %s --check-prefix=OFF
# Four sums of columns go through the rows side by side.
# RUN: tegula compile %s::rows_behind --signature 'x=*f32,out=*f32,m=i32,n=i32,s=i32' --cpu haswell --emit llvm | FileCheck %s --check-prefix=SIDE
# SIDE: {{^}}reduced:
# SIDE-COUNT-4: fadd contract <8 x float> %acc
# SIDE-NOT: fadd
# SIDE: br i1 {{.*}}, label %reduced
# BEHIND-LABEL: define {{.*}}tegula_rows_behind
# BEHIND: [[AT:%[0-9]+]] = select i1 {{.*}}, ptr {{.*}}, ptr @zeros
# BEHIND-NEXT: load <8 x float>, ptr [[AT]]
# BEHIND: lanes{{[0-9]+}}:
# BEHIND: [[AT:%[0-9]+]] = select i1 {{.*}}, ptr {{.*}}, ptr @zeros
# BEHIND-NEXT: @llvm.masked.load.v8f32.p0(ptr align 4 [[AT]]
@triton.jit
def rows_behind(x, out, m, n, s):
    row, column = tl.arange(0, 32)[:, None], tl.arange(0, 64)[None, :]
    tile = tl.load(x + row * s + column, mask=(row < m) & (column < n), other=0.0)
    tl.store(out + tl.arange(0, 64), tl.sum(tile, axis=0))


# OFF-LABEL: define {{.*}}tegula_lanes_off
# OFF: [[AT:%[0-9]+]] = select i1 {{.*}}, ptr @zeros, ptr
# OFF-NEXT: @llvm.masked.load.v8f32.p0(ptr align 4 [[AT]]
# OFF: br i1 {{.*}}, label %endif
# OFF: @llvm.masked.store.v8f32
# OFF: br i1 {{.*}}, label %endif
# OFF: @llvm.masked.store.v8f32
@triton.jit
def lanes_off(x, y, out):
    i = tl.arange(0, 64)
    mask = tl.load(x + i) > 0.5
    tl.store(out + i, tl.load(y + i, mask=mask), mask=mask)
