"""A vector that is cast behind `[None, :]` is loaded as the tile beside it wants it, like one that is cast ahead of it: no exchange."""
# RUN: tegula compile %s::scaled --signature 'x=*f32:16,w=*bf16:16,y=*f32:16,n=i32,FORM=0' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::scaled --signature 'x=*f32:16,w=*bf16:16,y=*f32:16,n=i32,FORM=1' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::scaled --signature 'x=*f32:16,w=*bf16:16,y=*f32:16,n=i32,FORM=2' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-NOT: simt.convert
# CHECK: tt.load {{.*}}simt.width = 4 : i32} : tensor<256x!tt.ptr<bf16>
# CHECK-NOT: simt.convert
# CHECK: return
@triton.jit
def scaled(x, w, y, n, FORM: tl.constexpr):
    r, c = tl.arange(0, 16), tl.arange(0, 256)
    acc = tl.zeros((16, 256), tl.float32)
    for k in range(n):
        row = tl.load(w + k * 256 + c)
        if FORM == 0:
            row = row.to(tl.float32)[None, :]
        elif FORM == 1:
            row = row[None, :].to(tl.float32)
        else:
            row = row[None, :]
        acc += tl.load(x + (k + r[:, None]) * 256 + c[None, :]) * row
    tl.store(y + r[:, None] * 256 + c[None, :], acc)
