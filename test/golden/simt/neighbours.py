"""Neighbours of which one quotient, one condition is computed for all that a thread holds (ir/simt/Runs.h)."""
# RUN: tegula compile %s::counted --signature 'x=*f16:16,out=*f16:16,n=i32:16,width=i32:16' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::counted --signature 'x=*f16:16,out=*f16:16,n=i32:16,width=i32:16' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=PTX
# RUN: tegula compile %s::counted --signature 'x=*f16:16,out=*f16:16,n=i32:16,width=i32' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=ODD
# RUN: tegula compile %s::in_a_loop --signature 'x=*f16:16,out=*f16:16,n=i32:16,width=i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=LOOP
# RUN: tegula compile %s::in_a_loop --signature 'x=*f16:16,out=*f16:16,n=i32:16,width=i32:16' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# The number of a program times BLOCK may be below zero as far as anybody knows.
# CHECK-LABEL: tt.func @counted
# CHECK-DAG: arith.divsi {{.*}} {simt.counted = array<i64: 16>}
# CHECK-DAG: arith.cmpi slt, {{.*}} {simt.equal = array<i64: 16>}
# PTX-COUNT-1: div.s32
# PTX-NOT: div.s32
# ODD-COUNT-8: div.s32
@triton.jit
def counted(x, out, n, width):
    at = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    tl.store(out + at, tl.load(x + at // width, mask=at < n), mask=at < n)


# A loop's numbers are not, and what they are multiples of leaves room for the neighbours.
# LOOP-LABEL: tt.func @in_a_loop
# LOOP: arith.divsi {{.*}} {simt.equal = array<i64: 16>}
# ONE-COUNT-1: div.s32
# ONE-NOT: div.s32
@triton.jit
def in_a_loop(x, out, n, width):
    for start in range(0, n, 1024):
        at = start + tl.arange(0, 1024)
        tl.store(out + at, tl.load(x + at // width, mask=at < n), mask=at < n)
