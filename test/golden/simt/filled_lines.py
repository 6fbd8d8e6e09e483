"""A line that a factor is scaled by is copied ahead also where its masked elements are no zeros, if it is too large to wait in registers."""
# RUN: tegula compile %s::scaled --signature 'a=*bf16:16,w=*i8:16,s=*bf16:16,c=*f32:16,K=i32:16,N=i32:16,FILL=1.0' --num-stages 3 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::scaled --signature 'a=*bf16:16,w=*i8:16,s=*bf16:16,c=*f32:16,K=i32:16,N=i32:16,FILL=0.0' --num-stages 3 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix ZERO
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-COUNT-3: simt.async_copy
# CHECK: [[LINE:%[0-9]+]] = simt.local_load {{.*}} -> tensor<64xbf16
# CHECK-NOT: tt.load
# CHECK: arith.select {{.*}}[[LINE]]
# CHECK: scf.yield
# ZERO: scf.for
# ZERO: simt.local_load {{.*}} -> tensor<64xbf16
# ZERO-NOT: arith.select {{.*}}tensor<64xi1
# ZERO: scf.yield
@triton.jit
def scaled(a, w, s, c, K, N, FILL: tl.constexpr):
    m, n, k = tl.arange(0, 64), tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(w + (start + k)[:, None] * N + n[None, :])
        scale = tl.load(s + start // 32 * N + n, mask=n < N, other=FILL)
        acc = tl.dot(x, y.to(tl.bfloat16) * scale[None, :], acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)
