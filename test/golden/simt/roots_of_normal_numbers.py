"""Roots of numbers that cannot be subnormal are one instruction of the machine: of f16, and of sums with a constant."""
# RUN: tegula compile %s::roots --signature 'x=*f32:16,h=*f16:16,out=*f32:16,KIND=0' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=NORMAL
# RUN: tegula compile %s::roots --signature 'x=*f32:16,h=*f16:16,out=*f32:16,KIND=1' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=NORMAL
# RUN: tegula compile %s::roots --signature 'x=*f32:16,h=*f16:16,out=*f32:16,KIND=2' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=NORMAL
# RUN: tegula compile %s::roots --signature 'x=*f32:16,h=*f16:16,out=*f32:16,KIND=3' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=ANY
# RUN: tegula compile %s::roots --signature 'x=*f32:16,h=*f16:16,out=*f32:16,KIND=4' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=ANY
# RUN: tegula compile %s::roots --signature 'x=*f32:16,h=*bf16:16,out=*f32:16,KIND=1' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=ANY
import triton
import triton.language as tl


# NORMAL: sqrt.approx.ftz.f32
# ANY: sqrt.approx.f32
@triton.jit
def roots(x, h, out, KIND: tl.constexpr):
    i = tl.arange(0, 128)
    if KIND == 0:
        a = tl.load(x + i)
        r = a * a + 1e-5
    elif KIND == 1:
        r = tl.abs(tl.load(h + i).to(tl.float32))
    elif KIND == 2:
        a = tl.load(h + i).to(tl.float32)
        r = tl.where(a > 1.0, a * a, a + 3.0)
    elif KIND == 3:
        r = tl.load(x + i)
    else:
        a = tl.load(x + i)
        r = a * a + 1e-30  # cancels against products that are near it
    tl.store(out + i, tl.sqrt(r))
