"""The points of a stencil, whose masks admit no wide accesses, lie as they are loaded: none is moved to the runs of the store."""
# RUN: tegula compile %s::five_points --signature 'u=*f32:16,out=*f32:16,H=i32:16,W=i32:16' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::three_points --signature 'u=*f32:16,out=*f32:16,n=i32:16' --target sm_90a --emit simt -o - | FileCheck %s
# RUN: tegula compile %s::one_point --signature 'u=*bf16:16,v=*bf16:16,w=*bf16:16,out=*bf16:16' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl

# CHECK-COUNT-2: tt.load {{.*}}simt.width = 1
# CHECK-NOT: simt.convert
# CHECK: tt.store


@triton.jit
def five_points(u, out, H, W):
    i = tl.program_id(1) * 16 + tl.arange(0, 16)[:, None]
    j = tl.program_id(0) * 64 + tl.arange(0, 64)[None, :]
    p = u + i * W + j
    inside = (i > 0) & (i < H - 1) & (j > 0) & (j < W - 1)
    beside = tl.load(p - 1, mask=inside) + tl.load(p + 1, mask=inside)
    above = tl.load(p - W, mask=inside) + tl.load(p + W, mask=inside)
    here = tl.load(p, mask=(i < H) & (j < W))
    tl.store(out + i * W + j, tl.where(inside, 0.25 * (beside + above), here), mask=(i < H) & (j < W))


@triton.jit
def three_points(u, out, n):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    left = tl.load(u + i - 1, mask=(i > 0) & (i < n))
    right = tl.load(u + i + 1, mask=i + 1 < n)
    tl.store(out + i, left + right, mask=i < n)


# One of several accesses that is narrow takes the elements of a thread's run one by one: neighbours find the rest of a sector in the cache.
# ONE: tt.load {{.*}}{simt.width = 1
# ONE-COUNT-2: tt.load {{.*}}{simt.width = 8
# ONE-NOT: simt.convert
# ONE: tt.store {{.*}}{simt.width = 8


@triton.jit
def one_point(u, v, w, out):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    tl.store(out + i, tl.load(u + i - 1, mask=i > 0) + tl.load(v + i) * tl.load(w + i))
