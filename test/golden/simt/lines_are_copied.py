"""Decays that scale a sum, of which each thread needs eight, are copied as far ahead as the factors: in registers they would have to wait
for as many trips. One trip ahead they wait there."""
# RUN: tegula compile %s::states --signature 'k=*bf16:16,v=*bf16:16,g=*f32:16,out=*f32:16' --num-stages 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FAR
# RUN: tegula compile %s::states --signature 'k=*bf16:16,v=*bf16:16,g=*f32:16,out=*f32:16' --num-stages 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=NEAR
import triton
import triton.language as tl


# FAR: scf.for
# FAR-NOT: tt.load
# FAR: simt.local_load {{.*}} -> tensor<64xf32
# FAR: scf.yield
# NEAR: scf.for
# NEAR: tt.load {{.*}} -> tensor<64xf32
# NEAR: scf.yield
@triton.jit
def states(k, v, g, out):
    t, d, e = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    state = tl.zeros([32, 64], tl.float32)
    for start in range(0, 1024, 64):
        keys, values = tl.load(k + (start + t)[:, None] * 64 + d[None, :]), tl.load(v + e[:, None] + (start + t)[None, :] * 32)
        state = tl.dot(values, keys, state * tl.exp(tl.load(g + start + d))[None, :])
    tl.store(out + e[:, None] * 64 + d[None, :], state)
