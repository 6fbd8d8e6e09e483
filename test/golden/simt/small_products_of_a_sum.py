"""Products too small for all warps to meet ahead of them take instructions of one warp, also where another product has chosen the layout that they share. Their factors, of which a thread has less than four bytes, are copied ahead by some of the threads."""
# RUN: tegula compile %s::gradient --signature 'q=*f16:16,k=*f16:16,v=*f16:16,d=*f16:16,o=*f32:16,n=i32' --target sm_90a --num-warps 8 --num-stages 3 --emit ptx -o - | FileCheck %s
import triton
import triton.language as tl


# CHECK-NOT: wgmma
# CHECK: cp.async.cg.shared.global {{.*}}, 16
# CHECK-COUNT-3: mma.sync.aligned.m16n8k16
# CHECK-NOT: wgmma
@triton.jit
def gradient(q, k, v, d, o, n):
    place, row, step = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 16)
    at = row[:, None] * 16 + place[None, :]
    queries, changes = tl.load(q + at), tl.load(d + at)
    total = tl.zeros([64, 16], tl.float32)
    for s in range(0, n, 16):
        here = (s + step)[:, None] * 16 + place[None, :]
        keys, values = tl.load(k + here), tl.load(v + here)
        change = tl.exp2(tl.dot(queries, keys.T)) * tl.dot(changes, values.T)
        total += tl.dot(change.to(tl.float16), keys)
    tl.store(o + at, total)
