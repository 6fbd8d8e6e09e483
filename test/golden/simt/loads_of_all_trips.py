"""A loop that writes nothing loads what is the same in each trip once, ahead of it, under a mask where it may have no trip. It stays in a loop that stores or says so, where it is volatile, and where its tiles would crowd registers."""
# RUN: tegula compile %s::weigh --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND="plain",B=128' --target sm_90a --emit simt | FileCheck %s --check-prefixes=AHEAD,MASKED
# RUN: tegula compile %s::weigh --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=500,KIND="plain",B=128' --target sm_90a --emit simt | FileCheck %s --check-prefixes=AHEAD,ALWAYS
# RUN: tegula compile %s::weigh --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND="stored",B=128' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::weigh --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND="volatile",B=128' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::weigh --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND="fresh",B=128' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::weigh --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND="plain",B=128,STAY=True' --target sm_90a --emit simt | FileCheck %s --check-prefix=STAYS
# RUN: tegula compile %s::weigh_twice --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,B=4096' --target sm_90a --emit simt | FileCheck %s --check-prefix=HALF
import triton
import triton.language as tl


# MASKED: [[ASKED:%[0-9]+]] = arith.cmpi slt, %c0_i32, %arg3
# MASKED: [[MASK:%[0-9]+]] = tt.splat [[ASKED]]
# MASKED: tt.load {{.*}} mask [[MASK]]
# ALWAYS-NOT: mask
# ALWAYS: tt.load
# AHEAD: math.exp2
# AHEAD: scf.for
# AHEAD: tt.load
# AHEAD-NOT: tt.load
# AHEAD-NOT: math.exp2
# AHEAD: scf.yield
# STAYS-NOT: tt.load
# STAYS: scf.for
# STAYS-COUNT-2: tt.load
# STAYS: scf.yield
@triton.jit
def weigh(x, w, y, n, KIND: tl.constexpr, B: tl.constexpr, STAY: tl.constexpr = False):
    i = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for k in tl.range(n, disable_licm=STAY):
        weight = tl.load(w + i, volatile=KIND == "volatile", cache_modifier=".cv" if KIND == "fresh" else "")
        total += tl.load(x + k * B + i) * tl.exp2(weight)
        if KIND == "stored":
            tl.store(y + k * B + i, total)
    tl.store(y + i, total)


# Of two tiles that take 32 registers of a thread each, a quarter of its registers holds one.
# HALF: tt.load
# HALF-NOT: tt.load
# HALF: scf.for
# HALF-COUNT-2: tt.load
# HALF: scf.yield
@triton.jit
def weigh_twice(x, w, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for k in range(n):
        total += tl.load(x + k * B + i) * tl.load(w + i) + tl.load(w + B + i)
    tl.store(y + i, total)
