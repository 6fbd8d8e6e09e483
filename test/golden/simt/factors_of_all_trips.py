"""A factor that all trips read stands in shared memory, also where it is computed in the product's own layout: in registers the assembler gives it away."""
# RUN: tegula compile %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,out=*f16:16,scale=f32,length=i32:16,BRANCHES=1' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,out=*f16:16,scale=f32,length=i32:16,BRANCHES=0' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @attend
# CHECK-NOT: tt.dot
# CHECK: simt.local_store {{.*}}, %[[FACTOR:[0-9]+]] : tensor<128x64xf16
# CHECK: scf.for
# CHECK: simt.dot_async in %[[FACTOR]]
# CHECK: simt.dot_async
# CHECK-NOT: tt.dot
@triton.jit
def attend(q, k, v, out, scale, length, BRANCHES: tl.constexpr):
    row = tl.program_id(0) * 128
    m, n, d = row + tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 64)
    x = (tl.load(q + m[:, None] * 64 + d[None, :]) * scale).to(tl.float16)
    best, total = tl.full([128], float("-inf"), tl.float32), tl.zeros([128], tl.float32)
    acc = tl.zeros([128, 64], tl.float32)
    for start in range(0, length, 64):
        s = tl.dot(x, tl.load(k + (start + n)[None, :] * 64 + d[:, None]))
        if BRANCHES:
            if start + 64 > row:
                s = tl.where(m[:, None] >= (start + n)[None, :], s, float("-inf"))
        better = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp2(s - better[:, None]), tl.exp2(best - better)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + (start + n)[:, None] * 64 + d[None, :]), acc * shrink[:, None])
        best = better
    tl.store(out + m[:, None] * 64 + d[None, :], (acc / total[:, None]).to(tl.float16))
