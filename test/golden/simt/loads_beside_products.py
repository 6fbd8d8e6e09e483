"""Loads beside the factors of a product: small ones wait in registers, what factors are computed from is copied, and what
replaces masked elements may be the trip's own without stopping the copies."""
# RUN: tegula compile %s::scaled --signature 'a=*f16:16,s=*f32:16,c=*f32:16,n=i32,OTHER=3.0' --num-stages 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=HELD
# RUN: tegula compile %s::scaled --signature 'a=*f16:16,s=*f32:16,c=*f32:16,n=i32,OTHER=None' --num-stages 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=OWN
# RUN: tegula compile %s::unpacked --signature 'a=*f16:16,w=*i32:16,c=*f32:16,n=i32' --num-stages 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=COPIED
import triton
import triton.language as tl


# The load of the scale is of the next trip, and stands behind the last op that reads this trip's.
# HELD: scf.for
# HELD: simt.async_wait {{.*}} pending 2
# HELD: simt.async_copy
# HELD: tt.dot
# HELD: %[[SCALE:[0-9]+]] = tt.splat %arg{{[0-9]+}} : f32
# HELD: arith.mulf {{.*}}, %[[SCALE]]
# HELD: %[[NEXT:[0-9]+]] = tt.load {{.*}} : !tt.ptr<f32>
# HELD: scf.yield {{.*}}%[[NEXT]]

# OWN: scf.for
# OWN: simt.async_wait {{.*}} pending 2
# OWN: simt.local_load
# OWN: tt.load {{.*}} : !tt.ptr<f32>
@triton.jit
def scaled(a, s, c, n, OTHER: tl.constexpr):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    acc = tl.zeros((16, 16), tl.float32)
    for k in range(n):
        x = tl.load(a + k * 256 + at)
        other = OTHER if OTHER is not None else tl.sum(tl.sum(x.to(tl.float32), 1), 0)
        acc += tl.dot(x, x) * tl.load(s + k, mask=k < n - 2, other=other)
    tl.store(c + at, acc)


# COPIED: scf.for
# COPIED-COUNT-2: simt.async_copy
# COPIED-NOT: tt.load
# COPIED: scf.yield
@triton.jit
def unpacked(a, w, c, n):
    m, k = tl.arange(0, 32), tl.arange(0, 64)
    acc = tl.zeros((32, 32), tl.float32)
    for trip in range(n):
        x = tl.load(a + trip * 2048 + m[:, None] * 64 + k[None, :])
        words = tl.load(w + trip * 256 + (k // 8)[:, None] * 32 + m[None, :])
        acc = tl.dot(x, ((words >> (k % 8 * 4)[:, None]) & 15).to(tl.float16), acc)
    tl.store(c + m[:, None] * 32 + m[None, :], acc)
