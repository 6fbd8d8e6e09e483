"""A tile that a loop's products read as it lies and transposed is stored once ahead of the loop, although its conversions stand ahead of the store."""
# RUN: tegula compile %s::back --signature 'q=*f16:16,k=*f16:16,dq=*f32:16,length=i32:16' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @back
# CHECK: simt.local_store {{.*}}, %[[TILE:[0-9]+]] : tensor<64x64xf16
# CHECK-NOT: simt.local_store
# CHECK: scf.for
# CHECK: simt.dot_async {{.*}}, %[[TILE]] : {{.*}}bTransposed
# CHECK: simt.dot_async {{.*}}, %[[TILE]] : {{.*}}wgmma
@triton.jit
def back(q, k, dq, length):
    n, d = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 64)
    tile = tl.load(k + n[:, None] * 64 + d[None, :])
    for start in range(0, length, 64):
        at = (start + tl.arange(0, 64))[:, None] * 64 + d[None, :]
        s = tl.dot(tl.load(q + at), tl.trans(tile))
        tl.store(dq + at, tl.dot(tl.exp2(s).to(tl.float16), tile))
