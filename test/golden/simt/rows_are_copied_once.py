"""Decays of rows of which each thread holds eight, as seven others do, are copied with one element a thread, not eight."""
# RUN: tegula compile %s::decayed --signature 'w=*bf16:16,k=*bf16:16,v=*bf16:16,g=*f32:16,out=*f32:16' --num-warps 2 --num-stages 2 --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: mma.sync
# CHECK: cp.async.ca.shared.global
# CHECK-NOT: cp.async.ca.shared.global
# CHECK: ret;
@triton.jit
def decayed(w, k, v, g, out):
    t, d, e = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    state = tl.zeros([64, 32], tl.float32)
    for start in range(0, 512, 64):
        at = (start + t)[:, None] * 64 + d[None, :]
        values = tl.load(v + (start + t)[:, None] * 32 + e[None, :]) - tl.dot(tl.load(w + at), state.to(tl.bfloat16))
        values *= tl.exp(tl.load(g + start + t))[:, None]
        state = tl.dot(tl.trans(tl.load(k + at)), values.to(tl.bfloat16), state)
    tl.store(out + d[:, None] * 32 + e[None, :], state)
