"""Threads read the copy of a tile as the factor lies that they compute of it, also where lanes could exchange what they read: a tile of 16 columns stays within each warp."""
# RUN: tegula compile %s::product --signature 'a=*bf16:16,b=*bf16:16,scale=*bf16:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 4 --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @product
# CHECK: scf.for
# CHECK-NOT: simt.convert
# CHECK: simt.local_load {{.*}} -> tensor<64x16xbf16
# CHECK-NOT: simt.convert
# CHECK: simt.dot_async
@triton.jit
def product(a, b, scale, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 16)
    acc = tl.zeros([64, 128], tl.float32)
    for start in range(0, K, 16):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * 128 + n[None, :])
        x = (x.to(tl.float32) * tl.load(scale + start + k)[None, :].to(tl.float32)).to(tl.bfloat16)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * 128 + n[None, :], acc)
