"""Words that a trip computes of tiles with K innermost are stored so for an instruction of several warps; not what another product computes, not what would have to be turned, and not where the other factor is read as it lies."""
# RUN: tegula compile %s::scaled --signature 'a=*f32:16,b=*f32:16,s=*f32:16,c=*f32:16,K=i32:16,LEFT=True' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=BOTH
# RUN: tegula compile %s::scaled --signature 'a=*f32:16,b=*f32:16,s=*f32:16,c=*f32:16,K=i32:16,LEFT=False' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=RIGHT
# RUN: tegula compile %s::attention --signature 'q=*f16:16,k=*f16:16,v=*f16:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 2 --emit simt -o - | FileCheck %s --check-prefix=WIDENED
# RUN: tegula compile %s::attention --signature 'q=*f32:16,k=*f32:16,v=*f32:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 2 --emit simt -o - | FileCheck %s --check-prefix=LOADED
import triton
import triton.language as tl


# BOTH-LABEL: tt.func @scaled
# BOTH: simt.local_store {{.*}}tensor<32x64xf32
# BOTH: simt.dot_async {{.*}}"wgmma.k8.tf32"
# RIGHT-LABEL: tt.func @scaled
# RIGHT-NOT: simt.local_store
# RIGHT: simt.dot_async {{.*}}"wgmma.k8.tf32"
@triton.jit
def scaled(a, b, s, c, K, LEFT: tl.constexpr):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] + m[None, :] * K)
        scale = tl.load(s + start + k)
        if LEFT:
            x = x * scale[None, :]
        acc += tl.dot(x, y * scale[:, None])
    tl.store(c + m[:, None] * 64 + m[None, :], acc)


# The scores stay in registers, as rows of the second product, and the values have their columns innermost.
# WIDENED-LABEL: tt.func @attention
# WIDENED: simt.dot_async {{.*}}"wgmma.k8.tf32"
# WIDENED: tt.dot {{.*}}"m16n8k8.tf32"
# LOADED-LABEL: tt.func @attention
# LOADED: simt.dot_async {{.*}}"wgmma.k8.tf32"
# The scores are multiplied by the threads that have them, in pairs along K.
# LOADED: simt.convert {{.*}} by <registers packed 1 lanes cost 0>
# LOADED: tt.dot {{.*}}"m16n8k8.tf32"{{.*}} depth true>
@triton.jit
def attention(q, k, v, c, K):
    m, d = tl.arange(0, 64), tl.arange(0, 64)
    rows = tl.load(q + m[:, None] * 64 + d[None, :]).to(tl.float32) * 0.125
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 64):
        keys = tl.load(k + (start + m)[:, None] * 64 + d[None, :]).to(tl.float32)
        values = tl.load(v + (start + m)[:, None] * 64 + d[None, :]).to(tl.float32)
        acc += tl.dot(tl.exp(tl.dot(rows, tl.trans(keys))), values)
    tl.store(c + m[:, None] * 64 + d[None, :], acc)


# Few rows are no columns to store: one warp's instructions take them.
# RUN: tegula compile %s::few --signature 'a=*f16:16,b=*f16:16,s=*f32:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=FEW
# FEW-LABEL: tt.func @few
# FEW-NOT: wgmma
# FEW: tt.dot {{.*}}"m16n8k8.tf32"
@triton.jit
def few(a, b, s, c, K):
    m, n, k = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 128)
    acc = tl.zeros([16, 64], tl.float32)
    for start in range(0, K, 128):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :]).to(tl.float32) * tl.load(s + start + k)[None, :]
        y = tl.load(b + (start + k)[:, None] * 64 + n[None, :]).to(tl.float32)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)
