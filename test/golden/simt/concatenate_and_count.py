# RUN: tegula compile %s::halves --target sm_90a --emit ptx --num-warps 1 --signature 'x=*f32:16,out=*f32:16,BLOCK=256' | FileCheck %s --check-prefix=HALVES
# RUN: tegula compile %s::halves --target sm_90a --emit ptx --num-warps 1 --signature 'x=*f32:16,out=*f32:16,BLOCK=96' | FileCheck %s --check-prefix=SHARED
# RUN: tegula compile %s::bins --target sm_80 --emit ptx --signature 'x=*i32:16,out=*i32:16' | FileCheck %s --check-prefix=BINS
# RUN: tegula compile %s::assembly --target sm_80 --emit ptx --signature 'x=*i32:16' | FileCheck %s --check-prefix=ASM
# Equal halves of a power of two are a renaming of registers; others go through shared memory. Bins are counted in
# shared memory. Inline assembly is the text on each element, or on packs of them.
import tegula.language as tl
from tegula import jit


@jit
def halves(x, out, BLOCK: tl.constexpr):
    """The threads that loaded the halves reduce both."""
    i = tl.arange(0, BLOCK)
    both = tl.cat(tl.load(x + i), tl.load(x + BLOCK + i))
    tl.store(out, tl.max(both, axis=0))


# HALVES-NOT: st.shared
# HALVES: shfl
# HALVES-NOT: st.shared
# SHARED: st.shared
# SHARED: bar.warp.sync
# SHARED: ld.shared
# SHARED: shfl


@jit
def bins(x, out):
    tl.store(out + tl.arange(0, 64), tl.histogram(tl.load(x + tl.arange(0, 512)), 64))


# BINS: st.shared.b32
# BINS: bar.sync
# BINS-COUNT-4: red.relaxed.cta.shared.add.u32
# BINS: bar.sync
# BINS: ld.shared


@jit
def assembly(x):
    i = tl.arange(0, 256)
    y = tl.inline_asm_elementwise("brev.b32 $0, $1;", "=r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + i, y)


# ASM-COUNT-2: brev.b32
# ASM-NOT: brev
