# RUN: tegula compile %s::shrink --target sm_90a --num-warps 8 --emit ptx --signature 'x=*bf16:16,out=*i8:16,BLOCK=8192' | FileCheck %s --check-prefix=SHRINK
# RUN: tegula compile %s::step --target sm_90a --num-warps 4 --emit ptx --signature 'p=*bf16:16,m=*f32:16,BLOCK=1024' | FileCheck %s --check-prefix=STEP
# RUN: tegula compile %s::scale --target sm_90a --num-warps 8 --emit ptx --signature 'x=*bf16:16,by=*f32:16,out=*bf16:16,ROWS=32,COLUMNS=64' | FileCheck %s --check-prefix=SCALE
# Elements of several sizes in one layout: a thread has as many neighbours as its narrowest elements fill an access. The
# wide ones are loaded as they lie, several accesses for a run, since the cache has what the first one leaves; stores move
# through shared memory.
import tegula.language as tl
from tegula import jit


@jit
def shrink(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.int8))


# SHRINK-COUNT-4: ld.global.v4.b32
# SHRINK-NOT: shared.v
# SHRINK-COUNT-2: st.global.v4.b32


@jit
def step(p, m, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    moment = tl.load(m + i) * 0.5 + tl.load(p + i).to(tl.float32)
    tl.store(m + i, moment)
    tl.store(p + i, moment.to(tl.bfloat16))


# STEP-COUNT-3: ld.global.v4.b32
# STEP-NOT: ld.global
# STEP-COUNT-3: st.global.v4.b32
# STEP-NOT: st.global


@jit
def scale(x, by, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, tl.load(x + at) * tl.load(by + tl.arange(0, COLUMNS))[None, :])


# A row that all rows are multiplied by is loaded in their layout.
# SCALE-NOT: shared.v
# SCALE-NOT: bar.sync
# SCALE-COUNT-3: ld.global.v4.b32
