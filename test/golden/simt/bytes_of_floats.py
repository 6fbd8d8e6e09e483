# RUN: tegula compile %s::quantize --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f32:16,out=*i8:16,LOW=-128.0,HIGH=127.0' | FileCheck %s --check-prefixes=CHECK,SIGNED
# RUN: tegula compile %s::quantize --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f16:16,out=*u8:16,LOW=0.0,HIGH=255.0' | FileCheck %s --check-prefixes=CHECK,UNSIGNED
# RUN: tegula compile %s::quantize --target sm_90a --num-warps 1 --emit ptx --signature 'x=*f32:16,out=*i8:16,LOW=-128.0,HIGH=128.0' | FileCheck %s --check-prefix=WIDE
# Floats that 8 bits hold become bytes two at once, and saturate by that: the assembler makes one instruction of both steps. Others saturate at 16 bits.
import tegula.language as tl
from tegula import jit
from tegula.language.extra import libdevice


@jit
def quantize(x, out, LOW: tl.constexpr, HIGH: tl.constexpr):
    i = tl.arange(0, 256)
    tl.store(out + i, libdevice.rint(tl.clamp(tl.load(x + i).to(tl.float32), LOW, HIGH)).to(out.dtype.element_ty))


# CHECK-NOT: {{min|max}}.{{s|u}}32
# SIGNED-COUNT-4: cvt.pack.sat.s8.s32.b32
# UNSIGNED-COUNT-4: cvt.pack.sat.u8.s32.b32
# CHECK-NOT: {{cvt.pack|min.s|max.s|min.u|max.u}}
# CHECK: st.global.v2.b32
# WIDE-COUNT-8: cvt.rzi.s16.f32
# WIDE-NOT: {{cvt.pack|min.s|max.s|min.u|max.u}}
