# RUN: tegula compile %s::columns --target sm_90a --num-warps 1 --emit simt --signature 'x=*f32:16,places=*i32:16,out=*f32:16,R=32,N=64' | FileCheck %s --check-prefix=LONG
# RUN: tegula compile %s::columns --target sm_90a --num-warps 1 --emit simt --signature 'x=*f32:16,places=*i32:16,out=*f32:16,R=64,N=8' | FileCheck %s --check-prefix=SHORT
# RUN: tegula compile %s::lanes --target sm_90a --num-warps 4 --emit ptx --signature 'x=*f16:16,out=*f16:16,R=16,N=128' | FileCheck %s --check-prefix=LANES
# RUN: tegula compile %s::one_bank --target sm_90a --num-warps 4 --emit ptx --signature 'x=*f32:16,out=*f32:16,R=4,N=2048' | FileCheck %s --check-prefix=BANK
# RUN: tegula compile %s::one_bank --target sm_90a --num-warps 4 --emit simt --signature 'x=*f32:16,out=*f32:16,R=4,N=2048' | FileCheck %s --check-prefix=MIXED
# Rows that are gathered from shared memory lie 16 bytes apart where they are as long as half of its banks or longer: lanes that
# read one column of several rows do not wait for each other.
import tegula.language as tl
from tegula import jit


@jit
def columns(x, places, out, R: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :]
    index = tl.broadcast_to(tl.load(places + tl.arange(0, N))[None, :], (R, N))
    tl.store(out + at, tl.gather(tl.load(x + at), index, 1))


# LONG: simt.shared_bytes = 8704
# SHORT: simt.shared_bytes = 2048


# Lanes hand each other what they gather, where the lowest bits of an index, which every lane's have, say in which
# register it is: one shuffle an element.
# LANES-NOT: shared
# LANES-COUNT-16: shfl.sync.idx
# LANES-NOT: shfl
# LANES-NOT: shared
# LANES: ret;
@jit
def lanes(x, out, R: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :]
    index = tl.broadcast_to(((tl.arange(0, N) * 7 + 3) % N)[None, :], (R, N))
    tl.store(out + at, tl.gather(tl.load(x + at).to(tl.float32), index, 1))


# Lanes that have low bits of an index in common would all read one bank: words of the source are mixed, each row of banks by its
# number. They are stored one by one then, and rows need not lie apart.
# MIXED: simt.shared_bytes = 32768
# BANK-COUNT-64: st.shared.b32
# BANK-NOT: st.shared
# BANK: xor.b32
# BANK: ret;
@jit
def one_bank(x, out, R: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :]
    index = tl.broadcast_to(((tl.arange(0, N) * 7 + 3) % N)[None, :], (R, N))
    tl.store(out + at, tl.gather(tl.load(x + at), index, 1))
