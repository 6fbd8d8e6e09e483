"""Loads of a loop of a few trips lie as they do where the trips are written one by one: weights apart in memory come once, not in each warp."""
# RUN: tegula compile %s::filtered --signature 'x=*f16:16,w=*f16:16,o=*f16:16,T=i32:16,UNROLLED=True' --num-warps 8 --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::filtered --signature 'x=*f16:16,w=*f16:16,o=*f16:16,T=i32:16,UNROLLED=False' --num-warps 8 --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def tap(x, w, acc, b, T, t, channel, i):
    before = t + (i - 2)
    a = tl.load(x + (b * T + before)[:, None] * 512 + channel[None, :], mask=(before >= 0)[:, None], other=0.0)
    return acc + a.to(tl.float32) * tl.load(w + channel * 3 + i).to(tl.float32)[None, :]


# CHECK-COUNT-6: ld.global
# CHECK-NOT: ld.global
@triton.jit
def filtered(x, w, o, T, UNROLLED: tl.constexpr):
    b = tl.program_id(1)
    t = tl.program_id(0) * 8 + tl.arange(0, 8)
    channel = tl.arange(0, 256)
    acc = tl.zeros((8, 256), tl.float32)
    if UNROLLED:
        for i in tl.static_range(3):
            acc = tap(x, w, acc, b, T, t, channel, i)
    else:
        for i in range(3):
            acc = tap(x, w, acc, b, T, t, channel, i)
    tl.store(o + (b * T + t)[:, None] * 512 + channel[None, :], acc.to(tl.float16))
