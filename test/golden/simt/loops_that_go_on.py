"""Of two loops over the same tiles the second goes on in the buffers and signals of the first, and takes over its product while that runs."""
# RUN: tegula compile %s::attention --signature 'q=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,stride=i32:16,M=128,N=64,D=128' --target sm_90a --num-warps 8 --num-stages 3 --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::attention --signature 'q=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,stride=i32:16,M=128,N=128,D=128' --target sm_90a --num-warps 8 --num-stages 2 --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def blocks(q, k, v, begin, end, sums, total, top, stride, N: tl.constexpr, D: tl.constexpr, MASKED: tl.constexpr):
    rows = tl.program_id(0) * q.shape[0] + tl.arange(0, q.shape[0])
    d = tl.arange(0, D)
    for at in range(begin, end, N):
        n = at + tl.arange(0, N)
        scores = tl.dot(q, tl.load(k + n[None, :] * stride + d[:, None]))
        if MASKED:
            scores = tl.where(rows[:, None] >= n[None, :], scores, -1e6)
        now = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        scale = tl.exp2(top - now)
        sums = tl.dot(weights.to(v.dtype.element_ty), tl.load(v + n[:, None] * stride + d[None, :]), sums * scale[:, None])
        total = total * scale + tl.sum(weights, 1)
        top = now
    return sums, total, top


# Signals begin ahead of the load of q; one wait for the products, behind both loops; between them no barrier. Sums that take half of the registers are no reason to begin anew.
# CHECK-LABEL: tt.func @attention
# CHECK: simt.signal_init %[[FILLED:[0-9]+]]
# CHECK: simt.signal_init %[[EMPTIED:[0-9]+]]
# CHECK: tt.load
# CHECK-NOT: simt.signal_init
# CHECK: %[[FIRST:[0-9]+]]:{{[0-9]+}} = scf.for
# CHECK: } {simt.signalled}
# CHECK-NOT: simt.dot_wait
# CHECK-NOT: simt.barrier
# CHECK: simt.bulk_copy
# CHECK-NOT: simt.dot_wait
# CHECK-NOT: simt.barrier
# CHECK: scf.for {{.*}} = %[[FIRST]]#0
# CHECK: } {simt.goes_on, simt.signalled}
# CHECK: simt.dot_wait
# CHECK: simt.signal_end %[[FILLED]]
# CHECK: simt.signal_end %[[EMPTIED]]
@triton.jit
def attention(q, k, v, out, stride, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0) * M
    at = (row + tl.arange(0, M))[:, None] * stride + tl.arange(0, D)[None, :]
    left = tl.load(q + at)
    sums, total, top = tl.zeros([M, D], tl.float32), tl.zeros([M], tl.float32), tl.full([M], -1e6, tl.float32)
    sums, total, top = blocks(left, k, v, 0, row, sums, total, top, stride, N, D, False)
    sums, total, top = blocks(left, k, v, row, row + M, sums, total, top, stride, N, D, True)
    tl.store(out + at, sums / total[:, None])
