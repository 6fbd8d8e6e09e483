"""Scaled products and all 8-bit floats run on tensor cores: decoded to 16 bits, or as they are where the GPU has it."""
# RUN: tegula compile %s::scaled --signature 'a=*u8:16,s=*u8:16,b=*f8e4nv:16,c=*f32:16,A="e2m1",B="e4m3"' --target sm_90 --emit ptx | FileCheck %s --check-prefix BF16
# RUN: tegula compile %s::scaled --signature 'a=*u8:16,s=*u8:16,b=*f8e5:16,c=*f32:16,A="e2m1",B="e5m2"' --target sm_80 --emit ptx | FileCheck %s --check-prefix BF16
# RUN: tegula compile %s::product --signature 'a=*f8e4b8:16,c=*f32:16' --target sm_90 --emit ptx | FileCheck %s --check-prefix F16
# RUN: tegula compile %s::product --signature 'a=*f8e5:16,c=*f32:16' --target sm_80 --emit ptx | FileCheck %s --check-prefix F16
# RUN: tegula compile %s::product --signature 'a=*f8e5:16,c=*f32:16' --target sm_89 --emit ptx | FileCheck %s --check-prefix F8
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
