"""A product of a batch of one, as Helion writes it: what is loaded is copied to where the instruction reads it, and the sum lies as the product leaves it, also in the trips and behind them."""
# RUN: tegula compile %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f16:16,n=i32:16' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::multiply --signature 'q=*f16:16,k=*f16:16,o=*f16:16,n=i32:16' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s
import triton
import triton.language as tl

# CHECK: scf.for
# CHECK-NOT: {{simt.convert .* by <shared|simt.local_store}}
# CHECK: scf.yield


@triton.jit
def attend(q, k, v, o, n):
    b, m, d, j = tl.program_id(0) + tl.arange(0, 1), tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 64)
    rows = b[:, None, None] * n * 64 + m[None, :, None] * 64 + d[None, None, :]
    x = tl.load(q + rows)
    acc, total = tl.zeros((1, 128, 64), tl.float32), tl.full((1, 128), 1.0, tl.float32)
    for i in range(0, n, 64):
        y = tl.load(k + b[:, None, None] * n * 64 + d[None, :, None] + (i + j)[None, None, :] * 64)
        p = tl.exp2(tl.reshape(tl.dot(tl.reshape(x, (128, 64)), tl.reshape(y, (64, 64))), (1, 128, 64)))
        z = tl.load(v + b[:, None, None] * n * 64 + (i + j)[None, :, None] * 64 + d[None, None, :])
        total += tl.sum(p, 2)
        acc = tl.reshape(tl.dot(tl.reshape(p.to(tl.float16), (128, 64)), tl.reshape(z, (64, 64)),
                                acc=tl.reshape(acc * 0.5, (128, 64))), (1, 128, 64))
    tl.store(o + rows, (acc / total[:, :, None]).to(tl.float16))


@triton.jit
def multiply(q, k, o, n):
    b, m, d, j = tl.program_id(0) + tl.arange(0, 1), tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((1, 128, 64), tl.float32)
    for i in range(0, n, 64):
        x = tl.load(q + b[:, None, None] * n * 128 + m[None, :, None] * n + (i + j)[None, None, :])
        y = tl.load(k + b[:, None, None] * n * 64 + (i + j)[None, :, None] * 64 + d[None, None, :])
        acc = tl.reshape(tl.dot(tl.reshape(x, (128, 64)), tl.reshape(y, (64, 64)), acc=tl.reshape(acc, (128, 64))), (1, 128, 64))
    tl.store(o + b[:, None, None] * n * 128 + m[None, :, None] * 64 + d[None, None, :], acc.to(tl.float16))
