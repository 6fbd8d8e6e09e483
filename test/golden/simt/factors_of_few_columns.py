"""A factor whose rows are so short that lanes of a warp could exchange them is read from its copy all the same, by the instruction of several warps itself."""
# RUN: tegula compile %s::product --signature 'a=*bf16:16,b=*bf16:16,c=*f32:16,K=i32:16' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @product
# CHECK: scf.for
# CHECK-NOT: simt.local_load
# CHECK-NOT: simt.convert
# CHECK: simt.dot_async in %{{[0-9]+}} : !simt.buffer<64x16xbf16, {{.*}}, %{{[0-9]+}} : <16x32xbf16
# CHECK-NOT: simt.local_load
# CHECK: scf.yield
@triton.jit
def product(a, b, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 16)
    acc = tl.zeros([64, 32], tl.float32)
    for start in range(0, K, 16):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
        acc = acc + tl.dot(x, y)
    tl.store(c + m[:, None] * 32 + n[None, :], acc)
