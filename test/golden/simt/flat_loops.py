"""A loop over the trips of all tiles becomes a loop over tiles around one over their trips; loops that write in each trip stay."""
# RUN: tegula compile %s::flat --signature 'a=*f16:16,b=*f16:16,c=*f16:16,tiles=i32,trips=i32,KIND=0' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=NESTED
# RUN: tegula compile %s::flat --signature 'a=*f16:16,b=*f16:16,c=*f16:16,tiles=i32,trips=i32,KIND=1' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FLAT
# RUN: tegula compile %s::flat --signature 'a=*f16:16,b=*f16:16,c=*f16:16,tiles=i32,trips=i32,KIND=2' --target sm_90a --emit simt -o - | FileCheck %s --check-prefix=FLAT
# RUN: tegula explain %s::flat --signature 'a=*f16:16,b=*f16:16,c=*f16:16,tiles=i32,trips=i32,KIND=0' --target sm_90a | FileCheck %s --check-prefix=SAID
import triton
import triton.language as tl


# SAID: nest: one loop over the trips of all tiles: a loop over tiles around one over their trips

# The trips all fit into 32 bits, or the launch ends.
# NESTED: tt.assert
# NESTED: scf.for
# NESTED: scf.for
# NESTED-NOT: scf.if
# NESTED: simt.dot_async
# NESTED: simt.bulk_store
# NESTED: tt.return

# FLAT-NOT: tt.assert
# FLAT: scf.for
# FLAT: simt.dot_async
# FLAT: scf.if
# FLAT-NOT: scf.for
# FLAT: tt.return
@triton.jit
def flat(a, b, c, tiles, trips, KIND: tl.constexpr):
    i = tl.arange(0, 64)
    at, tile, seen = -1, 0, 0
    acc = tl.zeros((64, 64), tl.float32)
    for t in range(trips * tiles):
        at = tl.where(at == trips - 1, 0, at + 1)
        if at == 0:
            tile += 1
        if KIND == 1:  # each trip writes
            tl.store(c + t, at.to(tl.float16))
        acc = tl.dot(tl.load(a + i[:, None] * 64 + i[None, :] + at * 4096), tl.load(b + i[:, None] * 64 + i[None, :] + at * 4096), acc)
        if at == trips - 1:
            tl.store(c + tile * 4096 + i[:, None] * 64 + i[None, :], (acc + seen).to(tl.float16))
            acc = tl.zeros((64, 64), tl.float32)
        if KIND == 2:  # each trip reads what the last one of a tile does
            seen += acc.to(tl.int32).max()
