"""Kernels whose loops get longer along an axis of the grid give their programs other places than the machine does."""
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=0' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FIRST
# RUN: tegula explain %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=0' --target sm_90a | FileCheck %s --check-prefix=SAID
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=1' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=SECOND
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=2' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FIRST
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=3' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=4' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=5' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=6' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=7' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=8' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=9' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FIRST
# RUN: tegula compile %s::looped --signature 'x=*f32:16,out=*f32:16,n=i32,KIND=0' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl


# FIRST: tt.longest_first = 0 : i32
# SECOND: tt.longest_first = 1 : i32
# AS-IS-NOT: tt.longest_first
# SAID-COUNT-1: programs with the largest one start first

# Places stay in uniform registers: no division.
# PTX-LABEL: .visible .entry looped(
# PTX: clz.b32
# PTX-NOT: div.
# PTX: ret;
@triton.jit
def looped(x, out, n, KIND: tl.constexpr):
    pid, other = tl.program_id(0), tl.program_id(1)
    if KIND == 0:  # causal: whole blocks, then the diagonal
        low, high = 0, min((pid + 1) * 128, n)
    elif KIND == 1:  # along another axis
        low, high = pid * 0, other // 4 * 64
    elif KIND == 2:  # several indices in one
        low, high = 0, pid % n * 64
    elif KIND == 3:  # as long for each
        low, high = pid * 128, min((pid + 1) * 128, n)
    elif KIND == 4:  # backwards: the first one is longest
        low, high = pid * 128, n
    elif KIND == 5:  # persistent
        low, high = pid, n
    else:
        low, high = 0, pid * 128
    total = 0.0
    for i in range(low, high, tl.num_programs(0) if KIND == 5 else 64):
        total += tl.load(x + i)
    if KIND == 6:  # programs that meet
        tl.atomic_add(out, total)
    elif KIND == 7:
        while tl.load(out + 1, volatile=True) == 0:
            pass
        tl.store(out, total)
    elif KIND == 8:  # the same without `volatile`
        there = 0.0
        while there == 0:
            there = tl.load(out + 1)
        tl.store(out, total + there)
    else:  # also 9, the bounds of 6 to 8: those keep the order for their waits alone
        tl.store(out + pid, total)
