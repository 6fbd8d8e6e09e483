"""A trip's second product runs into the next trip only where a thread's registers hold its factor as well; where they do not, slots leave room for a second program."""
# RUN: tegula explain %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,n=i32:16,M=128' --target sm_90a --num-warps 8 --num-stages 3 | FileCheck %s --check-prefix=EIGHT
# RUN: tegula compile %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,n=i32:16,M=128' --target sm_90a --num-warps 8 --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=RUNS
# RUN: tegula explain %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,n=i32:16,M=128' --target sm_90a --num-warps 4 --num-stages 3 | FileCheck %s --check-prefix=FOUR
# RUN: tegula compile %s::attend --signature 'q=*f16:16,k=*f16:16,v=*f16:16,o=*f32:16,n=i32:16,M=128' --target sm_90a --num-warps 4 --num-stages 3 --emit simt -o - | FileCheck %s --check-prefix=WAITS
import triton
import triton.language as tl


# EIGHT: 2 loads run 2 trips ahead
# RUNS: scf.for
# RUNS: simt.dot_wait %arg
# RUNS: scf.yield

# WAITS: scf.for
# WAITS-NOT: simt.dot_wait %arg
# WAITS: scf.yield
# FOUR: 2 loads run 1 trip ahead
@triton.jit
def attend(q, k, v, o, n, M: tl.constexpr):
    m, d, j = tl.arange(0, M), tl.arange(0, 128), tl.arange(0, 64)
    x = tl.load(q + m[:, None] * 128 + d[None, :])
    best, acc = tl.full([M], -float("inf"), tl.float32), tl.zeros([M, 128], tl.float32)
    for i in range(0, n, 64):
        s = tl.dot(x, tl.load(k + (i + j)[None, :] * 128 + d[:, None]))
        more = tl.maximum(best, tl.max(s, 1))
        acc = acc * tl.exp(best - more)[:, None]
        acc += tl.dot(tl.exp(s - more[:, None]).to(tl.float16), tl.load(v + (i + j)[:, None] * 128 + d[None, :]))
        best = more
    tl.store(o + m[:, None] * 128 + d[None, :], acc)
