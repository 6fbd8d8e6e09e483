"""Floats of 16 bits are computed, compared and reduced two at once, and f32 that holds such as well (transforms/NarrowFloats.h)."""
# RUN: tegula compile %s::added --signature 'x=*bf16:16,y=*bf16:16' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefixes=ADD,ADD90
# RUN: tegula compile %s::added --signature 'x=*bf16:16,y=*bf16:16' --target sm_80 --emit ptx -o - | FileCheck %s --check-prefixes=ADD,ADD80
# RUN: tegula compile %s::added_wide --signature 'x=*bf16:16,y=*bf16:16' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefixes=ADD,ADD90
# RUN: tegula compile %s::added_wide --signature 'x=*bf16:16,y=*bf16:16' --target sm_80 --emit ptx -o - | FileCheck %s --check-prefixes=ADD,ADD80
# RUN: tegula compile %s::added_wide --signature 'x=*bf16:16,y=*bf16:16' --target sm_75 --emit ptx -o - | FileCheck %s --check-prefix=ADD75
# RUN: tegula compile %s::added_wide --signature 'x=*fp16:16,y=*fp16:16' --target sm_75 --emit ptx -o - | FileCheck %s --check-prefix=ADD16
# RUN: tegula compile %s::largest --signature 'x=*bf16:16,y=*bf16:16' --target sm_80 --emit ptx -o - | FileCheck %s --check-prefix=MAX
# RUN: tegula compile %s::compared --signature 'x=*bf16:16,y=*bf16:16' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=COMPARE
# RUN: tegula compile %s::compared --signature 'x=*bf16:16,y=*bf16:16' --target sm_80 --emit ptx -o - | FileCheck %s --check-prefix=WIDE
# RUN: tegula compile %s::rounded --signature 'x=*bf16:16,y=*bf16:16' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=STEPS
# RUN: tegula compile %s::widened --signature 'x=*bf16:16,y=*fp32:16' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=WORD
# RUN: tegula compile %s::added_in_f32 --signature 'x=*bf16:16,y=*bf16:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=STAYS
import triton
import triton.language as tl


# ADD-NOT: {{cvt|shl.b32.*16;}}
# ADD90-COUNT-4: add.rn.bf16x2
# ADD80-COUNT-4: fma.rn.bf16x2
# ADD-NOT: {{cvt|add.*bf16|fma}}
# ADD: ret;
@triton.jit
def added(x, y):
    i = tl.arange(0, 1024)
    tl.store(y + i, tl.load(x + i) + tl.load(y + i))


# ADD75: add.{{.*}}f32
# ADD16-NOT: f32
# ADD16-COUNT-4: add.{{.*}}f16x2
# ADD16-NOT: f32
# ADD16: ret;
@triton.jit
def added_wide(x, y):
    i = tl.arange(0, 1024)
    tl.store(y + i, (tl.load(x + i).to(tl.float32) + tl.load(y + i)).to(y.dtype.element_ty))


# Within a thread, then once between its two halves.
# MAX-COUNT-3: max.bf16x2
# MAX: max.bf16
# MAX-NOT: bf16x2
@triton.jit
def largest(x, y):
    tl.store(y, tl.max(tl.load(x + tl.arange(0, 1024))))


# COMPARE-COUNT-4: setp.lt.bf16x2
# COMPARE-NOT: setp.lt
# WIDE-COUNT-8: setp.lt.f32
@triton.jit
def compared(x, y):
    i = tl.arange(0, 1024)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(y + i, tl.where(a < b, a, b + 1.0))


# A magnitude that is compared several times, with numbers that bf16 has.
# STEPS-COUNT-4: setp.le.bf16x2
# STEPS-NOT: setp.{{l[et]}}.f32
@triton.jit
def rounded(x, y):
    i = tl.arange(0, 1024)
    size = tl.abs(tl.load(x + i).to(tl.float32))
    tl.store(y + i, tl.where(size <= 0.25, 0.0, tl.where(size < 0.75, 0.5, tl.where(size <= 1.25, 1.0, 1.5))))


# WORD: ld.global.v4.b32
# WORD-NOT: {{cvt|mov.b32.*{}}
# WORD-COUNT-4: and.b32 {{.*}}-65536
# WORD: st.
@triton.jit
def widened(x, y):
    i = tl.arange(0, 1024)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + i).to(tl.float32)))


# A fused multiply-add in f32 is no product in bf16; and a sum that f32 needs is kept.
# STAYS: arith.mulf {{.*}}f32
# STAYS: arith.addf {{.*}}f32
@triton.jit
def added_in_f32(x, y):
    i = tl.arange(0, 1024)
    a, b = tl.load(x + i).to(tl.float32), tl.load(y + i).to(tl.float32)
    tl.store(y + i, (a * b + a).to(y.dtype.element_ty))
