# RUN: tegula compile %s::channels --target sm_90a --num-warps 8 --emit simt --signature 'x=*bf16:16,w=*bf16:16,out=*bf16:16,S=i32:16' | FileCheck %s
# RUN: tegula compile %s::alone --target sm_90a --num-warps 8 --emit simt --signature 'x=*bf16:16,out=*bf16:16,S=i32:16' | FileCheck %s --check-prefix=ALONE
# Addresses and masks of a filter's taps share the divisions of their pixel: they are computed as the tile lies, with the divisions once
# more, and none of them is moved. A single value of such divisions is.
import triton
import triton.language as tl


# CHECK-NOT: simt.convert {{.*}} tensor<16x
# CHECK: tt.return
@triton.jit
def channels(x, w, out, S):
    pixel = tl.program_id(0) * 16 + tl.arange(0, 16)
    channel = tl.arange(0, 16)
    image, down, across = pixel // (S * S), pixel // S % S, pixel % S
    total = tl.zeros((16, 16), tl.float32)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            y, z = down + i - 1, across + j - 1
            inside = (y >= 0) & (y < S) & (z >= 0) & (z < S)
            at = ((image * S + y) * S + z)[:, None] * 32 + channel[None, :]
            total += tl.load(x + at, inside[:, None], other=0.0).to(tl.float32) * tl.load(w + (i * 3 + j) * 32 + channel)[None, :]
    tl.store(out + pixel[:, None] * 32 + channel[None, :], total.to(tl.bfloat16))


# ALONE: simt.convert {{.*}} tensor<16x
@triton.jit
def alone(x, out, S):
    pixel = tl.program_id(0) * 16 + tl.arange(0, 16)
    channel = tl.arange(0, 16)
    at = ((pixel // (S * S) * S + pixel // S % S) * S + pixel % S)[:, None] * 32 + channel[None, :]
    tl.store(out + pixel[:, None] * 32 + channel[None, :], tl.load(x + at))
