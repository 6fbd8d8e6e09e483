"""Distances of rows and columns are computed once: of a thread's 32 elements of 64 by 64 those of both rows have 18 different ones."""
# RUN: tegula compile %s::distances --signature 'x=*f16:16,out=*f32:16,n=i32,LOOP=1' --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::distances --signature 'x=*f16:16,out=*f32:16,n=i32,LOOP=0' --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::biases --signature 'x=*f16:16,out=*f32:16,lengths=*i32' --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-COUNT-18: cvt.rn.f32.s32
# CHECK-NOT: cvt.rn.f32.s32
@triton.jit
def distances(x, out, n, LOOP: tl.constexpr):
    i = tl.arange(0, 64)
    j = tl.arange(0, 64)
    k = tl.arange(0, 16)
    total = tl.dot(tl.load(x + i[:, None] * 16 + k[None, :]), tl.load(x + k[:, None] + j[None, :] * 16))
    if LOOP:
        for s in range(n):
            total += (s * 8 + j[None, :] - i[:, None]).to(tl.float32)
    else:
        total += (n + j[None, :] - i[:, None]).to(tl.float32)
    tl.store(out + i[:, None] * 64 + j[None, :], total)


# Rows that are long sums themselves (the history of a packed sequence) are one number and a constant; so are magnitudes.
@triton.jit
def biases(x, out, lengths):
    i = tl.arange(0, 64)
    j = tl.arange(0, 64)
    k = tl.arange(0, 16)
    history = (tl.load(lengths + 3) - tl.load(lengths + 2)) - (tl.load(lengths + 1) - tl.load(lengths))
    rows = history + (tl.program_id(0) * 64 + i)
    total = tl.dot(tl.load(x + i[:, None] * 16 + k[None, :]), tl.load(x + k[:, None] + j[None, :] * 16))
    for start in range(0, history, 64):
        total += tl.abs(start + j[None, :] - rows[:, None]).to(tl.float32)
    tl.store(out + i[:, None] * 64 + j[None, :], total)
