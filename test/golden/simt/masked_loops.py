"""Masks that matter in the last trips alone: the trips before them are a loop without masks."""
# RUN: tegula compile %s::masked --signature 'q=*f16:16,k=*f16:16,out=*f32:16,length=i32:16,KIND=0' --target sm_90a --emit simt --print-after split-masked-loops -o /dev/null 2>&1 | FileCheck %s
# RUN: tegula explain %s::masked --signature 'q=*f16:16,k=*f16:16,out=*f32:16,length=i32:16,KIND=0' --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::masked --signature 'q=*f16:16,k=*f16:16,out=*f32:16,length=i32:16,KIND=1' --target sm_90a --emit simt --print-after split-masked-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::masked --signature 'q=*f16:16,k=*f16:16,out=*f32:16,length=i32:16,KIND=2' --target sm_90a --emit simt --print-after split-masked-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
# RUN: tegula compile %s::masked --signature 'q=*f16:16,k=*f16:16,out=*f32:16,length=i32:16,KIND=3' --target sm_90a --emit simt --print-after split-masked-loops -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# SAID-COUNT-1: trips in which no element is masked are a loop of their own

# CHECK-LABEL: tt.func @masked
# CHECK: %[[TRIPS:.+]] = arith.trunci
# CHECK: %[[WAY:.+]] = arith.muli %[[TRIPS]]
# CHECK: %[[MIDDLE:.+]] = arith.addi {{.*}}%[[WAY]]
# CHECK: scf.for {{.*}} to %[[MIDDLE]]
# CHECK-NOT: arith.cmpi
# CHECK: scf.for {{.*}} = %[[MIDDLE]] to
# CHECK-COUNT-2: arith.cmpi

# No trip is without the diagonal; a window masks the first trips; a mask that is another in each trip has no first one.
# ONE-COUNT-1: scf.for
# ONE-NOT: scf.for
@triton.jit
def masked(q, k, out, length, KIND: tl.constexpr):
    row = tl.program_id(0) * 64
    m, n, d = row + tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    x = tl.load(q + m[:, None] * 64 + d[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(row if KIND == 1 else 0, length, 64):
        at = start + n
        y = tl.load(k + at[None, :] * 64 + d[:, None], mask=at[None, :] < length if KIND == 0 else None)
        if KIND == 2:
            seen = m[:, None] - at[None, :] < 128
        elif KIND == 3:
            seen = m[:, None] >= (at ^ 64)[None, :]
        else:
            seen = m[:, None] >= at[None, :]
        acc += tl.where(seen, tl.dot(x, y), 0.0)
    tl.store(out + m[:, None] * 64 + n[None, :], acc)
