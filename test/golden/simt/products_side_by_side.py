"""Two products of a trip of which nothing is read between start together, ahead of the next trip's copies, and each is waited for by itself;
where the second one needs the first it starts behind it."""
# RUN: tegula compile %s::gated --signature 'x=*f16:16,g=*f16:16,u=*f16:16,out=*f32:16,length=i32:16,CHAINED=0' --num-warps 8 --num-stages 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=BESIDE
# RUN: tegula compile %s::gated --signature 'x=*f16:16,g=*f16:16,u=*f16:16,out=*f32:16,length=i32:16,CHAINED=1' --num-warps 8 --num-stages 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=BEHIND
import triton
import triton.language as tl


# BESIDE: scf.for
# BESIDE: %[[GATE:[0-9]+]] = simt.dot_async
# BESIDE-NOT: simt.dot_wait
# BESIDE: %[[VALUE:[0-9]+]] = simt.dot_async
# BESIDE: simt.dot_wait %[[GATE]] {{.*}} pending 1
# BESIDE: simt.dot_wait %[[VALUE]] {{.*}} pending 0
# BESIDE: scf.yield
# BEHIND: scf.for
# BEHIND: %[[GATE:[0-9]+]] = simt.dot_async
# BEHIND: simt.dot_wait %[[GATE]] {{.*}} pending 0
# BEHIND: simt.dot_async
# BEHIND: scf.yield
@triton.jit
def gated(x, g, u, out, length, CHAINED: tl.constexpr):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    total = tl.zeros([64, 64], tl.float32)
    for start in range(0, length, 64):
        rows = tl.load(x + m[:, None] * length + (start + k)[None, :])
        columns = (start + k)[:, None] + n[None, :] * length
        gate = tl.dot(rows, tl.load(g + columns))
        if CHAINED:
            total += tl.dot(gate.to(tl.float16), tl.load(u + columns))
        else:
            value = tl.dot(rows, tl.load(u + columns))
            total += gate * value
    tl.store(out + m[:, None] * 64 + n[None, :], total)
