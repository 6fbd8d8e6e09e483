"""Polynomials that an element's function is computed by stay beside its slow path: behind the last one a thread would hold it of all terms of a sum."""
# RUN: tegula compile %s::waves --signature 'x=*f32:16,y=*f32:16' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl

# CHECK-LABEL: .entry waves
# CHECK: {{^}}$L__BB0_[[#A:]]:
# CHECK: mul.rn.f32
# CHECK: {{^}}$L__BB0_[[#A+2]]:
# CHECK: mul.rn.f32
# CHECK: {{^}}$L__BB0_[[#A+4]]:
# CHECK: mul.rn.f32
# CHECK: {{^}}$L__BB0_[[#A+6]]:


@triton.jit
def waves(x, y):
    i = tl.program_id(0) * 4096 + tl.arange(0, 4096)
    tl.store(y + tl.program_id(0), tl.sum(tl.cos(tl.load(x + i)), 0))
