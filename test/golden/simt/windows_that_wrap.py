"""Windows that wrap around the end of a row overlap: a remainder that one of them has is not computed again for its neighbour,
and of a run of neighbours the check asks the first alone."""
# RUN: tegula compile %s::window --signature 'x=*u8:16,out=*u8:16,n=i32:16,B=512' --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::run --signature 'x=*f32:16,out=*f32:16,shift=i32:16,n=i32:16,B=512' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix RUN-OF-FOUR
# RUN: tegula compile %s::reversed_sums --signature 'x=*f32:16,out=*f32:16,a=i32,b=i32,n=i32,B=128' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix SUM
import triton
import triton.language as tl


# Four elements a thread and a neighbour on each side: six numbers.
# CHECK: .entry window
# CHECK-COUNT-6: rem.s32
# CHECK-NOT: rem.s32
@triton.jit
def window(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    count = tl.zeros([B], tl.uint8)
    for d in tl.static_range(-1, 2):
        count += tl.load(x + (i + d + n) % n, mask=i < n, other=0)
    tl.store(out + i, count, mask=i < n)


# If 16 divides the shift and n, no other element of a run is a multiple of n.
# RUN-OF-FOUR: .entry run
# RUN-OF-FOUR-COUNT-1: rem.s32
# RUN-OF-FOUR-NOT: rem.s32
# RUN-OF-FOUR: vote
@triton.jit
def run(x, out, shift, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + (i + shift) % n))


# Sums of the same values in another order, some of them taken away again, are one dividend; another difference is not.
# SUM: .entry reversed_sums
# SUM-COUNT-2: rem.s32
# SUM-NOT: rem.s32
@triton.jit
def reversed_sums(x, out, a, b, n, B: tl.constexpr):
    i = tl.arange(0, B)
    first, second, third = (i + a + b) % n, (b + 1 + i - (1 - a)) % n, (i + a - b) % n
    tl.store(out + i, tl.load(x + first) + tl.load(x + second) * tl.load(x + third))
