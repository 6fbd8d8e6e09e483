"""Products of f32 as bf16x3: of three products of bf16, whose factors are stored once; the first two are added up without a wait between them."""
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,P="bf16x3"' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,P="bf16x6"' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=SIX
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,P="bf16x3"' --target sm_75 --emit simt -o - | FileCheck %s --check-prefix=OLD
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-COUNT-2: simt.async_copy
# CHECK-COUNT-4: simt.local_store {{.*}}bf16
# CHECK-NOT: simt.local_store
# CHECK: %[[FIRST:[0-9]+]] = simt.dot_async
# CHECK-NEXT: %[[SECOND:[0-9]+]] = simt.dot_async {{.*}}plus %[[FIRST]]
# CHECK-NEXT: simt.dot_wait %[[SECOND]]
# CHECK: arith.cmpf uno
# CHECK: simt.dot_async
# CHECK: simt.dot_wait
# CHECK: arith.addf
# CHECK: scf.yield

# SIX-COUNT-12: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
# SIX-NOT: wgmma.mma_async

# OLD: tt.dot {{.*}}f32
@triton.jit
def product(a, b, c, K, P: tl.constexpr):
    i, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * 64 + i[None, :])
        acc = tl.dot(x, y, acc, input_precision=P)
    tl.store(c + i[:, None] * 64 + i[None, :], acc)
