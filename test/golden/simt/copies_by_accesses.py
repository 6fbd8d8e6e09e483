"""An f32 tile that a factor of 16 bits is computed from lies with it in runs of eight, of which an access of a copy brings four: its copies
have lanes of their own, with neighbouring accesses in neighbouring lanes, since copies of the others would ask twice for each sector.
So do the copies of a tile that lies as a product gives its result, in pairs: they move four elements at once, of whole lines."""
# RUN: tegula compile %s::decayed --signature 'k=*bf16:16,v=*bf16:16,g=*f32:16,at=*i32:16,out=*f32:16,n=i32,SCATTERED=False' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=OWN
# RUN: tegula compile %s::decayed --signature 'k=*bf16:16,v=*bf16:16,g=*f32:16,at=*i32:16,out=*f32:16,n=i32,SCATTERED=True' --target sm_90a --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=AS-IS
# RUN: tegula compile %s::biased --signature 'q=*f16:16,k=*f16:16,v=*f16:16,bias=*f32:16,out=*f32:16,n=i32:16' --target sm_90a --num-stages 2 --emit simt -o - | FileCheck %s --check-prefix=BIAS
import triton
import triton.language as tl


# Sixteen lanes for the 64 elements of a line; where rows come from memory the addresses stay as they are.
# OWN-DAG: #[[WIDE:layout[0-9]*]] = #simt.layout<"{{.*}}[64x64] register=[(0,1),(0,2),{{.*}} lane=[(0,4),(0,8),(0,16),(0,32),(1,0)]
# OWN: scf.for
# OWN: simt.async_copy {{.*}}{simt.width = 4 : i32} : tensor<64x64x!tt.ptr<f32>, #[[WIDE]]> mask tensor<64x64xi1, #[[WIDE]]>
# AS-IS-DAG: #[[EIGHT:layout[0-9]*]] = #simt.layout<"{{.*}}[64x64] register=[(0,1),(0,2),(0,4),{{.*}} lane=[(0,8),(0,16),(0,32),(1,0),(2,0)]
# AS-IS: scf.for
# AS-IS: simt.async_copy {{.*}}{simt.width = 4 : i32} : tensor<64x64x!tt.ptr<f32>, #[[EIGHT]]>
@triton.jit
def decayed(k, v, g, at, out, n, SCATTERED: tl.constexpr):
    key, value = tl.arange(0, 64), tl.arange(0, 64)
    total = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        t = start + tl.arange(0, 64)
        is_there = (t < n)[:, None]
        row = tl.load(at + t, mask=t < n, other=0) if SCATTERED else t
        gate = tl.load(g + key[None, :] + row[:, None] * 64, mask=is_there, other=0.0)
        factor = tl.load(k + key[None, :] + t[:, None] * 64, mask=is_there, other=0.0)
        factor = (factor * tl.exp2(gate)).to(k.dtype.element_ty)
        total = tl.dot(tl.load(v + t[None, :] * 64 + value[:, None], mask=(t < n)[None, :], other=0.0), factor, total)
    tl.store(out + value[:, None] * 64 + key[None, :], total)


# BIAS-DAG: #[[LINES:layout[0-9]*]] = #simt.layout<"{{.*}}[128x64] register=[(0,1),(0,2),{{.*}} lane=[(0,4),(0,8),(0,16),(0,32),(1,0)]
# BIAS: scf.for
# BIAS: simt.async_copy {{.*}}{simt.width = 4 : i32} : tensor<128x64x!tt.ptr<f32>, #[[LINES]]>
@triton.jit
def biased(q, k, v, bias, out, n):
    row, key, place = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 32)
    queries = tl.load(q + row[:, None] * 32 + place[None, :])
    total = tl.zeros([128, 32], tl.float32)
    for start in range(0, n, 64):
        at = start + key
        share = tl.dot(queries, tl.load(k + place[:, None] + at[None, :] * 32))
        share = tl.exp2(share + tl.load(bias + row[:, None] * n + at[None, :]))
        total = tl.dot(share.to(v.dtype.element_ty), tl.load(v + at[:, None] * 32 + place[None, :]), total)
    tl.store(out + row[:, None] * 32 + place[None, :], total)
