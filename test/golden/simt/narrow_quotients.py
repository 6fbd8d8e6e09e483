"""Quotients and remainders in 64 bits of numbers that have 32 are divided in 32, and what follows from them is computed in 32."""
# RUN: tegula compile %s::quotients --signature 'p=*f32,n=i32' --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::coordinates --signature 'p=*f32,n=i32,m=i32,a=i32,b=i32,c=i32' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=COORDINATES
# RUN: tegula compile %s::remainder_of_quotient --signature 'p=*f32,n=i32,m=i32' --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::any_number --signature 'p=*i64,x=i32,n=i32' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=ANY
import triton
import triton.language as tl


# CHECK-LABEL: .visible .entry
# CHECK-NOT: div.s64
# CHECK-NOT: rem.s64
# CHECK: div.s32
# CHECK-NOT: div.s64
# CHECK-NOT: rem.s64
# CHECK: ret;
@triton.jit
def quotients(p, n):
    i = tl.program_id(0).to(tl.int64)
    tl.store(p + i // n * 2 + i % n, 1.0)


@triton.jit
def remainder_of_quotient(p, n, m):
    i = tl.program_id(0).to(tl.int64)
    tl.store(p + i % n * 3 + i // n % m, 1.0)


# COORDINATES-LABEL: .visible .entry coordinates(
# COORDINATES-NOT: selp.b64
# COORDINATES-NOT: mul.lo.s64
# COORDINATES: ret;
@triton.jit
def coordinates(p, n, m, a, b, c):
    i = tl.program_id(0).to(tl.int64)
    row = i // n
    tl.store(p + i % n * a + row % m * b + row // m * c, 1.0)


# -2^31 // -1 has 33 bits.
# ANY-LABEL: .visible .entry any_number(
# ANY: neg.s64
# ANY: selp.b64
@triton.jit
def any_number(p, x, n):
    tl.store(p, x.to(tl.int64) // n)
