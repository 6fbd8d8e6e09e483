"""A factor that an instruction takes from registers, and that a trip computes from a load and small tiles, is computed as the instruction takes it: the copy of the load is read so, and nothing is stored again. Without copies the tile crosses shared memory once, behind the computation."""
# RUN: tegula compile %s::scaled --signature 'a=*f16:16,b=*f16:16,s=*f16:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::scaled --signature 'a=*f16:16,b=*f16:16,s=*f16:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 1 --emit simt -o - | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @scaled
# CHECK: scf.for
# CHECK-COUNT-3: simt.async_copy
# CHECK-NOT: simt.local_store
# CHECK: %[[TILE:[0-9]+]] = simt.local_load %{{[0-9]+}} : <128x64xf16, {{.*}} -> tensor<128x64xf16, #[[TAKEN:[a-z0-9]+]]>
# CHECK: %[[SCALED:[0-9]+]] = arith.mulf %[[TILE]], %{{[0-9]+}} : tensor<128x64xf16, #[[TAKEN]]>
# CHECK: simt.dot_async %[[SCALED]] : tensor<128x64xf16, #[[TAKEN]]>
# CHECK: scf.yield
# ONE-LABEL: tt.func @scaled
# ONE: scf.for
# ONE: arith.mulf
# ONE: simt.local_store
# ONE: simt.dot_async in
@triton.jit
def scaled(a, b, s, c, K):
    m, n, k = tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 64)
    acc = tl.zeros([128, 32], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
        acc += tl.dot(x * tl.load(s + start + k)[None, :], y)
    tl.store(c + m[:, None] * 32 + n[None, :], acc)
