"""A product of few instructions of one warp is none of several warps: these all meet ahead of it, and wait for it. Products that add to
one another are so together."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,M=64,N=16,S=16' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=SMALL
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,M=64,N=64,S=16' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=LARGE
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16,M=64,N=16,S=64' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=LARGE
# RUN: tegula compile %s::sum_of_two --signature 'a=*f16:16,b=*f16:16,c=*f32:16,K=i32:16' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=TWO
import triton
import triton.language as tl


# SMALL: simt.matrix<"m16n8k16.f16"
# LARGE: simt.dot_async {{.*}} by <"wgmma
@triton.jit
def product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    i, j, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, S)
    sums = tl.zeros((M, N), tl.float32)
    for k in range(0, K, S):
        left = tl.load(a + i[:, None] * K + k + s[None, :])
        right = tl.load(b + (k + s)[:, None] * N + j[None, :])
        sums = tl.dot(left, right, sums)
    tl.store(c + i[:, None] * N + j[None, :], sums)


# One of the two is large.
# TWO-COUNT-2: simt.dot_async {{.*}} by <"wgmma
@triton.jit
def sum_of_two(a, b, c, K):
    i, j, s, t = tl.arange(0, 64), tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 128)
    sums = tl.zeros((64, 16), tl.float32)
    for k in range(0, K, 128):
        sums = tl.dot(tl.load(a + i[:, None] * K + k + s[None, :]), tl.load(b + (k + s)[:, None] * 16 + j[None, :]), sums)
        sums = tl.dot(tl.load(a + i[:, None] * K + k + t[None, :]), tl.load(b + (k + t)[:, None] * 16 + j[None, :]), sums)
    tl.store(c + i[:, None] * 16 + j[None, :], sums)
