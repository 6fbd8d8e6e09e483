"""A tile that a loop keeps and reduces lies so that few lanes share a result, and the lines that it is multiplied by are loaded as it lies."""
# RUN: tegula compile %s::kept --signature 'q=*f32:16,k=*f32:16,v=*f32:16,first=*f32:16,out=*f32:16,T=i32,K=128,V=16,STATE=0' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::kept --signature 'q=*f32:16,k=*f32:16,v=*f32:16,first=*f32:16,out=*f32:16,T=i32,K=128,V=16,STATE=1' --num-warps 4 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FIRST
# RUN: tegula compile %s::kept --signature 'q=*bf16:16,k=*bf16:16,v=*bf16:16,first=*f32:16,out=*f32:16,T=i32,K=16,V=64,STATE=0' --num-warps 1 --target sm_90a --emit ptx -o - | FileCheck %s --check-prefix=THREADS
import triton
import triton.language as tl


# No warp shares a result with another one, and nothing goes through shared memory.
# CHECK-DAG: [[KEPT:#layout[0-9]*]] = {{.*}}[128x16] {{.*}} warp=[(0,{{[0-9]+}}),(0,{{[0-9]+}})]
# CHECK-DAG: [[LINE:#layout[0-9]*]] = {{.*}}[128] register=[(1),(2){{.*}} warp=[(0),(0)]
# CHECK: simt.shared_bytes = 0 :
# CHECK: tt.load {{.*}}simt.width = 4{{.*}} -> tensor<128xf32, [[LINE]]>
# CHECK-NOT: simt.convert
# CHECK: } : (tensor<128x16xf32, [[KEPT]]>)
# CHECK-NOT: simt.convert
# CHECK: scf.yield
# What is loaded once is brought there once.
# FIRST: [[KEPT:#layout[0-9]*]] = {{.*}}[128x16] {{.*}} warp=[(0,{{[0-9]+}}),(0,{{[0-9]+}})]
# FIRST: simt.convert {{.*}} -> tensor<128x16xf32, [[KEPT]]>
# FIRST: scf.for
# FIRST-NOT: simt.convert
# FIRST: scf.yield
# Threads hold whole columns where there are enough of them.
# THREADS-NOT: shfl
@triton.jit
def kept(q, k, v, first, out, T, K: tl.constexpr, V: tl.constexpr, STATE: tl.constexpr):
    i, j = tl.arange(0, K), tl.arange(0, V)
    state = tl.load(first + i[:, None] * V + j[None, :]) if STATE else tl.zeros((K, V), tl.float32)
    for t in range(0, T):
        state += tl.load(k + t * K + i).to(tl.float32)[:, None] * tl.load(v + t * V + j).to(tl.float32)[None, :]
        tl.store(out + t * V + j, tl.sum(state * tl.load(q + t * K + i).to(tl.float32)[:, None], 0))
