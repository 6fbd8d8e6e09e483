"""Accesses that nothing makes wide: neighbours are accessed by neighbouring lanes, so that sectors of memory fill at once, and few lines are asked for."""
# RUN: tegula compile %s::pairs --signature 'x=*f32:16,out=*f32:16,B=4096' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=PAIRS
# RUN: tegula compile %s::keep --signature 'x=*i8:16,out=*i64:16,B=4096' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=KEEP
# RUN: tegula compile %s::pack --signature 'x=*i32:16,out=*i8:16,B=4096' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=PACK
# RUN: tegula compile %s::add --signature 'x=*f32:16,out=*f32:16,B=4096' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ADD
# RUN: tegula compile %s::turned --signature 'x=*f16:16,out=*f16:16' --num-warps 8 --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=TURNED
# RUN: tegula compile %s::far --signature 'x=*f32:16,out=*f32:16,B=4096' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FAR
import triton
import triton.language as tl


# PAIRS: [[LANES:#layout[0-9]*]] = #simt.layout<"{{.*}} lane=[(1),(2),(4),(8),(16)]
# PAIRS: tt.load {{.*}}simt.width = 4
# PAIRS: simt.convert {{.*}}[[LANES]]>
# PAIRS: tt.store {{.*}}[[LANES]]>
@triton.jit
def pairs(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + 2 * i, tl.load(x + i))


# Places that running sums give are next to each other, too.
# KEEP: [[LANES:#layout[0-9]*]] = #simt.layout<"{{.*}} lane=[(1),(2),(4),(8),(16)]
# KEEP: tt.scan
# KEEP: simt.convert {{.*}}[[LANES]]>
# KEEP: tt.store {{.*}}[[LANES]]>
@triton.jit
def keep(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    flag = tl.load(x + i) != 0
    tl.store(out + tl.cumsum(flag.to(tl.int32), 0) * 2 - 2, i.to(tl.int64), mask=flag)


# Elements a sector apart are stored one by one in any order.
# FAR: tt.load
# FAR-NOT: simt.convert
# FAR: tt.store
@triton.jit
def far(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + 8 * i, tl.load(x + i))


# So are atomic steps.
# ADD: [[LANES:#layout[0-9]*]] = #simt.layout<"{{.*}} lane=[(1),(2),(4),(8),(16)]
# ADD: simt.convert {{.*}}[[LANES]]>
# ADD: tt.atomic_rmw {{.*}}[[LANES]]>
@triton.jit
def add(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(out + 2 * i, tl.load(x + i))


# Of two that take turns a lane loads a pair.
# PACK: [[LANES:#layout[0-9]*]] = #simt.layout<"{{.*}} lane=[(1),(2),(4),(8),(16)]
# PACK: simt.load_pairs 1 at {{.*}}[[LANES]]>
# PACK: simt.convert
# PACK: tt.store {{.*}}simt.width = 16
@triton.jit
def pack(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, ((tl.load(x + 2 * i) & 15) | (tl.load(x + 2 * i + 1) << 4)).to(tl.int8))


# Elements that lie next to each other in memory are stored by one instruction, also where each thread holds one of them.
# TURNED-DAG: [[ALONG:#layout[0-9]*]] = {{.*}}[2x128] register=[] lane=[(0,1),(0,2),(0,4),(0,8),(0,16)]
# TURNED-DAG: [[DOWN:#layout[0-9]*]] = {{.*}}[2x128] register=[] lane=[(1,0),(0,1),(0,2),(0,4),(0,8)]
# TURNED: tt.load {{.*}}[[ALONG]]>
# TURNED: tt.store {{.*}}[[DOWN]]>
# TURNED: tt.store {{.*}}[[ALONG]]>
@triton.jit
def turned(x, out):
    rows, cols = tl.program_id(0) * 2 + tl.arange(0, 2), tl.arange(0, 128)
    a = tl.load(x + rows[:, None] * 128 + cols[None, :])
    tl.store(out + cols[None, :] * 4096 + rows[:, None], a)
    tl.store(x + rows[:, None] * 128 + cols[None, :], a + 1)
