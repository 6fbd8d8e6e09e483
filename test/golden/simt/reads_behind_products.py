"""A tile that a loop loads behind its first product is read from its slot behind that product: until then it takes no registers."""
# RUN: tegula compile %s::states --signature 'w=*bf16:16,k=*bf16:16,v=*bf16:16,out=*f32:16,D=64' --num-warps 2 --num-stages 2 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::states --signature 'w=*bf16:16,k=*bf16:16,v=*bf16:16,out=*f32:16,D=128' --num-warps 4 --num-stages 2 --target sm_80 --emit simt -o - | FileCheck %s --check-prefix=FEW
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: simt.local_load {{.*}} -> tensor<64x64xbf16
# CHECK-NOT: simt.local_load {{.*}} -> tensor<64x64xbf16
# CHECK: tt.dot {{.*}}, tensor<64x32xf32
# CHECK: simt.local_store
# CHECK: simt.local_load {{.*}} -> tensor<64x64xbf16
# CHECK: tt.dot {{.*}}, tensor<64x32xf32
# CHECK: scf.yield

# Eight warps run on a multiprocessor and hide little: the read starts as soon as the first product has.
# FEW: scf.for
# FEW: tt.dot {{.*}}, tensor<64x32xf32
# FEW-NEXT: simt.local_load {{.*}} -> tensor<64x128xbf16
# FEW: simt.local_store
# FEW: scf.yield
@triton.jit
def states(w, k, v, out, D: tl.constexpr):
    t, d, e = tl.arange(0, 64), tl.arange(0, D), tl.arange(0, 32)
    state = tl.zeros([D, 32], tl.float32)
    for start in range(0, 512, 64):
        at = (start + t)[:, None] * D + d[None, :]
        values = tl.load(v + (start + t)[:, None] * 32 + e[None, :]) - tl.dot(tl.load(w + at), state.to(tl.bfloat16))
        state = tl.dot(tl.trans(tl.load(k + at)), values.to(tl.bfloat16), state)
    tl.store(out + d[:, None] * 32 + e[None, :], state)
