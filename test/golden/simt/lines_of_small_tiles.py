# RUN: tegula compile %s::scaled --target sm_90a --num-warps 8 --emit simt --signature 'x=*bf16:16,w=*bf16:16,out=*bf16:16,C=i32' | FileCheck %s
# RUN: tegula compile %s::scaled --target sm_90a --num-warps 4 --emit simt --signature 'x=*bf16:16,w=*bf16:16,out=*bf16:16,C=i32' | FileCheck %s
# RUN: tegula compile %s::scaled --target sm_90a --num-warps 16 --emit simt --signature 'x=*bf16:16,w=*bf16:16,out=*bf16:16,C=i32' | FileCheck %s
# A line is loaded as the tile wants it that it is broadcast to, where a thread has several elements of the tile, one, or shares one:
# nothing goes through shared memory, in no trip.
import triton
import triton.language as tl


# CHECK-NOT: simt.convert
# CHECK: tt.return
@triton.jit
def scaled(x, w, out, C):
    column = tl.arange(0, 64)
    inside = column < C
    for i in tl.range(tl.program_id(0), 1000, 132):
        row = i * 4 + tl.arange(0, 4)
        weight = tl.load(w + column, mask=inside, other=0.0)
        v = tl.load(x + row[:, None] * C + column[None, :], mask=inside[None, :], other=0.0)
        tl.store(out + row[:, None] * C + column[None, :], v * weight[None, :], mask=inside[None, :])
