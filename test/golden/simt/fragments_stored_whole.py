# RUN: tegula compile %s::weighted --target sm_90a --num-warps 4 --emit ptx --signature 'a=*f16:16,b=*f16:16,c=*f16:16,out=*f32:16,M=64,N=64,D=64' | FileCheck %s --check-prefixes=CHECK,HOPPER
# RUN: tegula compile %s::weighted --target sm_80 --num-warps 4 --emit ptx --signature 'a=*f16:16,b=*f16:16,c=*f16:16,out=*f32:16,M=64,N=64,D=64' | FileCheck %s --check-prefix=OLD
# A product's result that another product reads in shared memory gets there by matrices, where the machine stores such.
import tegula.language as tl
from tegula import jit


@jit
def weighted(a, b, c, out, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    x = tl.load(a + m[:, None] * D + d[None, :])
    y = tl.load(b + d[:, None] * N + n[None, :])
    z = tl.load(c + m[:, None] * D + d[None, :])
    p = tl.dot(x, y).to(tl.float16)
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(tl.trans(z), p))


# CHECK: wgmma.mma_async
# HOPPER-NOT: st.shared.b32
# HOPPER-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16
# CHECK: wgmma.mma_async
# OLD-NOT: stmatrix
