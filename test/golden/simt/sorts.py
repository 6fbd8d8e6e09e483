# RUN: tegula compile %s::rows --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f32:16' | FileCheck %s
# RUN: tegula compile %s::rows --target sm_90a --num-warps 1 --emit ptx --signature 'x=*i32:16' | FileCheck %s
# Two elements of a sort exchange by a minimum, a maximum and a choice between the two: no comparison of keys.
import tegula.language as tl
from tegula import jit


@jit
def rows(x):
    i = tl.arange(0, 32)
    tl.store(x + i, tl.sort(tl.load(x + i)))


# CHECK: shfl.sync
# CHECK-NOT: setp.{{gt|lt|ge|le}}.s32
# CHECK-COUNT-14: selp.b32
# CHECK: st.global
