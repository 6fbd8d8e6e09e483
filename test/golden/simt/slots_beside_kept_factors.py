"""A factor that all trips read takes registers, so that shared memory need not be made free for a program that has none."""
# RUN: tegula compile %s::decoded --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,n=i32:16,D=256,N=64' --target sm_90a --num-warps 8 --num-stages 2 --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::decoded --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,n=i32:16,D=512,N=32' --target sm_90a --num-warps 4 --num-stages 2 --emit simt -o - | FileCheck %s --check-prefix=CROWDED
# RUN: tegula compile %s::queries --signature 'q=*f16:16,k=*f16:16,v=*f16:16,dy=*f16:16,o=*f32:16,n=i32:16,M=32' --target sm_90a --num-warps 4 --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=BESIDE
# RUN: tegula compile %s::queries --signature 'q=*f16:16,k=*f16:16,v=*f16:16,dy=*f16:16,o=*f32:16,n=i32:16,M=64' --target sm_90a --num-warps 4 --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=LARGE
import triton
import triton.language as tl

# Of q each of eight warps holds 64 registers a thread, of which two programs would have too many: the slots stay.
# CHECK: simt.alloc {{.*}}<256x64xf16, #{{.*}}, 2>
# CHECK: simt.alloc {{.*}}<64x256xf16, #{{.*}}, 2>

# Four warps fit twice with all registers that a thread can have.
# CROWDED: simt.alloc {{.*}}<512x32xf16, #{{.*}}, 1>
# CROWDED: simt.alloc {{.*}}<32x512xf16, #{{.*}}, 1>


@triton.jit
def decoded(q, k, v, o, n, D: tl.constexpr, N: tl.constexpr):
    m, d, j = tl.arange(0, 16), tl.arange(0, D), tl.arange(0, N)
    x = tl.load(q + m[:, None] * D + d[None, :])
    acc, best = tl.zeros([16, D], tl.float32), tl.full([16], -1e6, tl.float32)
    for start in range(0, n, N):
        s = tl.dot(x, tl.load(k + (start + j)[None, :] * D + d[:, None]))
        better = tl.maximum(best, tl.max(s, 1))
        acc = acc * tl.exp2(best - better)[:, None]
        acc += tl.dot(tl.exp2(s - better[:, None]).to(tl.float16), tl.load(v + (start + j)[:, None] * D + d[None, :]))
        best = better
    tl.store(o + m[:, None] * D + d[None, :], acc)


# Small factors that all trips read from shared memory lie there beside the slots, of which one less lets a second program in. Large ones
# are multiplied long enough by what a trip copies.
# BESIDE: simt.alloc {{.*}}<64x128xf16, #{{.*}}, 2>
# LARGE: simt.alloc {{.*}}<64x128xf16, #{{.*}}, 3>
@triton.jit
def queries(q, k, v, dy, o, n, M: tl.constexpr):
    m, d, j = tl.arange(0, M), tl.arange(0, 128), tl.arange(0, 64)
    x, g = tl.load(q + m[:, None] * 128 + d[None, :]), tl.load(dy + m[:, None] * 128 + d[None, :])
    acc = tl.zeros([M, 128], tl.float32)
    for start in range(0, n, 64):
        keys = tl.load(k + (start + j)[:, None] * 128 + d[None, :])
        p = tl.exp2(tl.dot(keys, tl.trans(x))) * tl.dot(tl.load(v + (start + j)[:, None] * 128 + d[None, :]), tl.trans(g))
        acc += tl.dot(tl.trans(p).to(tl.float16), keys)
    tl.store(o + m[:, None] * 128 + d[None, :], acc)
