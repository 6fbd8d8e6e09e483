"""The second product of a trip runs until the next trip waits for its first: then its sums are scaled."""
# RUN: tegula compile %s::weighed --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,N=i32:16,D=128' --target sm_90a --num-warps 8 --emit simt -o - | FileCheck %s --check-prefix=RUNS
# RUN: tegula compile %s::weighed --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,N=i32:16,D=32' --target sm_90a --num-warps 8 --emit simt -o - | FileCheck %s --check-prefix=WAITS
import triton
import triton.language as tl

# Boxes come behind signals, the last group's first warp copies while the first product runs, and neither a barrier stands in the trip nor a turn: groups of warps come apart.
# Signals begin ahead of all loads: there the assembler would wait for those.
# RUNS-NOT: tt.load
# RUNS: simt.signal_init %[[FILLED:.+]] {arrivals = 8
# RUNS: simt.signal_init %[[EMPTY:.+]] {arrivals = 8
# RUNS: tt.load
# Its operand stays in its slot for a trip more.
# RUNS: simt.alloc {{.*}}<64x128xf16, #{{.*}}, 4>
# The operand from ahead of the loop is stored when the first trip's copies are under way: both are waited for together.
# RUNS: simt.bulk_copy
# Where boxes do not fit threads copy element by element, so that such copies take no registers of the loop.
# RUNS: simt.async_copy {{.*}} each {
# RUNS-NEXT: ^bb0(%[[ROW:.+]]: i32, %[[COLUMN:.+]]: i32):
# RUNS: tt.addptr %{{.+}}, %[[ROW]] : !tt.ptr<f16>, i32
# RUNS-NEXT: simt.element
# RUNS: simt.local_store
# RUNS: simt.barrier {fence}
# RUNS-NOT: _turn
# RUNS: scf.for
# RUNS-NOT: simt.barrier
# RUNS: simt.view %[[FILLED]]
# RUNS-NEXT: simt.signal_wait
# RUNS: %[[FIRST:.+]] = simt.dot_async
# RUNS: simt.view %[[EMPTY]]
# RUNS: simt.signal_wait {{.*}}{simt.signalled}
# RUNS: simt.signal_wait {{.*}}{simt.signalled, warp = 4
# RUNS: simt.signal_arrive {{.*}}{arrivals = 8 : i32, warp = 4
# RUNS: simt.async_copy
# RUNS: simt.dot_wait %[[FIRST]]
# RUNS-NEXT: simt.dot_wait %arg{{[0-9]+}} : tensor<128x128xf32
# RUNS: simt.signal_arrive_warps
# RUNS: %[[SECOND:.+]] = simt.dot_async
# RUNS-NOT: simt.dot_wait
# RUNS: simt.signal_arrive_warps {{.*}}{fence}
# RUNS: scf.yield {{.*}}%[[SECOND]]
# RUNS-NOT: _turn

# Copies by all threads meet at the trip's barrier: the turn lies around the first product.
# RUN: tegula compile %s::counted --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,count=*i32,N=i32:16,D=128' --target sm_90a --num-warps 8 --emit simt -o - | FileCheck %s --check-prefix=MEETS
# MEETS: simt.dot_wait {{.*}}pending 0 {simt.opens_turns = 4
# MEETS: scf.for
# MEETS: simt.barrier {fence}
# MEETS: simt.dot_async {{.*}}simt.takes_turn
# MEETS: simt.dot_async
# MEETS-NOT: _turn
# MEETS: scf.yield
# MEETS: simt.dot_wait {{.*}}pending 0 {simt.closes_turns = 4 : i32}

# Two groups of four warps come to each other's barrier.
# RUN: tegula compile %s::counted --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,count=*i32,N=i32:16,D=128' --target sm_90a --num-warps 8 --emit ptx -o - | FileCheck %s --check-prefix=TURNS
# RUN: tegula compile %s::counted --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,count=*i32,N=i32:16,D=128' --target sm_90a --num-warps 4 --emit ptx -o - | FileCheck %s --check-prefix=ALONE
# TURNS: bar.arrive{{.*}} 1, 256;
# TURNS: bar.sync{{.*}} %r{{[0-9]+}}, 256;
# TURNS-NOT: wgmma.wait_group
# TURNS: bar.arrive{{.*}} %r{{[0-9]+}}, 256;
# TURNS: bar.sync{{.*}} 1, 256;
# ALONE-NOT: bar.arrive

# Few sums leave room for another program on the multiprocessor, whose work runs beside.
# WAITS: simt.alloc {{.*}}<64x32xf16, #{{.*}}, 3>
# WAITS: scf.for
# WAITS: %[[FIRST:.+]] = simt.dot_async
# WAITS-NOT: tt.reduce
# WAITS: simt.dot_wait %[[FIRST]]
# WAITS: %[[SECOND:.+]] = simt.dot_async
# WAITS-NEXT: simt.dot_wait %[[SECOND]]
# WAITS: scf.yield


@triton.jit
def weighed(q, k, v, o, N, D: tl.constexpr):
    m, n, d = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    acc, total = tl.zeros([128, D], tl.float32), tl.zeros([128], tl.float32)
    for i in range(0, N, 64):
        y = tl.load(k + (i + n)[None, :] * D + d[:, None])
        z = tl.load(v + (i + n)[:, None] * D + d[None, :])
        s = tl.dot(x, y)
        total += tl.sum(s, 1)
        acc = tl.dot(s.to(tl.float16), z, acc * total[:, None])
    tl.store(o + m[:, None] * D + d[None, :], acc)


@triton.jit
def counted(q, k, v, o, count, N, D: tl.constexpr):
    """Boxes are read by another proxy than that of atomics."""
    weighed(q, k, v, o, N, D)
    tl.atomic_add(count, 1)
