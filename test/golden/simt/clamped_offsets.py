"""Offsets that `where` clamps: tiles in which none is clamped are copied in wide accesses, in a loop of their own."""
# RUN: tegula compile %s::clamped --signature 'a=*f16:16,b=*f16:16,c=*f32:16,N=i32:16,K=i32:16' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula explain %s::clamped --signature 'a=*f16:16,b=*f16:16,c=*f32:16,N=i32:16,K=i32:16' --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::clamped --signature 'a=*f16:16,b=*f16:16,c=*f32:16,N=i32,K=i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ODD
# RUN: tegula compile %s::clamped --signature 'a=*f16:16,b=*f16:16,c=*f32:16,N=i32:16,K=i32:16' --target sm_75 --emit simt -o - | FileCheck %s --check-prefix=OLD
import triton
import triton.language as tl


# Rows of `a` are contiguous with and without the clamp, so that only that of `b` counts.
# SAID-COUNT-1: has a version for tiles in which none is clamped
# SAID-NOT: has a version

# CHECK-LABEL: tt.func @clamped
# Offsets along a line are asked at their ends, not all of them.
# CHECK-NOT: tt.reduce
# CHECK: scf.if
# CHECK: scf.for
# CHECK: simt.async_copy {{.*}}simt.width = 8{{.*}}
# CHECK: simt.async_copy {{.*}}simt.width = 8{{.*}}
# CHECK: } else {
# CHECK: scf.for

# Without a promise about N there is a version for multiples of 8 first, and that of tiles without a clamp in it.
# ODD: scf.if
# ODD: arith.shrsi {{.*}} exact
# ODD: scf.if
# ODD: simt.async_copy {{.*}}simt.width = 8{{.*}}
# ODD: simt.async_copy {{.*}}simt.width = 8{{.*}}
# ODD: } else {
# ODD: } else {
# ODD-NOT: scf.if

# OLD-NOT: scf.if
@triton.jit
def clamped(a, b, c, N, K):
    i, k = tl.arange(0, 64), tl.arange(0, 32)
    columns = tl.program_id(0) * 64 + i
    m, n = tl.where(i < N, i, 0), tl.where(columns < N, columns, 0)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k[:, None]) * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * N + columns[None, :], acc, mask=columns[None, :] < N)
