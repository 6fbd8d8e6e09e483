"""Sums of places, which any thread computes, lie as their reader wants them: nothing is moved."""
# RUN: tegula compile %s::exchange --signature 'x=*f32:16,out=*f32:16,places=*i32:16,N=2048,HALF=32' --num-warps 8 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::exchange --signature 'x=*f32:16,out=*f32:16,places=*i32:16,N=2048,HALF=4' --num-warps 8 --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# One step of a sorting network that is written by hand: the places that come along with the numbers are taken from
# the lanes, as the numbers are.
# CHECK: simt.shared_bytes = 0 :
# CHECK-NOT: simt.convert
@triton.jit
def exchange(x, out, places, N: tl.constexpr, HALF: tl.constexpr):
    i = tl.arange(0, N)
    numbers = tl.load(x + i)
    first = tl.arange(0, 2)[None, :, None]
    pairs, own = tl.reshape(numbers, (N // (2 * HALF), 2, HALF)), tl.reshape(i, (N // (2 * HALF), 2, HALF))
    left = tl.reshape(tl.broadcast_to(tl.sum(pairs * (1 - first), 1)[:, None, :], pairs.shape), (N, ))
    right = tl.reshape(tl.broadcast_to(tl.sum(pairs * first, 1)[:, None, :], pairs.shape), (N, ))
    leftAt = tl.reshape(tl.broadcast_to(tl.sum(own * (1 - first), 1)[:, None, :], pairs.shape), (N, ))
    rightAt = tl.reshape(tl.broadcast_to(tl.sum(own * first, 1)[:, None, :], pairs.shape), (N, ))
    swaps = left > right
    tl.store(out + i, tl.where(swaps, left + right - numbers, numbers))
    tl.store(places + i, i ^ tl.where(swaps, leftAt ^ rightAt, 0))

