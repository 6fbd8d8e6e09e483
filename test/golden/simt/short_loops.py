# RUN: tegula compile %s::taps --target sm_90a --num-warps 4 --emit simt --signature 'x=*f32:16,w=*f32:16,out=*f32:16,n=i32:16' | FileCheck %s --check-prefix=TAPS
# RUN: tegula compile %s::taps_by_two --target sm_90a --num-warps 4 --emit simt --signature 'x=*f32:16,w=*f32:16,out=*f32:16,n=i32:16' | FileCheck %s --check-prefix=NEST
# RUN: tegula compile %s::many --target sm_90a --num-warps 4 --emit simt --signature 'x=*f32:16,out=*f32:16' | FileCheck %s --check-prefix=ROLLED
# RUN: tegula compile %s::product --target sm_90a --num-warps 4 --emit simt --signature 'a=*f16:16,b=*f16:16,out=*f32:16' | FileCheck %s --check-prefix=ROLLED
# RUN: tegula compile %s::chunks --target sm_90a --num-warps 1 --emit simt --signature 'x=*f32:16,out=*f32:16' | FileCheck %s --check-prefix=ROLLED
# RUN: tegula compile %s::still --target sm_90a --num-warps 1 --emit simt --signature 'x=*f32:16,out=*f32:16' | FileCheck %s --check-prefix=STILL
# RUN: tegula compile %s::tickets --target sm_90a --num-warps 8 --emit simt --signature 'x=*f32:16,next=*i32,out=*f32:16' | FileCheck %s --check-prefix=ROLLED
# The trips of a loop that is short in all stand one behind the other, and so do those of loops in it: their loads start together.
# Long ones stay loops, and so do loops of products, of chunks of a tile, and of atomics that a trip waits for; a step that does not advance makes no trip.
import triton
import triton.language as tl


# TAPS-NOT: scf.for
# TAPS-COUNT-8: tt.load
# TAPS-NOT: tt.load
@triton.jit
def taps(x, w, out, n):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    total = tl.zeros((128,), tl.float32)
    for tap in range(4):
        total += tl.load(x + i - tap, i >= tap, other=0.0) * tl.load(w + tap)
    tl.store(out + i, total)


# NEST-NOT: scf.for
# NEST-COUNT-12: tt.load
@triton.jit
def taps_by_two(x, w, out, n):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    total = tl.zeros((128,), tl.float32)
    for row in range(2):
        for tap in range(0, 6, 2):
            total += tl.load(x + row * n + i + tap) * tl.load(w + row * 3 + tap // 2)
    tl.store(out + i, total)


# ROLLED: scf.for
@triton.jit
def many(x, out):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    total = tl.zeros((128,), tl.float32)
    for row in range(400):
        total += tl.load(x + row * 4096 + i)
    tl.store(out + i, total)


@triton.jit
def product(a, b, out):
    i, k = tl.arange(0, 16), tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    for step in range(2):
        total += tl.dot(tl.load(a + i[:, None] * 32 + step * 16 + k[None, :]), tl.load(b + (step * 16 + k)[:, None] * 16 + i[None, :]))
    tl.store(out + i[:, None] * 16 + i[None, :], total)


@triton.jit
def chunks(x, out):
    i = tl.arange(0, 8192)
    tl.store(out + i, tl.load(x + i) + 1.0)


# STILL-NOT: tt.load
# STILL: tt.return
@triton.jit
def still(x, out):
    i = tl.arange(0, 32)
    for step in range(4, 0):
        tl.store(out + i, tl.load(x + i + step))


@triton.jit
def tickets(x, next, out):
    i = tl.arange(0, 256)
    row = tl.load(x + tl.program_id(0) * 256 + i)
    for k in range(8):
        place = tl.atomic_add(next + k, 1)
        tl.store(out + place * 256 + i, row)
