"""Reductions: the plain op in the region, the types of results, indices, any function."""
# RUN: %ir sums 'p=*f32'
# RUN: %ir types 'p=*f32'
# RUN: %ir extrema 'p=*f32'
# RUN: %ir indices 'p=*f32'
# RUN: %ir bits 'p=*i32'
# RUN: %ir any_function 'p=*f32'
# RUN: %ir pairs 'p=*f32'
# RUN: %refused scalar 'x=f32'
# RUN: %refused axis 'p=*f32'
# RUN: %refused without_axis 'p=*f32'
# RUN: %refused float_bits 'p=*f32'
# RUN: %refused wrong_result 'p=*f32'
# RUN: %refused no_result 'p=*f32'
# RUN: %refused no_function 'p=*f32'
# RUN: %refused unequal 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def sums(p):
    x = tl.load(p + tl.arange(0, 6)[:, None] * 8 + tl.arange(0, 8)[None, :])
    # sums: tt.reduce %{{.*}} axis 1 {
    # sums-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
    # sums-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
    # sums-NEXT: tt.reduce.return %[[S]] : f32
    # sums-NEXT: } : (tensor<6x8xf32>) -> tensor<6xf32>
    tl.store(p + tl.arange(0, 6), tl.sum(x, axis=1))
    # sums: tt.reduce %{{.*}} axis 0
    # sums: (tensor<6x8xf32>) -> tensor<8xf32>
    # sums: tt.expand_dims %{{.*}} {axis = 0 : i32} : tensor<8xf32> -> tensor<1x8xf32>
    tl.store(p + tl.arange(0, 8)[None, :], x.sum(-2, keep_dims=True))
    # sums: tt.reshape %{{.*}} allow_reorder : tensor<6x8xf32> -> tensor<48xf32>
    # sums: (tensor<48xf32>) -> f32
    tl.store(p, tl.sum(x))
    tl.static_assert(tl.sum(x, keep_dims=True).shape[1] == 1)


@triton.jit
def types(p):
    o = tl.arange(0, 8)
    # types: tt.func @types
    tl.static_assert(tl.sum(o.to(tl.int8)).dtype == tl.int32)
    tl.static_assert(tl.sum(o.to(tl.uint16)).dtype == tl.uint32)
    tl.static_assert(tl.sum(o > 3).dtype == tl.uint32)
    tl.static_assert(tl.sum(o.to(tl.int64)).dtype == tl.int64)
    tl.static_assert(tl.sum(o.to(tl.float16)).dtype == tl.float16)
    tl.static_assert(tl.sum(o.to(tl.bfloat16)).dtype == tl.bfloat16)
    tl.static_assert(tl.sum(o, dtype=tl.float32).dtype == tl.float32)
    tl.static_assert(tl.max(o.to(tl.bfloat16)).dtype == tl.float32)
    tl.static_assert(tl.max(o.to(tl.float16)).dtype == tl.float32)
    tl.static_assert(tl.min(o.to(tl.uint8)).dtype == tl.int32)
    tl.static_assert(tl.min(o.to(tl.uint32)).dtype == tl.uint32)
    tl.static_assert(tl.argmax(o.to(tl.int8), 0).dtype == tl.int32)
    tl.static_assert(tl.max(o.to(tl.float16), 0, return_indices=True)[0].dtype == tl.float16)
    tl.static_assert(tl.xor_sum(o.to(tl.int8)).dtype == tl.int8)
    tl.store(p, 0.0)


@triton.jit
def extrema(p):
    x = tl.load(p + tl.arange(0, 8))
    i = tl.arange(0, 8)
    # extrema: arith.maxnumf
    tl.store(p, tl.max(x))
    # extrema: arith.minnumf
    tl.store(p, tl.min(x, axis=0))
    # extrema: arith.maxsi
    tl.store(p, tl.max(i))
    # extrema: arith.minui
    tl.store(p, tl.min(i.to(tl.uint32)))


@triton.jit
def indices(p):
    x = tl.load(p + tl.arange(0, 8))
    # indices: tt.reduce %{{.*}}, %{{.*}} axis 0 {
    # indices-NEXT: ^bb0(%[[V:.*]]: f32, %[[I:.*]]: i32, %[[W:.*]]: f32, %[[J:.*]]: i32):
    # indices-NEXT: arith.cmpf ogt, %[[V]], %[[W]]
    # indices-NEXT: arith.cmpf oeq, %[[V]], %[[W]]
    # indices-NEXT: arith.cmpi slt, %[[I]], %[[J]]
    # indices-NEXT: arith.andi
    # indices-NEXT: %[[K:.*]] = arith.ori
    # indices-NEXT: arith.select %[[K]], %[[V]], %[[W]]
    # indices-NEXT: arith.select %[[K]], %[[I]], %[[J]]
    m, i = tl.max(x, 0, return_indices=True)
    tl.store(p + i, m)
    # Without the tie-break one comparison decides.
    # indices: arith.cmpf olt
    # indices-NEXT: arith.select
    tl.store(p + tl.argmin(x, 0, tie_break_left=False), 0.0)


@triton.jit
def bits(p):
    o = tl.arange(0, 8)
    # bits: arith.xori
    tl.store(p, tl.xor_sum(o, 0))
    # bits: arith.ori
    tl.store(p, tl.reduce_or(o, 0))


@triton.jit
def larger_magnitude(a, b):
    return tl.where(tl.abs(a) > tl.abs(b), a, b)


@triton.jit
def any_function(p):
    x = tl.load(p + tl.arange(0, 8))
    # any_function: tt.reduce
    # any_function: math.absf %{{.*}} : f32
    # any_function: arith.select
    # any_function: tt.reduce.return
    tl.store(p, tl.reduce(x, 0, larger_magnitude))


@triton.jit
def welford(mean_a, weight_a, mean_b, weight_b):
    weight = weight_a + weight_b
    return mean_a + (mean_b - mean_a) * (weight_b / weight), weight


@triton.jit
def pairs(p):
    x = tl.load(p + tl.arange(0, 8))
    # pairs: tt.reduce %{{.*}}, %{{.*}} axis 0
    # pairs: tt.reduce.return %{{.*}}, %{{.*}} : f32, f32
    mean, weight = tl.reduce((x, tl.full((8,), 1.0, tl.float32)), 0, welford)
    tl.store(p, mean / weight)


@triton.jit
def scalar(x):
    # scalar: parameter `input` of `tl.sum` must be a tile, not fp32 [BuiltinWrongArgument]
    tl.sum(x)


@triton.jit
def axis(p):
    # axis: `tl.max`: invalid axis 1 of a value of 1 dimensions [BadAxis]
    tl.max(tl.arange(0, 8), axis=1)


@triton.jit
def without_axis(p):
    # without_axis: parameter `axis` of `tl.max` must be an axis where indices are wanted, not None [BuiltinWrongArgument]
    tl.max(tl.arange(0, 8), return_indices=True)


@triton.jit
def float_bits(p):
    # float_bits: `tl.xor_sum` takes an integer, not <['8'], fp32> [BuiltinDType]
    tl.xor_sum(tl.zeros((8,), tl.float32))


@triton.jit
def widen(a, b):
    return a.to(tl.float32)


@triton.jit
def wrong_result(p):
    # wrong_result: `tl.reduce`: the function gives fp32, and must give int32 [CombineResult]
    tl.reduce(tl.arange(0, 8), 0, widen)


@triton.jit
def nothing(a, b):
    pass


@triton.jit
def no_result(p):
    # no_result: `tl.reduce`: the function gives None, and must give one number [CombineResult]
    tl.reduce(tl.arange(0, 8), 0, nothing)


@triton.jit
def no_function(p):
    # no_function: parameter `combine_fn` of `tl.reduce` must be a function of the language, not 3 [BuiltinWrongArgument]
    tl.reduce(tl.arange(0, 8), 0, 3)


@triton.jit
def unequal(p):
    # unequal: parameter `input` of `tl.reduce` must be tiles of one shape
    tl.reduce((tl.arange(0, 8), tl.arange(0, 4)), 0, welford)
