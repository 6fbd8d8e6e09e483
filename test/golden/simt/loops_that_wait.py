"""A small loop that loads little in a trip takes several trips at once, whose loads start together; one that stores, or follows what it loads, or whose loads already fill the registers, or begins again in a loop, does not."""
# RUN: tegula compile %s::combine --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND=0,B=256' --target sm_90a --emit ptx | FileCheck %s
# RUN: tegula compile %s::combine --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND=1,B=256' --target sm_90a --emit ptx | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::combine --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND=2,B=256' --target sm_90a --emit ptx | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::combine --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND=3,B=256' --target sm_90a --emit ptx | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::combine --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND=4,B=2048' --target sm_90a --emit ptx | FileCheck %s --check-prefix=WIDE
# RUN: tegula compile %s::combine --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND=0,B=2048' --target sm_90a --emit ptx | FileCheck %s --check-prefix=SMALL
# RUN: tegula compile %s::combine --signature 'x=*f32:16,w=*f32:16,y=*f32:16,n=i32,KIND=0,B=8192' --target sm_90a --emit ptx | FileCheck %s --check-prefix=FULL
import triton
import triton.language as tl


# Four trips and what is left of them: five loads of rows.
# CHECK-COUNT-5: ld.global{{.*}}v2.b32
# CHECK-NOT: ld.global{{.*}}v2.b32
# ONE-COUNT-1: ld.global{{.*}}v2.b32
# ONE-NOT: ld.global{{.*}}v2.b32
# Two trips of four loads of 16 bytes, and what is left of them.
# WIDE-COUNT-12: ld.global{{.*}}v4.b32
# WIDE-NOT: ld.global{{.*}}v4.b32
# Of a small loop the assembler takes four trips itself.
# SMALL-COUNT-4: ld.global{{.*}}v4.b32
# SMALL-NOT: ld.global{{.*}}v4.b32
# FULL-COUNT-16: ld.global{{.*}}v4.b32
# FULL-NOT: ld.global{{.*}}v4.b32
@triton.jit
def combine(x, w, y, n, KIND: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros([B], tl.float32)
    at = 0
    for k in range(0 if KIND == 3 else n):
        if KIND == 1:
            tl.store(w + k, 1.0)
        row = at if KIND == 2 else k
        rows = tl.load(x + row * B + i)
        if KIND == 4:
            rows = tl.exp(rows)
        acc = acc * tl.load(w + k) + rows
        if KIND == 2:
            at = tl.sum(rows).to(tl.int32)
    if KIND == 3:
        for row in range(n):
            total = tl.zeros([B], tl.float32)
            for k in range(row):
                total += tl.load(x + k * B + i)
            acc = tl.maximum(acc, total)
    tl.store(y + i, acc)
