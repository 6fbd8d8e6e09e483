# RUN: tegula compile %s::norm --target sm_90a --num-warps 8 --emit ptx --signature 'x=*bf16:16,y=*bf16:16,rstd=*f32:16,n=i32,B=128,D=128' | FileCheck %s
# Warps meet for the sums of rows, which are stored one a thread, behind the stores of the rows: these wait for no other warp,
# and what they store does not stay in registers until then.
import tegula.language as tl
from tegula import jit


# CHECK-COUNT-8: ld.global.v4
# CHECK-NOT: bar.sync
# CHECK-COUNT-8: st.global.v4
# CHECK: bar.sync
# CHECK: ld.shared
# CHECK: st.global.b32
@jit
def norm(x, y, rstd, n, B: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0) * B + tl.arange(0, B)
    at = row[:, None] * D + tl.arange(0, D)[None, :]
    tile = tl.load(x + at, row[:, None] < n, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(tile * tile, 1) + 1e-6)
    tl.store(y + at, (tile * scale[:, None]).to(tl.bfloat16), row[:, None] < n)
    tl.store(rstd + row, scale, row < n)
