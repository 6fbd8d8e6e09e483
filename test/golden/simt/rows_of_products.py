"""Maxima and sums of attention's rows stay in the layout that the product's rows have, though they are stored behind the loop and are
more than the threads: the loop converts nothing, the store does."""
# RUN: tegula compile %s::attention --signature 'q=*f16:16,k=*f16:16,v=*f16:16,out=*f16:16,lse=*f32:16,n=i32:16' --num-warps 2 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::attention --signature 'q=*f16:16,k=*f16:16,v=*f16:16,out=*f16:16,lse=*f32:16,n=i32:16' --num-warps 2 --target sm_80 --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-NOT: simt.convert {{.*}} by <shared
# CHECK: scf.yield
# CHECK: simt.convert {{.*}} by <shared {{.*}}tensor<128xf32
# CHECK: tt.store {{.*}}tensor<128x!tt.ptr<f32>
@triton.jit
def attention(q, k, v, out, lse, n):
    m, d = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 64)
    rows = tl.load(q + m[:, None] * 64 + d[None, :])
    largest = tl.full([128], float("-inf"), tl.float32)
    total = tl.zeros([128], tl.float32)
    acc = tl.zeros([128, 64], tl.float32)
    for start in range(0, n, 32):
        at = start + tl.arange(0, 32)
        scores = tl.dot(rows, tl.load(k + at[None, :] * 64 + d[:, None]))
        new = tl.maximum(largest, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(largest - new)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype.element_ty), tl.load(v + at[:, None] * 64 + d[None, :]))
        largest = new
    tl.store(lse + m, largest + tl.log2(total))
    tl.store(out + m[:, None] * 64 + d[None, :], (acc / total[:, None]).to(out.dtype.element_ty))
