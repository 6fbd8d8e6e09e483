"""A product that its trip waits for starts behind the wait for its factors, ahead of the trip's copies into other slots, and runs beside them."""
# RUN: tegula compile %s::scores --signature 'q=*f16:16,k=*f16:16,w=*f32:16,out=*f32:16,H=i32' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @scores
# CHECK: scf.for
# CHECK: simt.async_wait
# CHECK: simt.barrier {fence}
# CHECK-NOT: simt.async_copy
# CHECK: %[[SUM:[0-9]+]] = simt.dot_async
# CHECK-NOT: simt.barrier
# CHECK: simt.async_copy
# CHECK: simt.dot_wait %[[SUM]]
@triton.jit
def scores(q, k, w, out, H):
    m, n, d = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    right = tl.load(k + n[None, :] * 64 + d[:, None])
    total = tl.zeros([64, 64], tl.float32)
    for h in range(H):
        left = tl.load(q + (h * 64 + m)[:, None] * 64 + d[None, :])
        total += tl.maximum(tl.dot(left, right), 0.0) * tl.load(w + h)
    tl.store(out + m[:, None] * 64 + n[None, :], total)
