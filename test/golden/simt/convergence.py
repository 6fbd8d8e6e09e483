"""What all threads of a warp or program must reach together stays in one place, however LLVM turns the branches around it."""
# RUN: tegula compile %s::branches --signature 'x=*f32:16,out=*f32:16,n=i32,B=1024' --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# One meeting a reduction, and five exchanges each, on no path twice.
# CHECK-LABEL: .visible .entry branches(
# CHECK-COUNT-5: shfl.sync.bfly
# CHECK-COUNT-1: bar.sync
# CHECK-COUNT-5: shfl.sync.bfly
# CHECK-COUNT-1: bar.sync
# CHECK-NOT: shfl.sync
# CHECK-NOT: bar.sync
# CHECK: ret;
@triton.jit
def branches(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    if n > 3:
        v = v * 2
    else:
        v = v + 1
    total = tl.sum(v, 0)
    if n > 5:
        total = total + 1
    largest = tl.max(v * total, 0)
    tl.store(out, largest)
