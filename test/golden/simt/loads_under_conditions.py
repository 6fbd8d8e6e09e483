"""An `if` in a loop that only loads becomes loads under masks: no load waits at a branch. One that stores, loads much or stands alone stays."""
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
