"""Boxes that fill what a conversion used, in the next trip of a loop over tiles: the fence between the two stands ahead of the trip's stores, which it would wait for."""
# RUN: tegula compile %s::walk --signature 'a=*f16:16,b=*f16:16,c=*f16:16,M=i32,N=i32:16,K=i32:16' --target sm_90a --num-warps 8 --emit simt -o - | FileCheck %s
import triton
import triton.language as tl


# Two versions of the loop of products: nothing starts early, and the conversion's memory is that of the slots.
# CHECK-LABEL: tt.func @walk
# CHECK: scf.for
# CHECK: scf.if
# CHECK: simt.signal_init
# CHECK: simt.barrier{{$}}
# CHECK-NOT: simt.barrier
# CHECK: simt.bulk_copy
# CHECK: scf.for
# CHECK: } else {
# CHECK: simt.convert
# CHECK-NEXT: simt.barrier {fence}
# CHECK-NOT: simt.barrier
# CHECK: tt.store
# CHECK-NOT: simt.barrier
# CHECK: tt.return
@triton.jit
def walk(a, b, c, M, N, K):
    k = tl.arange(0, 64)
    for tile in range(tl.program_id(0), tl.cdiv(M, 128) * tl.cdiv(N, 256), tl.num_programs(0)):
        m, n = tile // tl.cdiv(N, 256) * 128 + tl.arange(0, 128), tile % tl.cdiv(N, 256) * 256 + tl.arange(0, 256)
        rows, columns = tl.minimum(m, M - 1), tl.where(n < N, n, 0)
        acc = tl.zeros([128, 256], tl.float32)
        for start in range(0, K, 64):
            x = tl.load(a + rows[:, None] * K + (start + k)[None, :], mask=(start + k)[None, :] < K, other=0.0)
            y = tl.load(b + (start + k)[:, None] * N + columns[None, :], mask=(start + k)[:, None] < K, other=0.0)
            acc = tl.dot(x, y, acc)
        tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])
