"""Numbers of a row that are divided by the same number share its reciprocal: two products each. A division of its own stays one."""
# RUN: tegula compile %s::rows --signature 'x=*f32:16,out=*f32:16,KIND=0' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=ROW
# RUN: tegula compile %s::rows --signature 'x=*f32:16,out=*f32:16,KIND=1' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=EACH
# RUN: tegula compile %s::rows --signature 'x=*f32:16,out=*f32:16,KIND=2' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=NORMAL
# RUN: tegula compile %s::rows --signature 'x=*f32:16,out=*f32:16,KIND=3' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=LARGE
# RUN: tegula compile %s::rows --signature 'x=*f32:16,out=*f32:16,KIND=4' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=LARGE
import triton
import triton.language as tl


# ROW: setp.{{lt|geu|gt}}.f32
# ROW: rcp.approx.ftz.f32
# ROW-NOT: div.full
# ROW-NOT: rcp.approx
# ROW-COUNT-8: mul.rn.f32
# EACH-NOT: rcp.approx
# EACH-COUNT-8: div.full.f32
# A divisor that is no subnormal number is not scaled as one.
# NORMAL-NOT: 0f00800000
# NORMAL: rcp.approx.ftz.f32
# Nothing is asked of a divisor that is 1 and something: predicates would be too few for these and the masks of loads.
# LARGE-NOT: div.full
# LARGE-NOT: setp
# LARGE-COUNT-8: rcp.approx.ftz.f32
@triton.jit
def rows(x, out, KIND: tl.constexpr):
    i = tl.arange(0, 1024)
    a = tl.load(x + i)
    if KIND == 0:
        r = a / tl.sum(a)
    elif KIND == 1:
        r = a / (a + 1.0)
    elif KIND == 2:
        r = a / (tl.sum(a * a) + 1e-5)
    elif KIND == 3:
        r = tl.sigmoid(a)
    else:
        r = a / (2.0 + a * a)
    tl.store(out + i, r)
