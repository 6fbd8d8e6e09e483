"""An `if` in a loop that only loads becomes loads under masks: no load waits at a branch. One that stores, loads much or stands alone stays."""
# RUN: tegula compile %s::nibbles --signature 'x=*fp16:16,words=*u8:16,out=*fp32:16,n=i32' --num-warps 4 --target sm_90a --emit simt | FileCheck %s --check-prefix=NIBBLES
# RUN: tegula compile %s::chosen --signature 'x=*f16:16,first=*f32:16,out=*f32:16,n=i32' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::kept --signature 'x=*f32:16,out=*f32:16,n=i32' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=KEPT
import triton
import triton.language as tl

# CHECK: scf.for
# CHECK-NOT: scf.if
# CHECK: %[[TAKEN:.+]] = arith.cmpi sgt
# CHECK: %[[OTHER:.+]] = arith.cmpi sle
# CHECK: tt.splat %[[TAKEN]]
# CHECK: tt.load
# CHECK: tt.splat %[[OTHER]]
# CHECK: tt.load
# CHECK: arith.select %[[TAKEN]]


@triton.jit
def chosen(x, first, out, n):
    j = tl.arange(0, 64)
    total = tl.zeros([64], tl.float32)
    for i in range(0, n):
        if i > 0:
            row = tl.load(x + i * 64 + j).to(tl.float32)
        else:
            row = tl.load(first + j)
        total += row
    tl.store(out + j, total)


# KEPT: scf.if
# KEPT: scf.for
# KEPT: scf.if
# KEPT: tt.store
# KEPT: scf.for
# KEPT: scf.if
@triton.jit
def kept(x, out, n):
    j = tl.arange(0, 64)
    total = tl.zeros([64], tl.float32)
    if n > 7:
        total = tl.load(x + j)
    for i in range(0, n):
        if i > 2:
            total += tl.load(x + i * 64 + j)
            tl.store(out + 64 + j, total)
    tl.store(out + j, total)
    many = tl.arange(0, 2048)
    sums = tl.zeros([2048], tl.float32)
    for i in range(0, n):
        row = sums
        if i > 2:
            row = tl.load(x + i * 64 + many)
        sums += row
    tl.store(out + many, sums)


# Nibbles of a byte that two trips share: the bytes are copied ahead, for they are what a factor is made of.
# NIBBLES: scf.for
# NIBBLES-NOT: scf.if
# NIBBLES: simt.async_copy {{.*}}i8
# NIBBLES: scf.yield
@triton.jit
def nibbles(x, words, out, n):
    i, j, k = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, 32)
    total = tl.zeros([16, 32], tl.float32)
    for part in range(n):
        a = tl.load(x + i[:, None] * 512 + part * 32 + k[None, :])
        packed = tl.load(words + (part // 2 * 32 + k[:, None]) * 32 + j[None, :])
        if part % 2 == 0:
            q = packed & 15
        else:
            q = packed >> 4
        total += tl.dot(a, q.to(tl.float16))
    tl.store(out + i[:, None] * 32 + j[None, :], total)
