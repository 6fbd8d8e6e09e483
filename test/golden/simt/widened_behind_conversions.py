# RUN: tegula compile %s::scaled --target sm_90a --num-warps 4 --emit simt --signature 'x=*f8e4nv:16,scale=*f32:16,out=*f32:16,n=i32:16,B=128' | FileCheck %s
# RUN: tegula compile %s::scaled --target sm_90a --num-warps 4 --emit simt --signature 'x=*i8:16,scale=*f32:16,out=*f32:16,n=i32:16,B=128' | FileCheck %s
# Numbers of 8 bits that are widened, scaled and stored change their layout as they are loaded: 16 KB go through shared memory, not 64.
import tegula.language as tl
from tegula import jit


# CHECK: simt.shared_bytes = 16384
# CHECK-LABEL: tt.func @scaled
# CHECK: tt.load
# CHECK: simt.convert {{.*}} -> tensor<128x128x{{f8E4M3FN|i8}}
# CHECK-NOT: simt.convert
# CHECK: tt.store
@jit
def scaled(x, scale, out, n, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    at = rows[:, None] * n + columns[None, :]
    tl.store(out + at, tl.load(x + at).to(tl.float32) * tl.load(scale + tl.program_id(0)))
