"""Factors that no copy brings: both are loaded before one is stored, since the store waits for its load, and loads behind it would begin as late. Not where registers have no room for both beside the sums."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,M=64,N=256,BK=64' --target sm_90a --num-stages 1 --num-warps 8 --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,M=64,N=64,BK=64' --target sm_90a --num-stages 1 --num-warps 1 --emit simt -o - | FileCheck %s --check-prefix=CROWDED
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: tt.load
# CHECK-NOT: simt.local_store
# CHECK: tt.load
# CHECK: simt.local_store
# CHECK: simt.local_store
# CHECK: simt.dot_async
# CROWDED: scf.for
# CROWDED: tt.load
# CROWDED: simt.local_store
# CROWDED: tt.load
# CROWDED: simt.local_store
# CROWDED: tt.dot
@triton.jit
def product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc)
