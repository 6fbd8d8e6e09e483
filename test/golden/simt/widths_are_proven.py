"""The width of an access rests on proofs: what only holds for indices that are not negative makes no vector."""
# RUN: tegula explain %s::wrapped --signature 'x=*f32:16,out=*f32:16,shift=i32:16,n=i32:16,B=1024' --target sm_90a | FileCheck %s
import triton
import triton.language as tl


# With shift = -16 the remainders run -16 ... -1, 0, ...; with n = 0 there are none.
# CHECK: load of 1 element an access
# CHECK: store of 4 elements an access
@triton.jit
def wrapped(x, out, shift, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + (shift + i) % n))
