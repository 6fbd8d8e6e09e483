# RUN: tegula compile %s::poll --target sm_90a --emit simt --signature 'flag=*i32,out=*i32,n=i32' -o - | FileCheck %s --check-prefix=POLL
# RUN: tegula compile %s::poll --target sm_90a --emit ptx --signature 'flag=*i32,out=*i32,n=i32' -o - | FileCheck %s --check-prefix=PTX
# RUN: tegula compile %s::tiles --target sm_90a --emit ptx --signature 'x=*f16:16,out=*f16:16' -o - | FileCheck %s --check-prefix=TILES
# RUN: tegula compile %s::selected --target sm_90a --emit simt --signature 'a=*i32,b=*i32,c=*i32,n=i32' -o - | FileCheck %s --check-prefix=SELECTED
"""M21: one thread polls and tells the others; stores through a polled argument are volatile, each element an access."""
import triton
import triton.language as tl


# Each poll meets the others at the word in shared memory, also the one of the trip before.
# POLL: tt.store {{.*}}tt.volatile
# POLL: scf.while
# POLL: tt.load {{.*}}isVolatile, simt.scratch = 0
# POLL: tt.store
# POLL-NOT: tt.volatile
# POLL: tt.return

# PTX: @%p[[#FIRST:]] st.volatile.global.b32
# PTX: @%p[[#FIRST]] ld.volatile.global.b32
# PTX: st.shared.b32
# PTX: bar.sync
# PTX: ld.shared.b32
# PTX: st.global.b32
@triton.jit
def poll(flag, out, n):
    tl.store(flag, n)
    while tl.load(flag + 1, volatile=True) == 0:
        n += 1
    tl.store(out, n)


# TILES-NOT: ld.volatile.global.v
# TILES-NOT: ld.volatile.global.b32
# TILES: ld.volatile.global.b16
# TILES: st.global.v4.b32
@triton.jit
def tiles(x, out):
    i = tl.arange(0, 1024)
    tl.store(out + i, tl.load(x + i, volatile=True))


# A select may pick the polled argument.
# SELECTED: tt.store {{.*}}tt.volatile
# SELECTED: tt.store
# SELECTED-NOT: tt.volatile
# SELECTED: tt.return
@triton.jit
def selected(a, b, c, n):
    tl.store(tl.where(n > 3, a, b), n)
    tl.store(c, tl.load(a, volatile=True))
