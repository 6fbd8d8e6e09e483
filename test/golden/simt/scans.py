# RUN: tegula compile %s::line --target sm_90a --emit ptx --num-warps 1 --signature 'x=*f32:16,BLOCK=128' | FileCheck %s --check-prefix=WARP
# RUN: tegula compile %s::line --target sm_90a --emit ptx --num-warps 4 --signature 'x=*f32:16,BLOCK=512' | FileCheck %s --check-prefix=WARPS
# RUN: tegula compile %s::columns --target sm_90a --emit ptx --num-warps 1 --signature 'x=*f32:16' | FileCheck %s --check-prefix=THREAD
# RUN: tegula explain %s::line --target sm_90a --num-warps 4 --signature 'x=*f32:16,BLOCK=1024' | FileCheck %s --check-prefix=STEPS
# STEPS: scan: 4 registers, then 32 lanes in 5 shuffles, then 4 warps through 32 bytes of shared memory, then 2 registers
# Scans: registers one by one, lanes by five shuffles and one to the neighbour, warps by one trip.
import tegula.language as tl
from tegula import jit


@jit
def line(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.cumsum(tl.load(x + i), axis=0))


# WARP: ld.global.v4.b32
# WARP-NOT: shared
# WARP-COUNT-3: add.{{.*}}f32
# WARP-COUNT-6: shfl.sync.idx
# WARP-NOT: shfl
# WARP-NOT: shared
# WARP: st.global.v4.b32
# WARPS: ld.global.v4.b32
# WARPS-COUNT-6: shfl.sync.idx
# WARPS: st.shared.b32
# WARPS: bar.sync
# WARPS: ld.shared.v4.b32
# WARPS-NOT: bar.sync
# WARPS: st.global.v4.b32


@jit
def columns(x):
    """Each thread has whole columns."""
    i = tl.arange(0, 8)[:, None] * 128 + tl.arange(0, 128)[None, :]
    tl.store(x + i, tl.cumsum(tl.load(x + i), axis=0))


# THREAD-NOT: shfl
# THREAD-NOT: shared


# A thread's elements that lie apart, in 32 pieces, are brought together first.
# RUN: tegula explain %s::line --target sm_90a --num-warps 4 --signature 'x=*f32,BLOCK=4096' | FileCheck %s --check-prefix=PIECES
# PIECES: convert: through {{.*}} shared memory
# PIECES: scan: 32 registers, then 32 lanes in 5 shuffles, then 4 warps
# PIECES: convert: through {{.*}} shared memory


# Of a scan along the slow dimension of a loaded tile each thread has neighbours, and each warp rows of its own: warps exchange
# totals of their rows only.
# RUN: tegula explain %s::rows --target sm_90a --num-warps 4 --signature 'x=*f32:16' | FileCheck %s --check-prefix=ROWS
# ROWS: scan: 32 registers, then 4 warps through 2048 bytes of shared memory
@jit
def rows(x):
    i = tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    tl.store(x + i, tl.cumsum(tl.load(x + i), axis=0))

# Each warp reads only the totals of those before it, if its threads have several columns.
# RUN: tegula compile %s::within_chunks --target sm_90a --emit ptx --num-warps 8 --signature 'x=*bf16:16,y=*f32:16' | FileCheck %s --check-prefix=BEFORE
# BEFORE: bar.sync
# BEFORE: bra
# BEFORE: ld.shared.v4.b32
# BEFORE-NEXT: ld.shared.v4.b32
# BEFORE: bra
# BEFORE: ld.shared.v4.b32
# BEFORE-NEXT: ld.shared.v4.b32
# BEFORE: bra
@jit
def within_chunks(x, y):
    i = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(y + i, tl.cumsum(tl.load(x + i).to(tl.float32), axis=0))
