"""Sums of rows that each lane of a row has are spread over all threads, computed on once, and stored whole."""
# RUN: tegula compile %s::scales --signature 'x=*bf16:16,out=*f32:16,R=128,C=128' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::scales --signature 'x=*bf16:16,out=*f32:16,R=16,C=256' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FEW
import triton
import triton.language as tl


# CHECK: [[SPREAD:#layout[0-9]*]] = {{.*}}[128] register=[] lane
# CHECK: tt.reduce
# CHECK: simt.convert {{.*}} -> tensor<128xbf16, [[SPREAD]]>
# CHECK: math.log2 {{.*}}[[SPREAD]]
# CHECK: tt.store {{.*}}[[SPREAD]]
# A few stores are no more than the conversion.
# FEW: tt.reduce
# FEW-NOT: simt.convert
# FEW: tt.store
@triton.jit
def scales(x, out, R: tl.constexpr, C: tl.constexpr):
    i, j = tl.arange(0, R), tl.arange(0, C)
    largest = tl.max(tl.load(x + i[:, None] * C + j[None, :]).to(tl.float32), 1)
    tl.store(out + i, tl.exp2(tl.ceil(tl.log2(largest))))
