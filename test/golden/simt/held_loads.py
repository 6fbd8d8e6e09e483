"""Elements of a factor that no copy can bring wait in registers for the next trip. They are loaded behind the stores of those before them, so
that the same registers take them: moves at the end of the trip would wait for the loads. They are stored along the dimension along
which lanes have them, which an instruction of several warps takes as well as the other."""
# RUN: tegula compile %s::product --signature 'a=*f16:16,b=*f16:16,at=*i32:16,c=*f32:16,M=i32:16,K=i32:16' --target sm_90a --num-stages 2 --emit ptx -o - | FileCheck %s
# RUN: tegula compile %s::decayed --signature 'a=*bf16:16,b=*bf16:16,g=*f32:16,last=*f32:16,c=*f32:16,K=i32:16' --target sm_90a --num-warps 2 --num-stages 2 --emit simt -o - | FileCheck %s --check-prefix=DECAYED
# RUN: tegula compile %s::decayed --signature 'a=*bf16:16,b=*bf16:16,g=*f32:16,last=*f32:16,c=*f32:16,K=i32:16' --target sm_90a --num-warps 2 --num-stages 2 --emit ptx -o - | FileCheck %s --check-prefix=LAST
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


# Numbers of rows of which each thread would hold eight, and eight lanes the same, are copied: a thread copies one.
# DECAYED: simt.async_copy {{.*}}tensor<64x!tt.ptr<f32>
# DECAYED: scf.for
# A number for the next trip waits in each lane: where the assembler knows that all have the same it moves it to a register of
# the warp at once, and waits for it.
# LAST: mov.u32 {{.*}}, %lanemask_eq; {{.*}} cvt.u64.u32 [[ZERO:%rd[0-9]+]],
# LAST: add.s64 {{.*}}, [[ZERO]];
@triton.jit
def decayed(a, b, g, last, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 64)
    acc = tl.zeros([64, 32], tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * 32 + n[None, :])
        decay = tl.exp(tl.load(last + start) - tl.load(g + (start + k) * 8))
        product = tl.dot(x, y) * decay[:, None]
        acc = acc * 0.5 + tl.dot(tl.trans(x), product.to(tl.bfloat16))
    tl.store(c + m[:, None] * 32 + n[None, :], acc)
