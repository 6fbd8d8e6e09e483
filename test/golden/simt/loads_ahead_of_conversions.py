"""Tiles that a recurrence loads for its products' sums start together: a conversion waits for its load, and the warps meet in it."""
# RUN: tegula compile %s::gates --signature 'h=*bf16:16,r=*bf16:16,x=*bf16:16,out=*bf16:16,T=i32' --num-warps 4 --num-stages 1 --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: tt.load
# CHECK-NOT: by <shared
# CHECK: tt.load
# CHECK-NOT: by <shared
# CHECK: tt.load
# CHECK-COUNT-3: simt.convert {{.*}} by <shared
# CHECK: tt.store
@triton.jit
def gates(h, r, x, out, T):
    b, d = tl.arange(0, 16), tl.arange(0, 64)
    at = b[:, None] * 64 + d[None, :]
    state = tl.load(h + at).to(tl.float32)
    weights = tl.load(r + d[:, None] * 64 + d[None, :])
    for t in range(T):
        first = tl.load(x + t * 3072 + at)
        second = tl.load(x + t * 3072 + 1024 + at)
        third = tl.load(x + t * 3072 + 2048 + at)
        sums = tl.dot(state.to(tl.bfloat16), weights)
        state = tl.sigmoid(sums + first) * tl.sigmoid(sums - second) + tl.sigmoid(sums * third) * state
        tl.store(out + t * 1024 + at, state.to(tl.bfloat16))
