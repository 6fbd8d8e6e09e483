# RUN: tegula compile %s::rows --target sm_90a --num-warps 2 --emit ptx --signature 'x=*bf16:16,y=*bf16:16,out=*f32:16,C=i32,R=32,N=128' | FileCheck %s --check-prefix=MANY
# RUN: tegula compile %s::rows --target sm_90a --num-warps 2 --emit ptx --signature 'x=*bf16:16,y=*bf16:16,out=*f32:16,C=i32,R=4,N=128' | FileCheck %s --check-prefix=FEW
# A loop of many narrow accesses adds the offsets of a row to one address in each trip: sums held in place of that would fill
# the registers. One of few counts down to its end, which the assembler unrolls.
import tegula.language as tl
from tegula import jit


@jit
def rows(x, y, out, C, R: tl.constexpr, N: tl.constexpr):
    row = tl.arange(0, R)
    total = tl.zeros((R, N), tl.float32)
    for c in range(0, C, N):
        i = c + tl.arange(0, N)
        at = row[:, None] * C + i[None, :]
        a = tl.load(x + at, mask=i[None, :] < C, other=0.0).to(tl.float32)
        b = tl.load(y + at, mask=i[None, :] < C, other=0.0).to(tl.float32)
        total += a * b
    tl.store(out + row, tl.sum(total, 1))


# MANY-COUNT-128: ld.global.b16
# MANY: sub.s32 [[LEFT:%r[0-9]+]], %r{{[0-9]+}}, [[AT:%r[0-9]+]]
# MANY: add.s32 [[AT]], [[AT]], 128
# MANY: setp.gt.u32 %p{{[0-9]+}}, [[LEFT]], 128
# FEW-COUNT-16: ld.global.b16
# FEW: add.s32 [[LEFT:%r[0-9]+]], [[LEFT]], -128
# FEW: setp.gt.u32 %p{{[0-9]+}}, [[LEFT]], 128
