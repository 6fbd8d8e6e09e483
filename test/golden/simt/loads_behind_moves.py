"""A small tile behind a reshape, a transposition, a join or a split is loaded in the layout in which those move nothing: a trip exchanges nothing and meets no barrier."""
# RUN: tegula compile %s::columns --signature 'a=*bf16:16,b=*bf16:16,c=*f32:16,n=i32,FORM=0' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::columns --signature 'a=*bf16:16,b=*bf16:16,c=*f32:16,n=i32,FORM=1' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::columns --signature 'a=*bf16:16,b=*bf16:16,c=*f32:16,n=i32,FORM=2' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::columns --signature 'a=*bf16:16,b=*bf16:16,c=*f32:16,n=i32,FORM=3' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::groups --signature 'x=*bf16:16,s=*f32:16,y=*f32:16,n=i32,FORM=0' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::groups --signature 'x=*bf16:16,s=*f32:16,y=*f32:16,n=i32,FORM=1' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::groups --signature 'x=*bf16:16,s=*f32:16,y=*f32:16,n=i32,FORM=2' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::groups --signature 'x=*bf16:16,s=*f32:16,y=*f32:16,n=i32,FORM=3' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::halves --signature 'x=*f32:16,s=*f32:16,y=*f32:16,n=i32,FORM=0' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::halves --signature 'x=*f32:16,s=*f32:16,y=*f32:16,n=i32,FORM=1' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::halves --signature 'x=*f32:16,s=*f32:16,y=*f32:16,n=i32,FORM=2' --target sm_90a --emit simt -o - | FileCheck %s
import triton
import triton.language as tl

# CHECK: scf.for
# CHECK-NOT: {{simt.convert .* by <(shared|shuffle)|simt.barrier}}
# CHECK: scf.yield


@triton.jit
def columns(a, b, c, n, FORM: tl.constexpr):
    k, m = tl.arange(0, 512), tl.arange(0, 4)
    acc = tl.zeros((512, 4), tl.float32)
    for i in range(n):
        if FORM == 0:
            x = tl.load(a + i * 512 + k[None, :]).reshape((512, 1)).to(tl.float32)
        elif FORM == 1:
            x = tl.load(a + i * 512 + k[None, :]).trans().to(tl.float32)
        elif FORM == 2:
            x = tl.reshape(tl.load(a + i * 512 + k).to(tl.float32), (512, 1))
        else:
            x = tl.load(a + i * 512 + k).reshape((1, 512)).permute((1, 0)) * 2.0 + 1.0
        acc += x * tl.load(b + i * 512 + k[:, None] + m[None, :] * 4096).to(tl.float32)
    tl.store(c + m, tl.sum(acc, 0))


@triton.jit
def groups(x, s, y, n, FORM: tl.constexpr):
    g, k, flat = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 2048)
    acc = tl.zeros((64, 32), tl.float32)
    for i in range(n):
        scale = tl.load(s + i * 64 + g)
        if FORM == 0:
            acc += tl.load(x + i * 2048 + flat).reshape((64, 32)) * scale[:, None]
        elif FORM == 1:
            acc += (tl.load(x + i * 2048 + flat) * scale[:, None].broadcast_to((64, 32)).reshape((2048,))).reshape((64, 32))
        elif FORM == 2:
            acc += tl.load(x + i * 2048 + g[:, None] * 32 + k[None, :]) * scale[:, None]
        else:
            acc += (tl.load(x + i * 2048 + g[:, None] * 32 + k[None, :]).reshape((64, 8, 4)) * scale[:, None, None]).reshape((64, 32))
    tl.store(y + g[:, None] * 32 + k[None, :], acc)


@triton.jit
def halves(x, s, y, n, FORM: tl.constexpr):
    h, whole = tl.arange(0, 1024), tl.arange(0, 2048)
    acc = tl.zeros((1024,), tl.float32)
    for i in range(n):
        if FORM == 0:
            low, high = tl.split(tl.load(s + i * 2048 + whole).reshape((1024, 2)))
        elif FORM == 1:
            low, high = tl.split(tl.load(s + i * 2048 + whole).reshape((2, 1024)).trans())
        else:
            low, high = tl.split((tl.join(tl.load(s + i * 2048 + h), tl.load(s + i * 2048 + 1024 + h)).reshape((2048,)) * tl.load(x + whole)).reshape((1024, 2)))
        acc += low * tl.load(x + i * 1024 + h) + high
    tl.store(y + h, acc)
