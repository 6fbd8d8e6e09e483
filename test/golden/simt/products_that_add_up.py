"""Products that add to one another have one layout: none is left to multiply-adds so that another one may be of several warps."""
# RUN: tegula compile %s::chunk --signature 'q=*f32:16,k=*f32:16,v=*f32:16,s=*f32:16,out=*f32:16,n=i32,C=32,K=128,V=64' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::chunk --signature 'q=*bf16:16,k=*bf16:16,v=*bf16:16,s=*bf16:16,out=*f32:16,n=i32,C=64,K=128,V=64' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=WIDE
import triton
import triton.language as tl


# The second product takes factors that are computed, and no instruction of several warps for f32 reads those.
# CHECK-COUNT-3: simt.matrix<"m16n8k8.tf32"
# WIDE-COUNT-3: simt.dot_async {{.*}} by <"wgmma
@triton.jit
def chunk(q, k, v, s, out, n, C: tl.constexpr, K: tl.constexpr, V: tl.constexpr):
    r, i, j = tl.arange(0, C), tl.arange(0, K), tl.arange(0, V)
    for c in range(0, n):
        row = c * C + r
        query = tl.load(q + row[:, None] * K + i[None, :])
        key = tl.load(k + row[None, :] * K + i[:, None])
        state = tl.load(s + c * K * V + j[None, :] * K + i[:, None])
        value = tl.load(v + row[:, None] * V + j[None, :])
        sums = tl.dot(query, state) + tl.dot(tl.dot(query, key).to(value.dtype), value)
        tl.store(out + row[:, None] * V + j[None, :], sums)
