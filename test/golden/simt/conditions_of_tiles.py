"""A loop whose condition reduces a tile asks for it ahead of the first trip, and then behind each trip's loads; one that is left in the middle does not."""
# RUN: tegula compile %s::search --signature 'table=*i64:16,out=*i64:16,n=i32,B=1024' --target sm_90a --emit simt | FileCheck %s
# RUN: tegula compile %s::leave --signature 'table=*i64:16,out=*i64:16,n=i32,B=1024' --target sm_90a --emit simt | FileCheck --check-prefix=LEAVE %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @search
# CHECK: tt.reduce
# CHECK: scf.if
# CHECK: scf.while
# CHECK: tt.load
# CHECK: tt.reduce
# CHECK: scf.condition
# CHECK-NOT: tt.load
# CHECK: scf.yield
@triton.jit
def search(table, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    low = tl.zeros([B], tl.int64)
    high = tl.zeros([B], tl.int64) + n
    while tl.max(tl.where(i < n, high - low, 0)) > 0:
        middle = (low + high + 1) // 2
        below = tl.load(table + middle) <= i
        low = tl.where(below, middle, low)
        high = tl.where(below, high, middle - 1)
    tl.store(out + i, low, mask=i < n)


# A loop that is left in the middle has most of a trip ahead of its condition: it stays.
# LEAVE-LABEL: tt.func @leave
# LEAVE: = tt.reduce
# LEAVE-NOT: = tt.reduce
@triton.jit
def leave(table, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    low = tl.zeros([B], tl.int64)
    while True:
        found = tl.load(table + low + i)
        if tl.max(found) == 0:
            break
        low += found
    tl.store(out + i, low, mask=i < n)
