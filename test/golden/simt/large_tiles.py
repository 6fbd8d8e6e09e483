"""A tile that no thread has registers for is a loop over chunks; one that may meet its own stores stays whole."""
# RUN: tegula compile %s::scale --signature 'x=*f32:16,out=*f32:16,n=i32:16,B=65536' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=SCALE
# RUN: tegula compile %s::shift --signature 'x=*f32:16,n=i32:16,B=16384' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=SHIFT
# RUN: tegula explain %s::scale --signature 'x=*f32:16,out=*f32:16,n=i32:16,B=65536' --target sm_90a | FileCheck %s --check-prefix=SAID
import triton
import triton.language as tl


# SAID: a loop over chunks of 2048 elements
# SCALE-LABEL: tt.func @scale
# SCALE: scf.for
# SCALE: tt.load {{.*}}simt.width = 4{{.*}}tensor<2048x
# SCALE: tt.store {{.*}}simt.width = 4{{.*}}tensor<2048x
@triton.jit
def scale(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


# SHIFT-LABEL: tt.func @shift
# SHIFT-NOT: scf.for
# SHIFT: tt.store {{.*}}tensor<16384x
@triton.jit
def shift(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i + 1, tl.load(x + i, mask=i < n), mask=i < n)
