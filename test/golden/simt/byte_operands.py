"""Operands of 8 bits whose rows lie along the result's columns, and columns along its rows: matrix loads bring pairs of neighbours."""
# RUN: tegula compile %s::product --signature 'a=*i8:16,b=*i8:16,c=*i32:16,K=i32:16,a_row=i32:16,a_col=1,b_row=i32:16,b_col=1' --target sm_89 --emit simt -o - | FileCheck %s --check-prefix=NN
# RUN: tegula compile %s::product --signature 'a=*i8:16,b=*i8:16,c=*i32:16,K=i32:16,a_row=i32:16,a_col=1,b_row=i32:16,b_col=1' --target sm_89 --emit ptx -o - | FileCheck %s --check-prefix=PTX
# RUN: tegula compile %s::product --signature 'a=*i8:16,b=*i8:16,c=*i32:16,K=i32:16,a_row=1,a_col=i32:16,b_row=1,b_col=i32:16' --target sm_89 --emit simt -o - | FileCheck %s --check-prefix=TT
# RUN: tegula compile %s::product --signature 'a=*i8:16,b=*i8:16,c=*i32:16,K=i32:16,a_row=i32:16,a_col=1,b_row=1,b_col=i32:16' --target sm_89 --emit simt -o - | FileCheck %s --check-prefix=NT
import triton
import triton.language as tl


# NN: #simt.matrix<"m16n8k32.s8", 16, 8, 32, 8, false columns true>
# TT: #simt.matrix<"m16n8k32.s8", 16, 8, 32, 8, false rows true>
# NT: #simt.matrix<"m16n8k32.s8", 16, 8, 32, 8, false>

# No byte is read alone, and two permutations make two words of two.
# PTX-NOT: ld.shared.b8
# PTX-NOT: ld.shared.u8
# PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
# PTX: prmt.b32 {{.*}} 0x6420U
# PTX: prmt.b32 {{.*}} 0x7531U
# PTX: mma.sync.aligned.m16n8k32
# PTX-NOT: ld.shared.b8
# The result's neighbours are one thread's: four at a time.
# PTX: st.global.v4
@triton.jit
def product(a, b, c, K, a_row, a_col, b_row, b_col):
    i, k = tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.int32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * a_row + (start + k[None, :]) * a_col)
        y = tl.load(b + (start + k[:, None]) * b_row + i[None, :] * b_col)
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * 64 + i[None, :], acc)
