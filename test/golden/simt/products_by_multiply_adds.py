"""Factors of multiply-adds are copied ahead, and read from shared memory by each product itself, four at a time."""
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,sa=i32:16,sb=i32:16,TA=False,TB=False' --target sm_90a --options num_warps=8,num_stages=2 --emit simt | FileCheck %s
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,sa=i32:16,sb=i32:16,TA=False,TB=False' --target sm_90a --options num_warps=8,num_stages=2 --emit ptx | FileCheck %s --check-prefix WIDE
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,sa=i32:16,sb=i32:16,TA=True,TB=False' --target sm_90a --options num_warps=8,num_stages=2 --emit ptx | FileCheck %s --check-prefix WIDE
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,sa=i32:16,sb=i32:16,TA=False,TB=True' --target sm_90a --options num_warps=8,num_stages=2 --emit ptx | FileCheck %s --check-prefix WIDE
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,sa=i32:16,sb=i32:16,TA=True,TB=True' --target sm_90a --options num_warps=8,num_stages=2 --emit ptx | FileCheck %s --check-prefix WIDE
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,sa=i32,sb=i32,TA=False,TB=True' --target sm_90a --options num_warps=8,num_stages=2 --emit ptx | FileCheck %s --check-prefix TWICE_WIDE
# RUN: tegula compile %s::product --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16,sa=i32:16,sb=i32:16,TA=False,TB=False' --target sm_75 --options num_warps=8 --emit ptx | FileCheck %s --check-prefix WIDE
# RUN: tegula compile %s::computed --signature 'a=*f32:16,b=*f32:16,c=*f32:16,K=i32:16' --target sm_90a --emit simt | FileCheck %s --check-prefix COMPUTED
# RUN: tegula compile %s::twice --signature 'a=*f32:16,b=*f32:16,c=*f32:16' --target sm_90a --emit simt | FileCheck %s --check-prefix TWICE
import triton
import triton.language as tl


# A thread has 4x4 neighbours of the result; the lanes next to it share columns, those behind them rows.
# CHECK: #[[SUM:layout[0-9]*]] = #simt.layout<"dot<4x4 warps=8> [64x64] register=[(0,1),(0,2),(1,0),(2,0)] lane=[(4,0),(0,4),(0,8),(0,16),(8,0)]
# CHECK-DAG: simt.alloc {{.*}} : <64x16xf32, #shared{{[0-9]*}}, 2>
# CHECK-DAG: simt.alloc {{.*}} : <16x64xf32, #shared{{[0-9]*}}, 2>
# CHECK: scf.for
# CHECK-COUNT-1: simt.barrier
# CHECK-COUNT-2: simt.local_load
# CHECK-NEXT: tt.dot {{.*}} tensor<64x64xf32, #[[SUM]]>
# CHECK-NOT: simt.barrier
# CHECK: scf.yield

# Of each factor a thread wants 4 x 16 elements a trip.
# WIDE-NOT: ld.shared.b32
# WIDE-COUNT-32: ld.shared.v4.b32
# WIDE-NOT: ld.shared

# In the loop for strides that are multiples of 16 bytes, and in that for others.
# TWICE_WIDE-NOT: ld.shared.b32
# TWICE_WIDE-COUNT-64: ld.shared.v4.b32
# TWICE_WIDE-NOT: ld.shared


@triton.jit
def product(a, b, c, K, sa, sb, TA: tl.constexpr, TB: tl.constexpr):
    m, n, kk = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 16)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, K, 16):
        k = start + kk
        x = tl.load(a + (k[None, :] * sa + m[:, None] if TA else m[:, None] * sa + k[None, :]))
        y = tl.load(b + (n[None, :] * sb + k[:, None] if TB else k[:, None] * sb + n[None, :]))
        acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + m[:, None] * 64 + n[None, :], acc)


# A factor that the trip computes is stored ahead of the barrier behind which both factors are read.
# COMPUTED: scf.for
# COMPUTED: simt.local_store
# COMPUTED: simt.barrier
# COMPUTED-COUNT-2: simt.local_load
# COMPUTED-NEXT: tt.dot
# COMPUTED: scf.yield
@triton.jit
def computed(a, b, c, K):
    m, kk = tl.arange(0, 32), tl.arange(0, 32)
    acc = tl.zeros([32, 32], tl.float32)
    for start in range(0, K, 32):
        x = tl.exp(tl.load(a + m[:, None] * K + (start + kk)[None, :]))
        y = tl.load(b + (start + kk)[:, None] * 32 + m[None, :])
        acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + m[:, None] * 32 + m[None, :], acc)


# Each product reads a factor of several products for itself.
# TWICE: simt.barrier
# TWICE-COUNT-2: simt.local_load
# TWICE: tt.dot
# TWICE-COUNT-2: simt.local_load
# TWICE-NEXT: tt.dot
@triton.jit
def twice(a, b, c):
    m = tl.arange(0, 32)
    x = tl.load(a + m[:, None] * 32 + m[None, :])
    square = tl.dot(x, tl.trans(x), input_precision="ieee")
    tl.store(b + m[:, None] * 32 + m[None, :], square)
    tl.store(c + m[:, None] * 32 + m[None, :], tl.dot(x, x, input_precision="ieee"))
