"""A factor that an instruction takes from registers, and that a trip computes from a load and small tiles, is computed as the instruction takes it: the copy of the load is read so, and nothing is stored again. Without copies the tile crosses shared memory once, behind the computation. The same holds of a tile that is transposed first, and that another product reads as it is: both read the copy."""
# RUN: tegula compile %s::scaled --signature 'a=*f16:16,b=*f16:16,s=*f16:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::scaled --signature 'a=*f16:16,b=*f16:16,s=*f16:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 1 --emit simt -o - | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::remembered --signature 'q=*bf16:16,k=*bf16:16,v=*bf16:16,w=*f32:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 2 --emit simt -o - | FileCheck %s --check-prefix=TURNED
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


# TURNED-LABEL: tt.func @remembered
# TURNED: scf.for
# TURNED: %[[KEYS:[0-9]+]] = simt.view %{{[0-9]+}}[%arg{{[0-9]+}}] : <64x128xbf16
# TURNED-DAG: simt.local_load %[[COPY:[0-9]+]] : <64x128xbf16, {{.*}} -> tensor<64x128xbf16, #[[TURNED:[a-z0-9]+]]>
# TURNED-DAG: simt.dot_async in %{{[0-9]+}} : {{.*}}, %[[COPY]] : <64x128xbf16
# TURNED-NOT: simt.local_store {{.*}}128x64xbf16
# TURNED: simt.dot_async %{{[0-9]+}} : tensor<128x64xbf16
@triton.jit
def remembered(q, k, v, w, c, K):
    step, key, value = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    state = tl.zeros([128, 64], tl.float32)
    seen = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 64):
        row = (start + step)[:, None]
        queries = tl.load(q + row * 128 + key[None, :])
        keys = tl.load(k + row * 128 + key[None, :])
        seen += tl.dot(queries, keys.T)
        weighted = (keys.T * tl.load(w + start + step)[None, :]).to(k.dtype.element_ty)
        state = tl.dot(weighted, tl.load(v + row * 64 + value[None, :]), state)
    tl.store(c + key[:, None] * 64 + value[None, :], state)
    tl.store(c + 8192 + step[:, None] * 64 + value[None, :], seen)
