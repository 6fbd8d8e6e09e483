"""A loop that writes under a condition from ahead of it becomes two, of which one does not write: it takes several trips at once. One that writes in every trip, or under a condition of the trip, stays."""
# RUN: tegula compile %s::add_up --signature 'x=*f32:16,places=*i32:16,seen=*f32,y=*f32:16,n=i32,KIND="first",B=64' --target sm_90a --emit simt | FileCheck %s
# RUN: tegula compile %s::add_up --signature 'x=*f32:16,places=*i32:16,seen=*f32,y=*f32:16,n=i32,KIND="always",B=64' --target sm_90a --emit simt | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::add_up --signature 'x=*f32:16,places=*i32:16,seen=*f32,y=*f32:16,n=i32,KIND="trip",B=64' --target sm_90a --emit simt | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# CHECK: scf.if
# CHECK: scf.for
# CHECK: tt.store
# CHECK: } else {
# CHECK: scf.for
# CHECK-NOT: tt.store
# CHECK: scf.yield
# ONE: scf.for
# ONE-NOT: scf.for
@triton.jit
def add_up(x, places, seen, y, n, KIND: tl.constexpr, B: tl.constexpr):
    first = tl.program_id(1)
    i = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for k in range(n):
        row = tl.load(places + k)
        total += tl.load(x + row * B + i)
        if KIND == "always":
            tl.store(places + n + k, row)
        if KIND == "trip":
            if row == 0:
                tl.store(seen + row, 1.0)
        else:
            if first == 0:
                tl.store(seen + row, 1.0)
    tl.store(y + i, total)
