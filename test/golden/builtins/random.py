"""Random numbers are a library of the language: the rounds of Philox, and what becomes of words."""
# RUN: %ir words 'p=*u32,seed=i32'
# RUN: %ir wide 'p=*u64,seed=i64,o=i64'
# RUN: %ir far 'p=*f32,seed=i32,o=i64'
# RUN: %ir normal 'p=*f32,seed=i32'
# RUN: %ir constants 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def words(p, seed):
    # A seed is sign-extended to 64 bits; its halves are the key.
    # words: arith.extsi %{{.*}} : i32 to i64
    # words: arith.shrui %{{.*}}, %c32_i64 : i64
    # words: arith.trunci %{{.*}} : i64 to i32
    # words-COUNT-4: tt.mulhiui {{.*}} : tensor<64xi32>
    # words-NOT: arith.uitofp
    x = tl.randint(seed, tl.arange(0, 64))
    tl.static_assert(x.dtype == tl.uint32)
    tl.store(p + tl.arange(0, 64), x)


@triton.jit
def wide(p, seed, o):
    zero = tl.full((), 0, tl.uint64)
    # wide: tt.mulhiui {{.*}} : i64
    a, b, c, d = tl.philox(seed, o.to(tl.uint64), zero, zero, zero)
    tl.static_assert(a.dtype == tl.uint64)
    tl.store(p, a ^ b ^ c ^ d)


@triton.jit
def far(p, seed, o):
    # far: %[[HIGH:.*]] = arith.shrui %{{.*}}, %c32_i64 : i64
    # far: arith.trunci %[[HIGH]] : i64 to i32
    # far: arith.sitofp {{.*}} : i32 to f32
    # far: arith.mulf
    tl.store(p, tl.rand(seed, o))


@triton.jit
def normal(p, seed):
    # normal-DAG: math.log
    # normal-DAG: math.sqrt
    # normal-DAG: math.cos
    tl.store(p + tl.arange(0, 8), tl.randn(seed, tl.arange(0, 8)))
    a, b, c, d = tl.randn4x(seed, tl.arange(0, 8), n_rounds=7)
    tl.store(p + tl.arange(0, 8), a + b + c + d)


@triton.jit
def constants(p):
    # Seed and offset may be numbers.
    # constants: tt.store
    tl.store(p, tl.rand(42, 7))
