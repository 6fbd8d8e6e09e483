"""Loads run ahead in a loop without products where it asks for stages of its own, also by a step of run time and where masked elements are not zero. Sums of whole tiles beside them leave no registers for a second trip's loads; then they run ahead without a store in the loop, too. They stay where the loop stores to what they read, and where half of shared memory has no room for two trips: a trip needs some of it, too."""
# RUN: tegula compile %s::rows --signature 'x=*f32:16,y=*f32:16,n=i32,c=i32:16,STAGES=3,B=1024' --target sm_90a --emit simt | FileCheck %s
# RUN: tegula compile %s::rows --signature 'x=*f32:16,y=*f32:16,n=i32,c=i32:16,STAGES=1,B=1024' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::rows --signature 'x=*f32:16,y=*f32:16,n=i32,c=i32:16,STAGES=None,B=1024' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::in_place --signature 'x=*f32:16,n=i32,c=i32:16,B=1024' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::running --signature 'x=*f32:16,y=*f32:16,n=i32' --num-warps 8 --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,o=*f32:16,n=i32,k=i32:16' --target sm_90a --emit simt | FileCheck %s --check-prefix=PRODUCT
# RUN: tegula compile %s::sums --signature 'x=*f16:16,y=*f16:16,o=*f32:16,n=i32,ROWS=64,STAGES=3' --target sm_90a --emit simt | FileCheck %s --check-prefix=CROWDED
# RUN: tegula compile %s::sums --signature 'x=*f16:16,y=*f16:16,o=*f32:16,n=i32,ROWS=16,STAGES=3' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::sums --signature 'x=*f16:16,y=*f16:16,o=*f32:16,n=i32,ROWS=64,STAGES=None' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
import triton
import triton.language as tl


# CHECK: simt.alloc {{.*}}1024xf32{{.*}}, 3>
# CHECK-COUNT-2: simt.async_copy
# CHECK: scf.for
# CHECK-NOT: tt.load
# CHECK: simt.async_copy
# CHECK: scf.yield
# STAYS-NOT: simt.async_copy
@triton.jit
def rows(x, y, n, c, STAGES: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), n, tl.num_programs(0), num_stages=STAGES):
        value = tl.load(x + row * c + i, mask=i < c, other=-float("inf"))
        tl.store(y + row * c + i, value - tl.max(value, 0), mask=i < c)


@triton.jit
def in_place(x, n, c, B: tl.constexpr):
    i = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), n, tl.num_programs(0), num_stages=3):
        value = tl.load(x + row * c + i, mask=i < c, other=0.0)
        tl.store(x + row * c + i, value - tl.max(value, 0), mask=i < c)


@triton.jit
def running(x, y, n):
    at = tl.arange(0, 16)[:, None] * 1024 + tl.arange(0, 1024)[None, :]
    for part in tl.range(tl.program_id(0), n, tl.num_programs(0), num_stages=4):
        tl.store(y + part * 16384 + at, tl.cumsum(tl.load(x + part * 16384 + at), 0))


# PRODUCT-COUNT-4: simt.async_copy
# PRODUCT: scf.for
# PRODUCT-NOT: tt.load
# PRODUCT: simt.async_copy
# PRODUCT: scf.yield
@triton.jit
def product(a, b, o, n, k):
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for s in range(tl.program_id(0), n, tl.num_programs(0)):
        acc += tl.dot(tl.load(a + i * k + s * 64 + j), tl.load(b + (s * 64 + i) * 64 + j))
    tl.atomic_add(o + i * 64 + j, acc)


# CROWDED-COUNT-4: simt.async_copy
# CROWDED: scf.for
# CROWDED-NOT: tt.load
# CROWDED-COUNT-2: simt.async_copy
# CROWDED: scf.yield
@triton.jit
def sums(x, y, o, n, ROWS: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * 128 + tl.arange(0, 128)[None, :]
    acc = tl.zeros((ROWS, 128), tl.float32)
    for part in tl.range(tl.program_id(0), n, tl.num_programs(0), num_stages=STAGES):
        acc += tl.load(x + part * (ROWS * 128) + at).to(tl.float32) * tl.load(y + part * (ROWS * 128) + at)
    tl.store(o + tl.program_id(0) * (ROWS * 128) + at, acc)
