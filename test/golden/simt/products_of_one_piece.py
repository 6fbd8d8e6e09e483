"""Of a warp that multiplies one piece alone every other step adds to sums of its own, so that it does not wait for the step before; fewer than four steps do wait."""
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,M=16,N=8,K=64' --num-warps 1 --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,M=16,N=32,K=128' --num-warps 4 --target sm_90a --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,M=16,N=8,K=48' --num-warps 1 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix ONE
# RUN: tegula compile %s::product --signature 'x=*f16:16,y=*f16:16,o=*f32:16,M=16,N=16,K=64' --num-warps 1 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix ONE
import triton
import triton.language as tl

# CHECK: mma.sync
# CHECK-NEXT: {[[A:%r[0-9]+]], {{.*}}},
# CHECK: mma.sync
# CHECK-NEXT: {[[B:%r[0-9]+]], {{.*}}},
# CHECK: mma.sync
# CHECK-NEXT: {[[C:%r[0-9]+]], {{.*}}},
# CHECK: {[[A]], {{.*}}};
# CHECK: mma.sync
# CHECK-NEXT: {[[D:%r[0-9]+]], {{.*}}},
# CHECK: {[[B]], {{.*}}};
# CHECK-COUNT-4: add.{{(rn.)?}}f32
# ONE: mma.sync
# ONE-NOT: add.{{(rn.)?}}f32


@triton.jit
def product(x, y, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot(a, b))
