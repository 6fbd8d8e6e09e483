"""Strides and bounds that are arguments of which the launch says nothing: where they are multiples of 16 bytes, tiles are copied in wide accesses or boxes, in a loop of their own."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=64' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula explain %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=64' --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=256' --options num_warps=8,num_stages=3 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=BOXES
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32:16,sa=i32:16,sb=i64:16,BN=64' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::product --signature 'a=*f16,b=*f16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=64' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# K and both strides; the number of rows does not matter.
# SAID-COUNT-3: numbers_of_arguments.py:{{.*}}has a version for multiples of 8
# SAID-NOT: has a version

# CHECK-LABEL: tt.func @product
# CHECK: scf.if
# CHECK: scf.for
# CHECK: simt.async_copy {{.*}}simt.width = 8{{.*}}
# CHECK: simt.async_copy {{.*}}simt.width = 8{{.*}}
# CHECK: } else {
# CHECK: scf.for
# CHECK-NOT: simt.width = 8

# BOXES: scf.if
# BOXES-COUNT-2: simt.bulk_copy
# BOXES: } else {

# ONE-NOT: scf.if
@triton.jit
def product(a, b, c, rows, K, sa, sb, BN: tl.constexpr):
    i, j, k = tl.arange(0, 128), tl.arange(0, BN), tl.arange(0, 64)
    acc = tl.zeros([128, BN], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * sa + (start + k)[None, :], mask=(i[:, None] < rows) & (start + k < K)[None, :], other=0.0)
        y = tl.load(b + j[None, :] * sb + (start + k)[:, None], mask=(start + k < K)[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * BN + j[None, :], acc)


# A `%` by such a number is checked in that version alone.
# RUN: tegula compile %s::wrapped --signature 'a=*f16:16,b=*f16:16,c=*f32:16,N=i32,K=i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=WRAPPED
# WRAPPED: scf.if
# WRAPPED: arith.remsi {{.*}}tt.checked
# WRAPPED-COUNT-2: simt.async_copy {{.*}}simt.width = 8{{.*}}
# WRAPPED: } else {
# WRAPPED-NOT: tt.checked
@triton.jit
def wrapped(a, b, c, N, K):
    i, k = tl.arange(0, 64), tl.arange(0, 32)
    columns = (tl.program_id(0) * 64 + i) % N
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + i[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k[:, None]) * N + columns[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * 64 + i[None, :], acc)
