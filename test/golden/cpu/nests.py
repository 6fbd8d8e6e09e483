# What fuses, what is buffered, where a nest ends.
# RUN: tegula compile %s::add --signature 'x=*f32,y=*f32,out=*f32,n=i32,BLOCK=100' --emit nests | FileCheck %s --check-prefix=ADD
# RUN: tegula compile %s::statistics --signature 'x=*f32,out=*f32,n=i32,BLOCK=64' --emit nests | FileCheck %s --check-prefix=STAT
# RUN: tegula compile %s::moments --signature 'x=*f32,out=*f32,n=i32,BLOCK=64' --emit nests | FileCheck %s --check-prefix=MOMENTS
# RUN: tegula compile %s::reload --signature 'a=*f32,b=*f32,out=*f32,BLOCK=64' --emit nests | FileCheck %s --check-prefix=RELOAD
# RUN: tegula compile %s::between --signature 'a=*i32,b=*i32,out=*i32,BLOCK=64' --emit nests | FileCheck %s --check-prefix=BETWEEN
# RUN: tegula compile %s::carried --signature 'x=*f32,out=*f32,n=i32,BLOCK=64' --emit nests | FileCheck %s --check-prefix=CARRIED
# RUN: tegula compile %s::transposed --signature 'x=*f32,out=*f32' --emit nests | FileCheck %s --check-prefix=TRANS
# RUN: tegula compile %s::product --signature 'a=*f32,b=*f32,c=*f32' --emit nests | FileCheck %s --check-prefix=DOT
import triton
import triton.language as tl


# One nest: both loads, the sum and the store; any extent.
# ADD:      scratch 0 bytes
# ADD:      nest [100*]
# ADD-NEXT:   store
# ADD-NEXT: end tt.return
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


# A reduction ends the nest for its readers.
# STAT:      nest [64*]
# STAT-NEXT:   reduce
# STAT:      nest [64*]
# STAT-NEXT:   store
# STAT-NEXT: end
@triton.jit
def statistics(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, v - tl.sum(v, axis=0), mask=i < n)


# Arithmetic on the first sum waits behind the nest, so that the second one shares it; what needs the arithmetic does not.
# MOMENTS:      nest [64*]
# MOMENTS-NEXT:   reduce
# MOMENTS-NEXT:   reduce
# MOMENTS-NEXT: scalar arith.divf
# MOMENTS:      nest [64*]
# MOMENTS-NEXT:   reduce
# MOMENTS:      nest [64*]
# MOMENTS-NEXT:   store
# MOMENTS-NEXT: end
@triton.jit
def moments(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    mean = tl.sum(v, axis=0) / n
    variance = tl.sum(v * v, axis=0) / n - mean * mean
    skew = tl.sum((v - mean) * variance, axis=0)
    tl.store(out + i, v * skew)


# The store may change what was loaded: the first load is kept, the second reads again (M1, M14).
# RELOAD:      nest [64*]
# RELOAD-NEXT:   buffer
# RELOAD-NEXT:   store
# RELOAD-NEXT: nest [64*]
# RELOAD-NEXT:   store
# RELOAD-NEXT: end
@triton.jit
def reload(a, b, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    before = tl.load(a + i)
    tl.store(b + i, before * 2.0)
    tl.store(out + i, before + tl.load(a + i))


# A load between two stores has its place between their nests, though only the end reads it.
# BETWEEN:      nest [64*]
# BETWEEN-NEXT:   store
# BETWEEN-NEXT: nest [64*]
# BETWEEN-NEXT:   store
# BETWEEN-NEXT:   store
# BETWEEN-NEXT: end
@triton.jit
def between(a, b, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(a + i, i)
    seen = tl.load(b + i)
    tl.store(b + i, i + 1)
    tl.store(out + i, seen)


# A carried tile has a buffer of its own, and is updated in place.
# CARRIED: region scf.for %{{.*}} @[[AT:[0-9]+]]
# CARRIED:   nest [64*]
# CARRIED:     buffer %{{.*}} @[[AT]]
# CARRIED: nest [64*]
# CARRIED:   store
@triton.jit
def carried(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.exp(tl.load(x + start + i, mask=start + i < n, other=0.0))
    tl.store(out + i, total)


# Coordinates are permuted, nothing is moved.
# TRANS:      scratch 0 bytes
# TRANS:      nest [24,16*]
# TRANS-NEXT:   store
@triton.jit
def transposed(x, out):
    r = tl.arange(0, 16)
    c = tl.arange(0, 24)
    tile = tl.load(x + r[:, None] * 24 + c[None, :])
    tl.store(out + c[:, None] * 16 + r[None, :], tl.trans(tile))


# DOT: dot tt.dot
# DOT: nest [16,48*]
# DOT:   store
@triton.jit
def product(a, b, c):
    m = tl.arange(0, 16)[:, None]
    n = tl.arange(0, 48)[None, :]
    k = tl.arange(0, 20)
    out = tl.dot(tl.load(a + m * 20 + k[None, :]), tl.load(b + k[:, None] * 48 + n))
    tl.store(c + m * 48 + n, out)
