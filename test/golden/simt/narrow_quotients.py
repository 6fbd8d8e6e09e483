"""Quotients and remainders in 64 bits of numbers that have 32 are divided in 32."""
# RUN: tegula compile %s::quotients --signature 'p=*f32,n=i32' --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: .visible .entry quotients(
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
