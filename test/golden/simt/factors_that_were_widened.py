"""Factors that were widened to f32 are multiplied as what they were, behind views and choices, too; more than tf32 asks for f32."""
# RUN: tegula compile %s::widened --signature 'a=*bf16:16,b=*bf16:16,c=*fp32:16,K=i32:16,P="tf32"' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=WIDENED
# RUN: tegula compile %s::widened --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,K=i32:16,P="tf32"' --target sm_80 --emit simt -o - | FileCheck %s --check-prefix=HALVES
# RUN: tegula compile %s::widened --signature 'a=*bf16:16,b=*i8:16,c=*fp32:16,K=i32:16,P="tf32"' --target sm_80 --emit simt -o - | FileCheck %s --check-prefix=BYTES
# RUN: tegula compile %s::widened --signature 'a=*fp8e5:16,b=*bf16:16,c=*fp32:16,K=i32:16,P="tf32"' --target sm_80 --emit simt -o - | FileCheck %s --check-prefix=BYTES
# RUN: tegula compile %s::widened --signature 'a=*bf16:16,b=*bf16:16,c=*fp32:16,K=i32:16,P="tf32x3"' --target sm_80 --emit simt -o - | FileCheck %s --check-prefix=THRICE
# RUN: tegula compile %s::widened --signature 'a=*bf16:16,b=*bf16:16,c=*fp32:16,K=i32:16,P="ieee"' --target sm_80 --emit ptx -o - | FileCheck %s --check-prefix=IEEE
# RUN: tegula compile %s::widened --signature 'a=*bf16:16,b=*fp16:16,c=*fp32:16,K=i32:16,P="tf32"' --target sm_80 --emit ptx -o - | FileCheck %s --check-prefix=MIXED
# RUN: tegula compile %s::beside --signature 'a=*fp32:16,b=*bf16:16,c=*fp32:16,K=i32:16,N=64' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=BESIDE
# RUN: tegula compile %s::beside --signature 'a=*fp32:16,b=*bf16:16,c=*fp32:16,K=i32:16,N=16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FEW
# RUN: tegula compile %s::beside --signature 'a=*fp32:16,b=*fp16:16,c=*fp32:16,K=i32:16,N=64' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FEW
import triton
import triton.language as tl


# WIDENED-NOT: arith.extf
# WIDENED: simt.dot_async {{.*}}"wgmma.k16.bf16"
# HALVES-NOT: arith.extf
# HALVES: tt.dot {{.*}}"m16n8k16.f16"
# BYTES: tt.dot {{.*}}"m16n8k16.bf16"
# Sums of f32, or of the products of one op, are not those of the instruction.
# THRICE: precision = {{[1-9]}}
# IEEE-NOT: mma.sync
# Two of bf16 hold f16.
# MIXED: mma.sync{{.*}}bf16
@triton.jit
def widened(a, b, c, K, P: tl.constexpr):
    i, k = tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + start + k[None, :]).to(tl.float32)
        y = tl.load(b + i[:, None] * K + start + k[None, :]).to(tl.float32)
        x = tl.where(i[:, None] + start > k[None, :], x, 0.0)
        acc = tl.dot(x, tl.trans(y), acc, input_precision=P)
    tl.store(c + i[:, None] * 64 + i[None, :], acc)


# Beside a factor that was widened from bf16 an f32 one is two of bf16: the former is copied as it lies in memory.
# BESIDE: simt.async_copy {{.*}}bf16
# BESIDE: simt.dot_async {{.*}}"wgmma.k16.bf16"
# BESIDE: simt.dot_async {{.*}}"wgmma.k16.bf16"
# Not of few rows, nor beside f16, which one of bf16 does not hold.
# FEW-NOT: k16.bf16
# FEW: tf32
@triton.jit
def beside(a, b, c, K, N: tl.constexpr):
    i, n, k = tl.arange(0, 64), tl.arange(0, N), tl.arange(0, 64)
    acc = tl.zeros([64, N], tl.float32)
    for start in range(0, K, 64):
        x = tl.exp(tl.load(a + i[:, None] * K + start + k[None, :]))
        y = tl.load(b + (start + k[:, None]) * N + n[None, :]).to(tl.float32)
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * N + n[None, :], acc)
