"""Elements of a factor that no copy can bring wait in registers for the next trip. They are loaded behind the stores of those before them, so
that the same registers take them: moves at the end of the trip would wait for the loads. They are stored along the dimension along
which lanes have them, which an instruction of several warps takes as well as the other."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,at=*i32:16,c=*f32:16,M=i32:16,K=i32:16' --target sm_90a --num-stages 2 --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: st.shared.b16
# CHECK-COUNT-16: ld.global.b16
# CHECK: wgmma.mma_async{{.*}}, 1, 1, 1, 1, 0;
# CHECK-NOT: mov.b16
# CHECK: bra
@triton.jit
def product(a, b, at, c, M, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    rows = tl.load(at + m)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + rows[:, None] + (start + k)[None, :] * M)
        y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)
