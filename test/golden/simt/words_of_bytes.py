# RUN: tegula compile %s::turned --target sm_90a --num-warps 4 --emit ptx --signature 'x=*bf16:16,out=*f8e4nv:16,scale=f32,n=i32:16,B=128' | FileCheck %s
# Words of a tile of 8-bit floats that is stored transposed are made of the pairs that they come from by one permutation each, of two words
# that are stored, and of four that are loaded by three, of which two serve another word, too: 96 of them for 64 words.
import tegula.language as tl
from tegula import jit


# CHECK-NOT: prmt.b32 {{.*}}, 0x3340
# CHECK-COUNT-32: prmt.b32
# CHECK-NOT: prmt.b32
# CHECK: bar.sync
# CHECK-COUNT-64: prmt.b32
# CHECK-NOT: prmt.b32
# CHECK: ret;
@jit
def turned(x, out, scale, n, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    value = tl.load(x + rows[:, None] * n + columns[None, :]).to(tl.float32) * scale
    tl.store(out + rows[:, None] + columns[None, :] * n, value.to(tl.float8e4nv))
