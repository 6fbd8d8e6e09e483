"""A factor that is computed ahead of the loop that multiplies by it is moved as it was computed: crowded loops then read it in shared memory in each trip, as they do one that is only loaded, and with room it stays in registers."""
# RUN: tegula compile %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,out=*f16:16,scale=f32,length=i32:16,D=64' --num-warps 2 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,out=*f16:16,scale=f32,length=i32:16,D=32' --num-warps 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ROOM
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @attend
# CHECK: tt.load
# CHECK-NOT: simt.convert
# CHECK: %[[FACTOR:[0-9]+]] = arith.truncf
# CHECK: simt.local_store %[[FACTOR]], %[[BUFFER:[0-9]+]]
# CHECK: scf.for
# CHECK: %[[READ:[0-9]+]] = simt.local_load %[[BUFFER]]
# CHECK: tt.dot %[[READ]]
# ROOM-LABEL: tt.func @attend
# ROOM: %[[FACTOR:[0-9]+]] = arith.truncf
# ROOM: %[[HELD:[0-9]+]] = simt.convert %[[FACTOR]]
# ROOM: scf.for
# ROOM: tt.dot %[[HELD]]
@triton.jit
def attend(q, k, v, out, scale, length, D: tl.constexpr):
    m, n, d = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, D)
    x = (tl.load(q + m[:, None] * D + d[None, :]) * scale).to(tl.float16)
    best, total = tl.full([128], float("-inf"), tl.float32), tl.zeros([128], tl.float32)
    acc = tl.zeros([128, D], tl.float32)
    for start in range(0, length, 32):
        s = tl.dot(x, tl.load(k + (start + n)[None, :] * D + d[:, None]))
        better = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp2(s - better[:, None]), tl.exp2(best - better)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + (start + n)[:, None] * D + d[None, :]), acc * shrink[:, None])
        best = better
    tl.store(out + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))
