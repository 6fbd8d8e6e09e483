"""A sum of products that are transposed first is a sum of transposed products, whose instruction adds to it; where the product is
stored as it is, or only multiplied transposed, it stays."""
# RUN: tegula explain %s::states --signature 'k=*bf16:16,v=*bf16:16,out=*f32:16,KIND=0' --num-warps 2 --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::states --signature 'k=*bf16:16,v=*bf16:16,out=*f32:16,KIND=0' --num-warps 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=TURNED
# RUN: tegula compile %s::states --signature 'k=*bf16:16,v=*bf16:16,out=*f32:16,KIND=1' --num-warps 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula explain %s::multiplied --signature 'k=*bf16:16,v=*bf16:16,out=*f32:16' --num-warps 2 --target sm_90a | FileCheck %s --check-prefix=SILENT
import triton
import triton.language as tl


# SAID: it is computed transposed, its factors exchanged
# TURNED: scf.for
# TURNED-NOT: simt.convert
# TURNED: tt.dot {{.*}}, tensor<32x64xf32
# TURNED-NOT: simt.convert
# TURNED: scf.yield
# AS-IS: scf.for
# AS-IS: tt.dot {{.*}}, tensor<64x32xf32
# AS-IS: tt.trans
# AS-IS: scf.yield
@triton.jit
def states(k, v, out, KIND: tl.constexpr):
    t, d, e = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    state = tl.zeros([32, 64], tl.float32)
    for start in range(0, 512, 64):
        product = tl.dot(tl.load(k + d[:, None] + (start + t)[None, :] * 64), tl.load(v + (start + t)[:, None] * 32 + e[None, :]))
        if KIND == 1:
            tl.store(out + 2048 + start * 32 + d[:, None] * 32 + e[None, :], product)
        state = state * 0.5 + tl.trans(product)
    tl.store(out + e[:, None] * 64 + d[None, :], state)


# SILENT-NOT: computed transposed
@triton.jit
def multiplied(k, v, out):
    t, e = tl.arange(0, 64), tl.arange(0, 32)
    state = tl.zeros([64, 64], tl.float32)
    for start in range(0, 512, 64):
        product = tl.dot(tl.load(k + t[:, None] + (start + t)[None, :] * 64), tl.load(v + (start + t)[:, None] * 32 + e[None, :]))
        state = tl.dot(tl.load(v + (start + t)[:, None] * 32 + e[None, :]), tl.trans(product.to(tl.bfloat16)), state)
    tl.store(out + t[:, None] * 64 + t[None, :], state)
