# RUN: tegula compile %s::sorted_row --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f32:16,n=i32' | FileCheck %s
# RUN: tegula compile %s::sorted_row --target sm_90a --num-warps 4 --emit ptx --signature 'x=*f32:16,n=i32' | FileCheck %s --check-prefix=WARPS
# RUN: tegula compile %s::network --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f32:16' | FileCheck %s
# A sorting network combines pairs along the lowest bit of the index most often: those bits lie in the registers of
# a thread, whatever bounds make of the loads. Of 45 steps on 512 elements 15 cross lanes, with 16 registers each;
# of 66 on 2048 elements of four warps 25 cross lanes and 3 cross warps.
import tegula.language as tl
from tegula import jit


@jit
def sorted_row(x, n):
    size: tl.constexpr = 512 * tl.extra.cuda.num_warps()
    i = tl.arange(0, size)
    v = tl.sort(tl.load(x + i, mask=i < n, other=0.0))
    tl.store(x + i, v, mask=i < n)


@jit
def network(x):
    # The same by hand, on a hypercube, as Triton's own and several libraries' are written.
    i = tl.arange(0, 512)
    h = tl.reshape(tl.load(x + i), [2] * 9)
    for stage in tl.static_range(1, 10):
        for step in tl.static_range(stage):
            bit: tl.constexpr = stage - 1 - step
            word = h.to(tl.int32, bitcast=True)
            other = (word ^ tl.xor_sum(word, 8 - bit, True)).to(tl.float32, bitcast=True)
            is_right = tl.reshape(tl.arange(0, 2), [1] * (8 - bit) + [2] + [1] * bit)
            falls = tl.reshape(tl.arange(0, 2), [1] * (8 - stage) + [2] + [1] * stage) if stage < 9 else 0
            h = tl.where((h > other) != (falls ^ is_right), other, h)
    tl.store(x + i, tl.reshape(h, [512]))


# CHECK-COUNT-240: shfl.sync
# CHECK-NOT: shfl.sync
# WARPS-COUNT-400: shfl.sync
# WARPS-NOT: shfl.sync
