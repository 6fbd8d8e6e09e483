"""Loops of single steps that only load and compute count their trips in 64 bits: the assembler then runs several at once, whose loads
start together."""
# RUN: tegula compile %s::expert_of --signature 'starts=*i32:16,out=*i32:16,N=256' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=KNOWN
# RUN: tegula compile %s::weighted --signature 'x=*f32:16,w=*f32:16,out=*f32:16,n=i32' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=GIVEN
import triton
import triton.language as tl


# KNOWN: setp.ne.b{{32|64}} [[MORE:%p[0-9]+]], %r{{d?}}{{[0-9]+}}, {{-?[0-9]+}};
# KNOWN-NOT: setp
# KNOWN: @[[MORE]] bra
@triton.jit
def expert_of(starts, out, N: tl.constexpr):
    row = tl.program_id(0) * 128 + tl.arange(0, 128)
    found = tl.full([128], -1, tl.int32)
    for i in tl.range(0, N):
        found = tl.where((row >= tl.load(starts + i)) & (row < tl.load(starts + i + 1)), i, found)
    tl.store(out + row, found)


# GIVEN: setp.ne.b64 [[MORE:%p[0-9]+]], %rd{{[0-9]+}}, {{.*}};
# GIVEN-NOT: setp
# GIVEN: @[[MORE]] bra
@triton.jit
def weighted(x, w, out, n):
    i = tl.arange(0, 128)
    sums = tl.zeros([128], tl.float32)
    for row in range(n):
        sums += tl.load(w + row) * tl.load(x + row * 128 + i)
    tl.store(out + i, sums)


# An `if` that only loads and computes: nothing is put into the registers of its loads ahead of them.
# RUN: tegula compile %s::combined --signature 'l=*f32:16,m=*f32:16,x=*f32:16,out=*f32:16,N=32' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=BRANCH
# BRANCH: ld.global.b32
# BRANCH-NOT: mov.b32
# BRANCH: @%p{{[0-9]+}} ld.global.b32
# BRANCH-NOT: mov.b32
# BRANCH: @%p{{[0-9]+}} ld.global.b32
# BRANCH: setp.ne.b64 [[MORE:%p[0-9]+]]
# BRANCH-NEXT: @[[MORE]] bra
@triton.jit
def combined(l, m, x, out, N: tl.constexpr):
    i = tl.arange(0, 128)
    most = -float("inf")
    sums = tl.zeros([128], tl.float32)
    for k in range(N):
        share = tl.load(l + k)
        if share > 0.0:
            own = tl.load(m + k)
            new = tl.maximum(most, own)
            sums = sums * tl.exp2(most - new) + tl.load(x + k * 128 + i) * tl.exp2(own - new)
            most = new
    tl.store(out + i, sums)
