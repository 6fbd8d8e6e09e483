# RUN: tegula compile %s::table --target sm_90a --num-warps 1 --emit simt --signature 'x=*bf16:16,words=*i32:16,lut=*f32:16,out=*f32:16,n=i32:16,K=2048' | FileCheck %s
# What a table gives for the numbers in words lies as the elements do that it is multiplied by, whatever it is reshaped to: no
# element is exchanged for another layout of either.
import tegula.language as tl
from tegula import jit


# CHECK-LABEL: tt.func @table
# CHECK: scf.for
# CHECK: tt.load {{.*}} {simt.width = 8 : i32}
# CHECK-NOT: simt.convert
# CHECK: tt.reduce
# CHECK: scf.yield
@jit
def table(x, words, lut, out, n, K: tl.constexpr):
    sums = tl.zeros([1, K // 64], tl.float32)
    word, part = tl.arange(0, K // 8), tl.arange(0, 8)
    for k in range(0, n, K):
        number = tl.load(words + k // 8 + word)
        element = tl.load(lut + ((number[None, :, None] >> (part * 4)[None, None, :]) & 15))
        factor = tl.load(x + k + word[:, None] * 8 + part[None, :]).to(tl.float32)
        sums += tl.sum(tl.reshape(element * factor[None, :, :], (1, K // 64, 64)), 2)
    tl.store(out + tl.arange(0, K // 64), tl.reshape(sums, (K // 64,)))
