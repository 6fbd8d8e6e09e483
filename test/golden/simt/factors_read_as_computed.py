"""A factor that a trip computes of what no copy brings has a buffer: threads read it next to the product, behind the loads of both factors. Through scratch memory all of it would come into registers, and the second load would wait for it."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*bf16:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 1 --num-warps 2 --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @product
# CHECK: scf.for
# CHECK-NOT: simt.convert
# CHECK: simt.local_store {{.*}}, %[[X:[0-9]+]] : tensor<128x64xf16
# CHECK-NOT: simt.local_load
# CHECK: simt.local_store {{.*}} : tensor<64x32xbf16
# CHECK: simt.barrier
# CHECK-NOT: simt.barrier
# CHECK: simt.local_load %[[X]]
# CHECK: arith.truncf
# CHECK: tt.dot
@triton.jit
def product(a, b, c, K):
    m, n, k = tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 64)
    acc = tl.zeros([128, 32], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :]).to(tl.bfloat16)
        y = tl.load(b + (start + k)[:, None] * 32 + n[None, :])
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * 32 + n[None, :], acc)
