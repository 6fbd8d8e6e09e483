"""A factor from ahead of a loop is read from shared memory in each trip where what the trip computes leaves it no registers, though what
the loop carries would: two products of a gradient of queries are there at once. With fewer rows it stays in registers."""
# RUN: tegula compile %s::gradient --signature 'q=*f16:16,do=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,ROWS=128' --num-warps 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=CROWDED
# RUN: tegula compile %s::gradient --signature 'q=*f16:16,do=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,ROWS=64' --num-warps 2 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ROOM
import triton
import triton.language as tl


# CROWDED: scf.for
# CROWDED: simt.local_load {{.*}} -> tensor<128x32xf16
# CROWDED: scf.yield
# ROOM: scf.for
# ROOM-NOT: simt.local_load {{.*}} -> tensor<64x32xf16
# ROOM: scf.yield
@triton.jit
def gradient(q, do, k, v, out, ROWS: tl.constexpr):
    m, n, d = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, 32), tl.arange(0, 32)
    rows = m[:, None] * 32 + d[None, :]
    x, y = tl.load(q + rows), tl.load(do + rows)
    total = tl.zeros([ROWS, 32], tl.float32)
    for start in range(0, 512, 32):
        columns = (start + n)[:, None] * 32 + d[None, :]
        keys = tl.load(k + columns)
        p = tl.exp2(tl.dot(x, tl.trans(keys)))
        dp = tl.dot(y, tl.trans(tl.load(v + columns)))
        total = tl.dot((p * (dp - 1)).to(tl.float16), keys, total)
    tl.store(out + rows, total)
