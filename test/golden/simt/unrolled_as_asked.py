"""A loop of products takes as many trips at once as its user asks, if their copies are few bytes; the trips that are left over load nothing ahead. Larger ones stay as they are."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,o=*f32:16,n=i32,B=16,F=4' --target sm_90a --emit simt | FileCheck %s --check-prefixes=FOUR,REST
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,o=*f32:16,n=32,B=16,F=4' --target sm_90a --emit simt | FileCheck %s --check-prefixes=FOUR,WHOLE
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,o=*f32:16,n=i32,B=16,F=1' --target sm_90a --emit simt | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,o=*f32:16,n=i32,B=128,F=4' --target sm_90a --emit simt | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# FOUR: scf.for
# FOUR-COUNT-4: tt.dot
# FOUR: scf.yield
# REST: scf.for
# REST-COUNT-2: tt.load
# REST: tt.dot
# WHOLE-NOT: scf.for
# ONE: scf.for
# ONE: dot
# ONE-NOT: tt.dot
# ONE: scf.yield
# ONE-NOT: scf.for
@triton.jit
def product(a, b, o, n, B: tl.constexpr, F: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for s in tl.range(0, n, loop_unroll_factor=F):
        acc += tl.dot(tl.load(a + (s * B + i) * B + j), tl.load(b + (s * B + i) * B + j))
    tl.store(o + i * B + j, acc)
