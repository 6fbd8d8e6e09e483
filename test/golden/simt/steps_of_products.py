"""A step of a product starts when its rows are there: the first ones run while the warp computes the rest of the exponentials."""
# RUN: tegula compile %s::weighed --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,N=i32:16,D=64' --target sm_90a --num-warps 4 --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl

# The sums are scaled ahead of the first step. What is summed is added as it comes, so that no exponential waits in a register.
# CHECK: max.f32
# CHECK: ex2.approx
# CHECK: mul.f32
# CHECK: ex2.approx
# CHECK: cvt.rn.f16x2
# CHECK: add.f32
# CHECK: wgmma.mma_async
# CHECK: ex2.approx
# CHECK: cvt.rn.f16x2
# CHECK: wgmma.mma_async
# CHECK: ex2.approx
# CHECK: wgmma.mma_async
# CHECK: ex2.approx
# CHECK-NOT: mul.f32
# CHECK: wgmma.mma_async
# CHECK-NEXT: // end inline asm
# CHECK-NOT: ex2.approx
# CHECK: wgmma.commit_group


@triton.jit
def weighed(q, k, v, o, N, D: tl.constexpr):
    m, n, d = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    acc, total, best = tl.zeros([64, D], tl.float32), tl.zeros([64], tl.float32), tl.full([64], -1e6, tl.float32)
    for i in range(0, N, 64):
        s = tl.dot(x, tl.load(k + (i + n)[None, :] * D + d[:, None]))
        better = tl.maximum(best, tl.max(s, 1))
        p, scale = tl.exp2(s - better[:, None]), tl.exp2(best - better)
        total = total * scale + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + (i + n)[:, None] * D + d[None, :]), acc * scale[:, None])
        best = better
    tl.store(o + m[:, None] * D + d[None, :], acc / total[:, None])
