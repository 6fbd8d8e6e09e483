"""Factors that a thread has no room for beside each other go into shared memory past its registers; `maxnreg` says how many it has."""
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,N=64,K=256' --num-warps 1 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,N=64,K=128' --num-warps 1 --target sm_90a --options maxnreg=128 --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,N=64,K=128' --num-warps 1 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix ROOM
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,N=64,K=256' --num-warps 1 --target sm_75 --emit simt -o - | FileCheck %s --check-prefix ROOM
import triton
import triton.language as tl

# CHECK-NOT: tt.load
# CHECK: simt.async_copy
# CHECK: simt.async_copy
# CHECK: simt.async_wait
# CHECK-NEXT: simt.barrier
# CHECK-COUNT-2: simt.local_load
# CHECK: tt.dot
# ROOM-NOT: simt.async_copy
# ROOM: tt.load
# ROOM: tt.load


@triton.jit
def product(x, y, o, N: tl.constexpr, K: tl.constexpr):
    m, k, n = tl.arange(0, 16), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + n[:, None] * K + k[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot(a, tl.trans(b)))
