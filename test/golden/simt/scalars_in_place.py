"""Scalars that only reach scalars that are stored are read by the thread that stores these, so that nobody waits; a scalar that reaches a tile is read by all, behind a barrier."""
# RUN: tegula compile %s::prefix_sums --signature 'x=*f32:16,y=*f32:16,n=i32,SPREAD=0' --target sm_90a --emit simt | FileCheck %s
# RUN: tegula compile %s::prefix_sums --signature 'x=*f32:16,y=*f32:16,n=i32,SPREAD=1' --target sm_90a --emit simt | FileCheck %s --check-prefix=ALL
import triton
import triton.language as tl


# CHECK-NOT: simt.barrier
# CHECK: scf.for
# CHECK: tt.load {{.*}}simt.owned
# CHECK-NOT: simt.barrier
# CHECK: tt.return
# ALL: scf.for
# ALL: simt.barrier
# ALL: scf.yield
@triton.jit
def prefix_sums(x, y, n, SPREAD: tl.constexpr):
    total = 0.0
    for k in range(1, n):
        before = tl.load(x + k - 1)
        total = before + tl.load(x + k)
        tl.store(x + k, total)
        if SPREAD:
            tl.store(y + k * 128 + tl.arange(0, 128), tl.zeros([128], tl.float32) + before)
    tl.store(x, total)
