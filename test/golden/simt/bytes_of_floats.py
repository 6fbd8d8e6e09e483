# RUN: tegula compile %s::quantize --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f32:16,out=*i8:16' | FileCheck %s --check-prefixes=CHECK,SIGNED
# RUN: tegula compile %s::quantize --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f16:16,out=*u8:16' | FileCheck %s --check-prefixes=CHECK,UNSIGNED
# Floats become bytes two at once, and saturate by that: the assembler makes one instruction of both steps.
import tegula.language as tl
from tegula import jit


@jit
def quantize(x, out):
    i = tl.arange(0, 256)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


# CHECK-NOT: {{min|max}}.{{s|u}}32
# SIGNED-COUNT-4: cvt.pack.sat.s8.s32.b32
# UNSIGNED-COUNT-4: cvt.pack.sat.u8.s32.b32
# CHECK-NOT: {{cvt.pack|min|max}}
# CHECK: st.global.v2.b32
