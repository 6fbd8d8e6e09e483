"""Products that add to one another have one layout. It is that of an instruction of several warps also where only some of
them can take it: the others take instructions of one warp with the same layout."""
# RUN: tegula explain %s::state --signature 'w=*bf16:16,v=*bf16:16,q=*bf16:16,g=*f32:16,u=*f16:16,o=*f32:16,n=i32:16,V=32' --target sm_90a | FileCheck %s
# RUN: tegula explain %s::state --signature 'w=*bf16:16,v=*bf16:16,q=*bf16:16,g=*f32:16,u=*f16:16,o=*f32:16,n=i32:16,V=64' --target sm_90a | FileCheck %s --check-prefix WIDE
import triton
import triton.language as tl


# Factors of f32 lie with K innermost on neither side.
# CHECK: matrix instruction m16n8k8.tf32
# CHECK: matrix instruction wgmma.k16.bf16
# Each warp would hold all 64 columns of words, more than half of its registers.
# WIDE: matrix instruction m16n8k8.tf32
# WIDE: matrix instruction m16n8k16.bf16
@triton.jit
def state(w, v, q, g, u, o, n, V: tl.constexpr):
    k, c, t = tl.arange(0, 64), tl.arange(0, V), tl.arange(0, 64)
    h = tl.zeros([64, V], tl.float32)
    for i in range(0, n, 64):
        scaled = tl.load(q + k[:, None] + (i + t)[None, :] * 64) * tl.exp2(tl.load(g + i + t))[None, :]
        b_w = tl.load(w + k[:, None] + (i + t)[None, :] * 64)
        b_v = tl.load(v + (i + t)[:, None] * V + c[None, :])
        b_u = tl.load(u + (i + t)[:, None] * V + c[None, :])
        h += tl.dot(scaled, b_u.to(tl.float32)) * 0.5 - tl.dot(b_w, b_v)
    tl.store(o + k[:, None] * V + c[None, :], h)
