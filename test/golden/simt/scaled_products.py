"""Scaled products and all 8-bit floats run on tensor cores: decoded to 16 bits, or as they are where the GPU has it."""
# RUN: tegula compile %s::scaled --signature 'a=*u8:16,s=*u8:16,b=*f8e4nv:16,c=*f32:16,A="e2m1",B="e4m3"' --target sm_90 --emit ptx | FileCheck %s --check-prefix BF16
# RUN: tegula compile %s::scaled --signature 'a=*u8:16,s=*u8:16,b=*f8e5:16,c=*f32:16,A="e2m1",B="e5m2"' --target sm_80 --emit ptx | FileCheck %s --check-prefix BF16
# RUN: tegula compile %s::product --signature 'a=*f8e4b8:16,c=*f32:16' --target sm_90 --emit ptx | FileCheck %s --check-prefix F16
# RUN: tegula compile %s::product --signature 'a=*f8e5:16,c=*f32:16' --target sm_80 --emit ptx | FileCheck %s --check-prefix F16
# RUN: tegula compile %s::product --signature 'a=*f8e5:16,c=*f32:16' --target sm_89 --emit ptx | FileCheck %s --check-prefix F8
# RUN: tegula compile %s::weights --signature 'a=*f16:16,b=*u8:16,s=*u8:16,c=*f32:16,B="e2m1"' --target sm_90a --emit ptx | FileCheck %s --check-prefix HALF
# RUN: tegula compile %s::weights --signature 'a=*f16:16,b=*f8e4nv:16,s=*u8:16,c=*f32:16,B="e4m3"' --target sm_90a --emit ptx | FileCheck %s --check-prefix HALF
# RUN: tegula compile %s::parts --signature 'a=*f16:16,sa=*u8:16,w=*u8:16,s=*u8:16,c=*f16:16,K=i32:16,N=i32:16' --num-stages 3 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix PARTS
import triton
import triton.language as tl


# BF16: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
@triton.jit
def scaled(a, s, b, c, A: tl.constexpr, B: tl.constexpr):
    i, half, group = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 2)
    x = tl.load(a + i[:, None] * 32 + half[None, :])
    y = tl.load(b + i[:, None] * 64 + i[None, :])
    scale = tl.load(s + i[:, None] * 2 + group[None, :])
    tl.store(c + i[:, None] * 64 + i[None, :], tl.dot_scaled(x, scale, A, y, None, B))


# F16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
# F8: mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32
@triton.jit
def product(a, c):
    i = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    x = tl.load(a + i)
    tl.store(c + i, tl.dot(x, x))


# Scaled weights beside f16 are one product of f16, whose first factor is as it was copied.
# HALF-NOT: bf16
# HALF-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
# HALF-NOT: wgmma.mma_async
@triton.jit
def weights(a, b, s, c, B: tl.constexpr):
    i, k, half = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64 // (2 if B == "e2m1" else 1))
    groups = tl.arange(0, 2)
    sums = tl.zeros((64, 64), tl.float32)
    for step in range(8):
        x = tl.load(a + i[:, None] * 512 + step * 64 + k[None, :])
        y = tl.load(b + i[None, :] * 512 + step * 64 + half[:, None])
        scale = tl.load(s + i[:, None] * 16 + step * 2 + groups[None, :])
        sums = tl.dot_scaled(x, None, "fp16", y, scale, B, sums)
    tl.store(c + i[:, None] * 64 + i[None, :], sums)


# An f16 that is scaled goes in two parts, whose products read one tile of weights.
# PARTS: scf.for
# PARTS: simt.local_store {{.*}} <128x128xbf16
# PARTS-NOT: simt.local_store {{.*}} <128x128xbf16
# PARTS-COUNT-2: simt.dot_async
# PARTS: scf.yield
@triton.jit
def parts(a, sa, w, s, c, K, N):
    m, n = tl.program_id(0) * 64 + tl.arange(0, 64), tl.program_id(1) * 128 + tl.arange(0, 128)
    k, packed, group = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 4)
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(0, K, 128):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(w + n[None, :] * (K // 2) + (start // 2 + packed)[:, None])
        x_scale = tl.load(sa + m[:, None] + (start // 32 + group)[None, :] * N)
        scale = tl.load(s + n[:, None] + (start // 32 + group)[None, :] * N)
        acc = tl.dot_scaled(x, x_scale, "fp16", y, scale, "e2m1", acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))
