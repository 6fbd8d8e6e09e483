"""The width of an access rests on proofs, or on a check at run time: what only holds for indices that are not negative
makes no vector by itself."""
# RUN: tegula explain %s::wrapped --signature 'x=*f32:16,out=*f32:16,shift=i32:16,n=i32:16,B=1024' --target sm_90a | FileCheck %s
# RUN: tegula explain %s::wrapped --signature 'x=*f32:16,out=*f32:16,shift=i32,n=i32:16,B=1024' --target sm_90a | FileCheck %s --check-prefix ODD
import triton
import triton.language as tl


# With shift = -16 the remainders run -16 ... -1, 0, ...; with n = 0 there are none: a run that this tears ends the launch.
# CHECK: `%` is checked at run time
# CHECK: load of 4 elements an access
# CHECK: store of 4 elements an access
# A shift by any number leaves no run of neighbours to check.
# ODD-NOT: checked
# ODD: load of 1 element an access
@triton.jit
def wrapped(x, out, shift, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + (shift + i) % n))


# A remainder of an index is one, whatever it is divided by: what is made of it is wide, too, and the index is asked once.
# RUN: tegula explain %s::split --signature 'x=*f32:16,out=*f32:16,n=i32:16,W=1024,B=1024' --target sm_90a | FileCheck %s --check-prefix SPLIT
# RUN: tegula compile %s::split --signature 'x=*f32:16,out=*f32:16,n=i32:16,W=1024,B=1024' --target sm_90a --emit ttir --print-after check-remainders -o /dev/null 2>&1 | FileCheck %s --check-prefix ONCE
# SPLIT: load of 4 elements an access
# SPLIT: store of 4 elements an access
# ONCE-COUNT-2: tt.assert
# ONCE-NOT: tt.assert
@triton.jit
def split(x, out, n, W: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    image, pixel = i // (n * W), i % (n * W)
    row, column = pixel // W, pixel % W
    at = image * (n * W) + row * W + column
    tl.store(out + at, tl.load(x + at))
