"""Elements of a row that a thread has side by side with other lanes' have one address and constants, also those whose offset has the bit
next to the lane's: (tid & 31) + 32 stays a sum."""
# RUN: tegula compile %s::rows --signature 'x=*f16:16,out=*f32:16,n=i32,ROWS=2,BLOCK=512' --target sm_90a --num-warps 2 --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::rows --signature 'x=*f16:16,out=*f32:16,n=i32,ROWS=4,BLOCK=256' --target sm_90a --num-warps 4 --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::bits --signature 'x=*i32:16,out=*i32:16' --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=BITS
import triton
import triton.language as tl


# CHECK-NOT: or.b32 {{.*}}, 32;
# CHECK-NOT: or.b32 {{.*}}, 96;
# CHECK-NOT: or.b32 {{.*}}, 160;
# CHECK: ld.global.b16
@triton.jit
def rows(x, out, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(x + row[:, None] * n + column[None, :], column[None, :] < n, other=0.0)
    tl.store(out + row, tl.sum(total, 1))


# Numbers from memory are no offsets.
# BITS-NOT: and.b32 {{.*}}, -33;
# BITS: or.b32 {{.*}}, 32;
@triton.jit
def bits(x, out):
    i = tl.arange(0, 128)
    tl.store(out + i, tl.load(x + i) | 32)
