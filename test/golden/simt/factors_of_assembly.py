"""Bytes that assembly unpacks to two tiles of a factor are copied as many trips ahead as the other factor: each trip waited for them."""
# RUN: tegula compile %s::unpacked --signature 'a=*bf16:16,packed=*u8:16,out=*f32:16,K=i32:16' --num-warps 4 --num-stages 3 --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-NOT: tt.load
# CHECK: simt.async_copy
# CHECK-NOT: tt.load
# CHECK: simt.async_copy
# CHECK-NOT: tt.load
# CHECK: tt.store
@triton.jit
def unpacked(a, packed, out, K):
    m, n, k, pair = tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    sums = tl.zeros((32, 64), tl.float32)
    for start in range(0, K, 64):
        rows = tl.load(a + m[:, None] * K + start + k[None, :])
        two = tl.load(packed + n[:, None] * (K // 2) + start // 2 + pair[None, :]).to(tl.int32)
        low, high = tl.inline_asm_elementwise("and.b32 $0, $2, 15; shr.u32 $1, $2, 4;", "=r,=r,r", [two], dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
        factor = tl.reshape(tl.join(low, high), (64, 64)).to(tl.bfloat16)
        sums = tl.dot(rows, tl.trans(factor), sums)
    tl.store(out + m[:, None] * 64 + n[None, :], sums)
