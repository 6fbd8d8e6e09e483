"""Strides and bounds that are arguments of which the launch says nothing: where they are multiples of 16 bytes, tiles are copied in wide accesses or boxes, in a loop of their own."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=64' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula explain %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=64' --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=256' --options num_warps=8,num_stages=3 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=BOXES
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32:16,sa=i32:16,sb=i64:16,BN=64' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::product --signature 'a=*f16,b=*f16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=64' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ONE
# RUN: tegula explain %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,rows=i32,K=i32,sa=i32,sb=i64,BN=256' --options num_warps=8,num_stages=5 --target sm_90a | FileCheck %s --check-prefix=FITS
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

# Five slots are more than there is room for, and the loop as it is needs none: nobody asked for the version that has them.
# FITS: 2 loads run 2 trips ahead

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


# An innermost stride of which the launch does not say that it is 1: the version supposes it of the last argument with which an
# access is wider. Where rows are multiples of 16 nothing else is asked.
# RUN: tegula explain %s::strided --signature 'a=*f16:16,b=*f16:16,c=*f32:16,sam=i64:16,sak=i64,sbk=i64,sbn=i64:16,K=i32:16' --target sm_90a | FileCheck %s --check-prefix=ONES
# RUN: tegula explain %s::strided --signature 'a=*f16:16,b=*f16:16,c=*f32:16,sam=i64,sak=i64,sbk=i64,sbn=i64,K=i32' --target sm_90a | FileCheck %s --check-prefix=NOTHING
# RUN: tegula compile %s::strided --signature 'a=*f16:16,b=*f16:16,c=*f32:16,sam=i64:16,sak=i64,sbk=i64,sbn=i64:16,K=i32:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=STRIDED
# ONES-COUNT-2: has a version for 1
# ONES-NOT: has a version
# NOTHING-DAG: :22: {{.*}}has a version for multiples of 8
# NOTHING-DAG: :27: {{.*}}has a version for 1
# NOTHING-DAG: :32: {{.*}}has a version for multiples of 8
# NOTHING-DAG: :37: {{.*}}has a version for 1
# STRIDED: scf.if
# STRIDED-COUNT-2: simt.async_copy {{.*}}simt.width = 8{{.*}}
# STRIDED: } else {
# STRIDED-NOT: simt.width = 8
@triton.jit
def strided(a, b, c, sam, sak, sbk, sbn, K):
    i, k = tl.arange(0, 64), tl.arange(0, 32)
    x_at = a + i[:, None] * sam + k[None, :] * sak
    y_at = b + k[:, None] * sbk + i[None, :] * sbn
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 32):
        acc = tl.dot(tl.load(x_at), tl.load(y_at), acc)
        x_at += 32 * sak
        y_at += 32 * sbk
    tl.store(c + i[:, None] * 64 + i[None, :], acc)
