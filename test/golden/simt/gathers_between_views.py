"""A gather is made where its indices lie: a table that decodes words moves nothing through shared memory."""
# RUN: tegula compile %s::decode --signature 'w=*u8:16,table=*f32:16,x=*bf16:16,out=*f32:16,K=i32:16,WIDTH=1024' --options num_warps=1 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::look_up --signature 'w=*u8:16,table=*f32:16,out=*f32:16,B=4096' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FLAT
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @decode
# CHECK-NOT: simt.convert
# CHECK: tt.load {{.*}}simt.width = 8
# CHECK-NOT: simt.convert
# CHECK: tt.gather
# CHECK-NOT: simt.convert
# CHECK: tt.join
# CHECK-NOT: simt.convert
@triton.jit
def decode(w, table, x, out, K, WIDTH: tl.constexpr):
    """One row of 4-bit words times a vector; the table has the value of each word."""
    half = tl.arange(0, WIDTH // 2)
    values = tl.load(table + tl.arange(0, 16))
    total = 0.0
    for k in range(0, K, WIDTH):
        word = tl.load(w + tl.program_id(0) * (K // 2) + k // 2 + half[None, :]).to(tl.int32)
        high = tl.gather(values, tl.reshape(word >> 4, [WIDTH // 2]), 0)
        low = tl.gather(values, tl.reshape(word & 15, [WIDTH // 2]), 0)
        pair = tl.reshape(tl.join(high, low), [WIDTH])
        total += tl.sum(pair * tl.load(x + k + tl.arange(0, WIDTH)).to(tl.float32))
    tl.store(out + tl.program_id(0), total)


# FLAT-LABEL: tt.func @look_up
# FLAT: tt.load {{.*}}simt.width = 16
# FLAT: tt.gather
@triton.jit
def look_up(w, table, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    word = tl.load(w + at).to(tl.int32)
    tl.store(out + at, tl.gather(tl.load(table + tl.arange(0, 16)), word & 15, 0))
