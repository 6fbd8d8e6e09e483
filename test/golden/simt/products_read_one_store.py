"""A tile that two products read in the same order is stored once for both, ahead of the first one."""
# RUN: tegula compile %s::chained --signature 'a=*bf16:16,b=*bf16:16,c=*bf16:16,out=*f32:16' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-NOT: scf.for
# CHECK-COUNT-3: simt.local_store
# CHECK-NOT: simt.local_store
# CHECK: tt.return
@triton.jit
def chained(a, b, c, out):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    a_tile, b_tile = tl.load(a + at), tl.load(b + at)
    first = tl.dot(tl.trans(a_tile) * a_tile, tl.trans(b_tile)).to(tl.bfloat16)
    second = tl.dot(first, tl.load(c + at)).to(tl.bfloat16)
    tl.store(out + at, tl.dot(second, b_tile))
