"""A tile that a loop loads behind its first product is read from its slot behind that product: until then it takes no registers."""
# RUN: tegula compile %s::states --signature 'w=*bf16:16,k=*bf16:16,v=*bf16:16,out=*f32:16' --num-warps 2 --num-stages 2 --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: simt.local_load {{.*}} -> tensor<64x64xbf16
# CHECK-NOT: simt.local_load {{.*}} -> tensor<64x64xbf16
# CHECK: tt.dot {{.*}}, tensor<64x32xf32
# CHECK: simt.local_load {{.*}} -> tensor<64x64xbf16
# CHECK: tt.dot {{.*}}, tensor<64x32xf32
# CHECK: scf.yield
@triton.jit
def states(w, k, v, out):
    t, d, e = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    state = tl.zeros([64, 32], tl.float32)
    for start in range(0, 512, 64):
        at = (start + t)[:, None] * 64 + d[None, :]
        values = tl.load(v + (start + t)[:, None] * 32 + e[None, :]) - tl.dot(tl.load(w + at), state.to(tl.bfloat16))
        state = tl.dot(tl.trans(tl.load(k + at)), values.to(tl.bfloat16), state)
    tl.store(out + d[:, None] * 32 + e[None, :], state)
