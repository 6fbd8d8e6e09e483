"""Products reach matrix instructions: loads run ahead, operands come another way, and what stays says why."""
# RUN: tegula compile %s::plain --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,N=i32:16' --target sm_80 --emit simt | FileCheck %s --check-prefix PLAIN
# RUN: tegula compile %s::plain --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,N=i32:16' --target sm_90 --emit simt | FileCheck %s --check-prefix PLAIN
# RUN: tegula compile %s::plain --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,N=i32:16' --target sm_90a --emit simt | FileCheck %s --check-prefix TOGETHER
# RUN: tegula compile %s::plain --signature 'a=*i8:16,b=*i8:16,c=*i32:16,K=i32:16,N=i32:16' --target sm_90a --emit simt | FileCheck %s --check-prefix BYTES
# RUN: tegula explain %s::plain --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,N=i32:16' --target sm_90a | FileCheck %s --check-prefix TF32
# RUN: tegula compile %s::turned --signature 'a=*fp8e4nv:16,b=*fp8e5:16,c=*f32:16,K=i32:16' --target sm_90a --emit simt | FileCheck %s --check-prefix TURNED8
# RUN: tegula compile %s::alone --signature 'a=*f16:16,b=*f16:16,c=*f32:16' --target sm_90a --emit simt | FileCheck %s --check-prefix ALONE
# RUN: tegula explain %s::weighted --signature 'a=*f16:16,b=*i8:16,c=*f32:16' --target sm_90a | FileCheck %s --check-prefix WEIGHTED
# RUN: tegula compile %s::plain --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,N=i32:16' --target sm_75 --emit simt | FileCheck %s --check-prefix OLD
# RUN: tegula explain %s::turned --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16' --target sm_80 | FileCheck %s --check-prefix TURNED
# RUN: tegula explain %s::stores --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16' --target sm_80 | FileCheck %s --check-prefix STORES
# RUN: tegula explain %s::acquires --signature 'a=*f16:16,b=*f16:16,c=*f32:16,flag=*i32:16,K=i32:16' --target sm_80 | FileCheck %s --check-prefix ACQUIRES
# RUN: tegula explain %s::counts --signature 'a=*f16:16,b=*f16:16,c=*f32:16,flag=*i32:16,K=i32:16' --target sm_80 | FileCheck %s --check-prefix COUNTS
# RUN: tegula explain %s::odd --signature 'a=*f32:16,c=*f32:16' --target sm_80 | FileCheck %s --check-prefix ODD
# RUN: not tegula compile %s::plain --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,N=i32:16' --target sm_90a --num-stages 40 --emit simt 2>&1 | FileCheck %s --check-prefix LARGE
# RUN: tegula explain %s::plain --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,N=i32:16' --target sm_90a --num-stages 29 | FileCheck %s --check-prefix LESS
# RUN: tegula explain %s::whiles --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,N=i32:16' --target sm_90a --num-stages 32 | FileCheck %s --check-prefix WHILES
# RUN: tegula explain %s::large --signature 'a=*f32:16,c=*f32:16,K=i32:16' --target sm_86 --num-stages 5 | FileCheck %s --check-prefix LAST
import triton
import triton.language as tl


# PLAIN: simt.alloc at 0 : <64x32xf16, #shared{{[0-9]*}}, 3>
# PLAIN: simt.alloc at 12288 : <32x64xf16, #shared{{[0-9]*}}, 3>
# Two trips are under way before the loop.
# PLAIN-COUNT-2: simt.async_commit
# PLAIN: scf.for
# PLAIN: simt.async_wait {{.*}} pending 1
# PLAIN: simt.barrier
# PLAIN-COUNT-2: simt.async_copy {{.*}} if
# PLAIN-NOT: simt.barrier
# PLAIN-COUNT-2: simt.local_load
# PLAIN-NEXT: tt.dot {{.*}} #simt.matrix<"m16n8k16.f16", 16, 8, 16, 16, false>
# PLAIN: scf.yield
# Nothing is under way behind it.
# PLAIN: simt.async_wait {{.*}} pending 0

# Four warps multiply together, from buffers, and go on: each trip waits for the product of the one before. So the
# buffers have a slot more, and one barrier a trip is enough.
# TOGETHER: simt.alloc at 0 : <64x32xf16, #shared{{[0-9]*}}, 4>
# TOGETHER: simt.alloc at 16384 : <32x64xf16, #shared{{[0-9]*}}, 4>
# TOGETHER: simt.dot_wait {{.*}} pending 0
# TOGETHER: scf.for
# TOGETHER: simt.async_wait {{.*}} pending 1
# TOGETHER: simt.barrier {fence}
# TOGETHER-COUNT-2: simt.async_copy {{.*}} if
# TOGETHER-NOT: simt.barrier
# TOGETHER-NOT: local_load
# TOGETHER: simt.dot_async in {{.*}} plus {{.*}} by <"wgmma.k16.f16", 16, 8, 16, 16, false, 4>
# TOGETHER: simt.dot_wait pending 1
# TOGETHER-NEXT: scf.yield
# TOGETHER: simt.dot_wait {{.*}} pending 0

# Factors of 8 bits are read in shared memory with K innermost alone. The second operand does not lie so: the transposed
# product takes the first one from there and this one from registers, in pairs of rows. It is waited for at once.
# BYTES: simt.alloc at 0 : <64x32xi8, #shared{{[0-9]*}}, 3>
# BYTES: scf.for
# BYTES: simt.barrier {fence}
# BYTES: simt.local_load {{.*}} : <32x64xi8, #[[MAP:shared[0-9]*]], 1>
# BYTES-NOT: simt.local_load
# BYTES: simt.dot_async %{{[0-9]+}} : tensor<32x64xi8, {{.*}} by <"wgmma.k32.s8", 16, 8, 32, 8, true, 4 rows true>
# BYTES-NEXT: simt.dot_wait
# BYTES: scf.yield
# TF32: dot: matrix instruction wgmma.k8.tf32, operands swapped

# If both have K innermost, both are read there, and the product goes on into the next trip.
# TURNED8: simt.alloc at 0 : <64x32xf8E4M3FN, #shared{{[0-9]*}}, 4>
# TURNED8: scf.for
# TURNED8-NOT: simt.local_load
# TURNED8: simt.dot_async in {{.*}} by <"wgmma.k32.e4m3.e5m2", 16, 8, 32, 8, false, 4> {bTransposed}
# TURNED8: simt.dot_wait pending 1

# Without asynchronous copies operands go through a buffer of one slot.
# OLD-NOT: async_copy
# OLD: simt.local_store
# OLD: simt.local_load
# OLD: #simt.matrix<"m16n8k8.f16"
# LARGE: out of resource: shared memory, Required: {{[0-9]+}}, Hardware limit: 232448 bytes:
# LARGE: 163840 bytes at 0, 40 stages of a load at {{.*}}products.py
# LARGE: hint: num_stages=28 fits
# LESS: num_stages=28: more do not fit into shared memory
@triton.jit
def plain(a, b, c, K, N):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], c.dtype.element_ty)
    for i in range(0, K, 32):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + (i + k)[:, None] * N + n[None, :])
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc)


# Upstream's `while` loops take no shared memory for stages: theirs are as many as fit.
# WHILES: num_stages=28: more do not fit into shared memory
@triton.jit
def whiles(a, b, c, K, N):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], c.dtype.element_ty)
    i = 0
    while i < K:
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + (i + k)[:, None] * N + n[None, :])
        acc += tl.dot(x, y)
        i += 32
    tl.store(c + m[:, None] * N + n[None, :], acc)


# One product: its operands are stored, a barrier with a fence lets the instruction see them, and the sum starts from zero.
# ALONE-COUNT-2: simt.local_store
# ALONE: simt.barrier {fence}
# ALONE: simt.dot_async in
# ALONE-NOT: plus
# ALONE-NEXT: simt.dot_wait
@triton.jit
def alone(a, b, c):
    m, k = tl.arange(0, 64), tl.arange(0, 64)
    x, y = tl.load(a + m[:, None] * 64 + k[None, :]), tl.load(b + m[:, None] * 64 + k[None, :])
    tl.store(c + m[:, None] * 64 + k[None, :], tl.dot(x, y))


# A second operand that is computed is stored where the instruction of several warps reads it.
# WEIGHTED: dot: matrix instruction wgmma.k16.f16
@triton.jit
def weighted(a, b, c):
    m, k = tl.arange(0, 64), tl.arange(0, 64)
    x, y = tl.load(a + m[:, None] * 64 + k[None, :]), tl.load(b + m[:, None] * 64 + k[None, :])
    tl.store(c + m[:, None] * 64 + k[None, :], tl.dot(x, y.to(tl.float16)))


# A tile that is turned or cast on its way is copied as it lies.
# TURNED: pipeline: 2 loads run 2 trips ahead
# The one conversion is of the result, for its store.
# TURNED: convert: through
# TURNED-NOT: convert: through
@triton.jit
def turned(a, b, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    for i in range(0, K, 32):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + n[:, None] * K + (i + k)[None, :])
        acc = tl.dot(x, tl.trans(y), acc)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)


# STORES: pipeline: stays where it is: the loop may store to what it reads
@triton.jit
def stores(a, b, c, K):
    m, k = tl.arange(0, 32), tl.arange(0, 32)
    for i in range(0, K, 32):
        x = tl.load(a + m[:, None] * 32 + k[None, :])
        y = tl.load(b + (i + k)[:, None] * 32 + m[None, :])
        tl.store(a + m[:, None] * 32 + k[None, :], tl.dot(x, y).to(tl.float16))


# A load behind the atomic must see what another program released before the atomic took its value.
# ACQUIRES: pipeline: loads stay where they are: the loop acquires what others wrote
@triton.jit
def acquires(a, b, c, flag, K):
    m, k = tl.arange(0, 32), tl.arange(0, 32)
    acc = tl.zeros([32, 32], tl.float32)
    for i in range(0, K, 32):
        ready = tl.atomic_add(flag + i, 0)
        x, y = tl.load(a + m[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * 32 + m[None, :])
        acc += tl.dot(x, y) * ready
    tl.store(c + m[:, None] * 32 + m[None, :], acc)


# Counted for others, nobody here learns from it.
# COUNTS: pipeline: 2 loads run 2 trips ahead
@triton.jit
def counts(a, b, c, flag, K):
    m, k = tl.arange(0, 32), tl.arange(0, 32)
    acc = tl.zeros([32, 32], tl.float32)
    for i in range(0, K, 32):
        tl.atomic_add(flag + i, 1)
        x, y = tl.load(a + m[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * 32 + m[None, :])
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * 32 + m[None, :], acc)


# ODD: dot: matrix instruction m16n8k8.tf32, M filled up from 10 to 16, N filled up from 10 to 16, K filled up from 5 to 8
# ODD: dot: matrix instruction m16n8k4.tf32, operands swapped, M filled up from 3 to 8
# ODD: dot: multiply-adds: no matrix instruction takes these types
@triton.jit
def odd(a, c):
    m, n, k = tl.arange(0, 10), tl.arange(0, 64), tl.arange(0, 5)
    x, y = tl.load(a + m[:, None] * 5 + k[None, :]), tl.load(a + n[None, :] * 5 + k[:, None])
    tl.store(c + m[:, None] * 16 + m[None, :], tl.dot(x, tl.trans(x)))
    few, four = tl.arange(0, 3), tl.arange(0, 4)
    z, w = tl.load(a + few[:, None] * 4 + four[None, :]), tl.load(a + n[None, :] * 4 + four[:, None])
    tl.store(c + few[:, None] * 64 + n[None, :], tl.dot(z, w))
    tl.store(c + m[:, None] * 64 + n[None, :], tl.dot(x, y, input_precision="ieee"))


# LAST: pipeline: 1 load runs 3 trips ahead, started behind a trip's last read
@triton.jit
def large(a, c, K):
    m, k = tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros([128, 128], tl.float32)
    for i in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        acc = tl.dot(x, tl.trans(x), acc)
    tl.store(c + m[:, None] * 128 + m[None, :], acc)
