"""Bounds that may end inside of a vector: the trips of whole tiles are a loop of their own, without masks."""
# RUN: tegula compile %s::summed --signature 'x=*f16:16,y=*f32:16,n=i32,KIND=0' --target sm_90a --emit simt --print-after split-narrow-loops -o /dev/null 2>&1 | FileCheck %s
# RUN: tegula explain %s::summed --signature 'x=*f16:16,y=*f32:16,n=i32,KIND=0' --target sm_80 | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::summed --signature 'x=*f16:16,y=*f32:16,n=i32:16,KIND=0' --target sm_90a --emit simt --print-after split-narrow-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::summed --signature 'x=*f16,y=*f32:16,n=i32,KIND=0' --target sm_90a --emit simt --print-after split-narrow-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::summed --signature 'x=*f16:16,y=*f32:16,n=i32,KIND=1' --target sm_90a --emit simt --print-after split-narrow-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::summed --signature 'x=*f16:16,y=*f32:16,n=i32,KIND=2' --target sm_90a --emit simt --print-after split-narrow-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# SAID: load of 8 elements an access
# SAID: load of 1 element an access

# The step is a number of the launch.
# CHECK-LABEL: tt.func @summed
# CHECK: arith.maxsi
# CHECK: %[[TRIPS:.+]] = arith.trunci
# CHECK: %[[WAY:.+]] = arith.muli %[[TRIPS]]
# CHECK: %[[MIDDLE:.+]] = arith.addi {{.*}}%[[WAY]]
# CHECK: scf.for {{.*}} to %[[MIDDLE]]
# CHECK-NOT: arith.cmpi
# CHECK: scf.for {{.*}} = %[[MIDDLE]] to
# CHECK: arith.cmpi

# A length of whole vectors; an address that is no multiple of them; an index that no vector follows; a loop that stores where it loads.
# ONE-COUNT-1: scf.for
# ONE-NOT: scf.for
@triton.jit
def summed(x, y, n, KIND: tl.constexpr):
    i = tl.arange(0, 1024)
    sums = tl.zeros([1024], tl.float32)
    for start in range(tl.program_id(0) * 1024, n, tl.num_programs(0) * 1024):
        at = start + i
        where = at * 3 if KIND == 1 else at
        values = tl.load(x + where, mask=at < n, other=0.0)
        sums += values
        if KIND == 2:
            tl.store(x + where, values * 2, mask=at < n)
    tl.store(y + tl.program_id(0) * 1024 + i, sums)
