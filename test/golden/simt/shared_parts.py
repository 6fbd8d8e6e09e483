"""Neighbours whose addresses share most of their arithmetic, the quotients of a flat index, lie in one thread, which computes it once."""
# RUN: tegula compile %s::windows --signature 'x=*f16:16,w=*f16:16,y=*f16:16,C=i32:16,H=i32:16,W=i32:16,K=i32:16' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::windows --signature 'x=*f16:16,w=*f16:16,y=*f16:16,C=i32,H=i32,W=i32,K=i32' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ODD
import triton
import triton.language as tl

# CHECK: [[IMAGE:#layout[0-9]*]] = #simt.layout<"coalesced<order=0,1 vector=4 warps=4> [64x32] register=[(1,0),(2,0),
# CHECK: tt.load {{.*}}simt.width = 1{{.*}} -> tensor<64x32xf16, [[IMAGE]]>
# Rows of images of other widths share nothing: neighbours lie in neighbouring lanes.
# ODD: #simt.layout<"[64x32] register=[(32,0),(0,4),(0,8),(0,16)] lane=[(1,0),(2,0),(4,0),(8,0),(16,0)]
# ODD: tt.load {{.*}}simt.width = 1


@triton.jit
def windows(x, w, y, C, H, W, K):
    pixel, filter = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 32)
    column, row, image = pixel % W, pixel // W % H, pixel // (W * H)
    sum = tl.zeros([64, 32], tl.float32)
    for start in range(0, C * 9, 32):
        k = start + tl.arange(0, 32)
        i, j = row[:, None] + (k // 3 % 3)[None, :] - 1, column[:, None] + (k % 3)[None, :] - 1
        inside = (i >= 0) & (i < H) & (j >= 0) & (j < W)
        places = ((image[:, None] * C + (k // 9)[None, :]) * H + i) * W + j
        weights = tl.load(w + filter[None, :] * (C * 9) + k[:, None])
        sum = tl.dot(tl.load(x + places, mask=inside, other=0.0), weights, sum)
    tl.store(y + pixel[:, None] * K + filter[None, :], sum.to(tl.float16))
