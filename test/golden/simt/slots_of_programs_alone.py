"""Copies start ahead of a trip's reads, into a slot of their own, where a program that walks over tiles has its multiprocessor for itself: so many programs are there. Where more are, a slot less lets another one run beside."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,o=*f16:16,PROGRAMS=132' --target sm_90a --num-warps 1 --num-stages 4 --emit simt | FileCheck %s --check-prefix=ALONE
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,o=*f16:16,PROGRAMS=528' --target sm_90a --num-warps 1 --num-stages 4 --emit simt | FileCheck %s --check-prefix=BESIDE
import triton
import triton.language as tl


# ALONE-COUNT-2: simt.alloc {{.*}}, 4>
# BESIDE-COUNT-2: simt.alloc {{.*}}, 3>
@triton.jit
def product(a, b, o, PROGRAMS: tl.constexpr):
    depth = tl.arange(0, 128)
    for tile in tl.range(tl.program_id(0), 2048, PROGRAMS):
        row = tile // 32 * 32 + tl.arange(0, 32)
        column = tile % 32 * 64 + tl.arange(0, 64)
        acc = tl.zeros((32, 64), tl.float32)
        for s in range(0, 1024, 128):
            x = tl.load(a + row[:, None] * 1024 + (s + depth)[None, :])
            y = tl.load(b + (s + depth)[:, None] * 2048 + column[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(o + row[:, None] * 2048 + column[None, :], acc.to(tl.float16))
