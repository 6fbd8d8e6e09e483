"""Scans: the plain op in the region, types of results, any function; histograms; sorting networks."""
# RUN: %ir sums 'p=*f32'
# RUN: %ir types 'p=*f32'
# RUN: %ir any_function 'p=*f32'
# RUN: %ir counted 'p=*i32'
# RUN: %ir sorted_rows 'p=*f32'
# RUN: %refused scalar 'x=f32'
# RUN: %refused axis 'p=*f32'
# RUN: %refused wrong_result 'p=*f32'
# RUN: %refused no_function 'p=*f32'
# RUN: %refused pointers 'p=*f32'
# RUN: %refused float_bins 'p=*f32'
# RUN: %refused two_dimensions 'p=*f32'
# RUN: %refused no_bins 'p=*f32'
# RUN: %refused too_many 'p=*f32'
# RUN: %refused no_dimension 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def sums(p):
    x = tl.load(p + tl.arange(0, 6)[:, None] * 8 + tl.arange(0, 8)[None, :])
    # sums: tt.scan %{{.*}} axis 1 {
    # sums-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
    # sums-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
    # sums-NEXT: tt.scan.return %[[S]] : f32
    # sums-NEXT: } : (tensor<6x8xf32>) -> tensor<6x8xf32>
    y = tl.cumsum(x, axis=-1)
    # sums: tt.scan %{{.*}} axis 0 reverse {
    # sums: arith.mulf
    z = x.cumprod(reverse=True)
    tl.store(p, tl.sum(y + z))
    # One element along the axis is its own sum.
    # sums: tt.scan.return
    # sums-NOT: tt.scan
    tl.store(p + tl.arange(0, 8)[None, :], tl.cumsum(tl.load(p + tl.arange(0, 8)[None, :]), 0))


@triton.jit
def types(p):
    o = tl.arange(0, 8)
    # types: tt.func @types
    tl.static_assert(tl.cumsum(o.to(tl.int8)).dtype == tl.int32)
    tl.static_assert(tl.cumsum(o.to(tl.uint16)).dtype == tl.uint32)
    tl.static_assert(tl.cumsum(o > 3).dtype == tl.uint32)
    tl.static_assert(tl.cumsum(o.to(tl.bfloat16)).dtype == tl.float32)
    tl.static_assert(tl.cumsum(o.to(tl.float16)).dtype == tl.float16)
    tl.static_assert(tl.cumsum(o, dtype=tl.float64).dtype == tl.float64)
    tl.static_assert(tl.cumprod(o.to(tl.int8)).dtype == tl.int8)
    tl.static_assert(tl.histogram(o, 4).dtype == tl.int32)
    tl.static_assert(tl.sort(o.to(tl.uint8)).dtype == tl.uint8)
    tl.store(p, 0.0)


@triton.jit
def segmented(sum_a, flag_a, sum_b, flag_b):
    return tl.where(flag_b, sum_b, sum_a + sum_b), flag_a | flag_b


@triton.jit
def any_function(p):
    o = tl.arange(0, 8)
    x = tl.load(p + o)
    # any_function: tt.scan %{{.*}}, %{{.*}} axis 0 {
    # any_function-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i1, %{{.*}}: f32, %{{.*}}: i1):
    # any_function: tt.scan.return %{{.*}}, %{{.*}} : f32, i1
    y, flags = tl.associative_scan((x, o % 3 == 0), 0, segmented)
    tl.store(p + o, y)


@triton.jit
def counted(p):
    o = tl.arange(0, 8)
    # counted: tt.histogram %{{.*}} mask %{{.*}} : tensor<8xi32> -> tensor<5xi32>, mask tensor<8xi1>
    tl.store(p + tl.arange(0, 5), tl.histogram(o, 5, mask=o < 7))
    # Narrow elements are widened by their sign.
    # counted: arith.extsi %{{.*}} : tensor<8xi8> to tensor<8xi32>
    # counted: tt.histogram %{{.*}} : tensor<8xi32> -> tensor<4xi32>{{$}}
    tl.store(p + tl.arange(0, 4), o.to(tl.int8).histogram(4))


@triton.jit
def sorted_rows(p):
    i = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(p + i)
    # sorted_rows: tt.reshape %{{.*}} : tensor<4x8xi32> -> tensor<16x2x1xi32>
    # sorted_rows: arith.xori
    tl.store(p + i, tl.sort(x))
    # Of runs of two the larger ones, twice: no more is sorted than is asked for.
    # sorted_rows: tt.reshape %{{.*}} : tensor<4x8xi32> -> tensor<4x2x2x2xi32>
    # sorted_rows: arith.maxsi
    # sorted_rows: (tensor<4x2x2x2xi32>) -> tensor<4x2x2xi32>
    # sorted_rows: arith.maxsi
    # sorted_rows: (tensor<4x1x2x2xi32>) -> tensor<4x1x2xi32>
    # sorted_rows-NOT: tt.gather
    # sorted_rows: tt.store
    tl.store(p + tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :], tl.topk(x, 2))
    # sorted_rows: tt.gather %{{.*}} axis 1 : tensor<4x4xi32>, tensor<4x3xi32> -> tensor<4x3xi32>
    tl.store(p + tl.arange(0, 4)[:, None] * 3 + tl.arange(0, 3)[None, :], tl.topk(x, 3))


@triton.jit
def scalar(x):
    # scalar: parameter `input` of `tl.cumsum` must be a tile, not fp32 [BuiltinWrongArgument]
    tl.cumsum(x)


@triton.jit
def axis(p):
    # axis: `tl.cumsum`: invalid axis 1 of a value of 1 dimensions [BadAxis]
    tl.cumsum(tl.arange(0, 8), axis=1)


@triton.jit
def widen(a, b):
    return a.to(tl.float32)


@triton.jit
def wrong_result(p):
    # wrong_result: `tl.associative_scan`: the function gives fp32, and must give int32 [CombineResult]
    tl.associative_scan(tl.arange(0, 8), 0, widen)


@triton.jit
def no_function(p):
    # no_function: parameter `combine_fn` of `tl.associative_scan` must be a function of the language, not 3 [BuiltinWrongArgument]
    tl.associative_scan(tl.arange(0, 8), 0, 3)


@triton.jit
def pointers(p):
    # pointers: parameter `input` of `tl.cumprod` must be a tile of numbers, not <['8'], pointer<fp32>> [BuiltinWrongArgument]
    tl.cumprod(p + tl.arange(0, 8))


@triton.jit
def float_bins(p):
    # float_bins: `tl.histogram` takes an integer, not <['8'], fp32> [BuiltinDType]
    tl.histogram(tl.zeros((8,), tl.float32), 4)


@triton.jit
def two_dimensions(p):
    # two_dimensions: parameter `input` of `tl.histogram` must be a tile of one dimension, not <['8', '1'], int32> [BuiltinWrongArgument]
    tl.histogram(tl.arange(0, 8)[:, None], 4)


@triton.jit
def no_bins(p):
    # no_bins: the shape [0] has an extent of 0 [BadExtent]
    tl.histogram(tl.arange(0, 8), 0)


@triton.jit
def too_many(p):
    # too_many: static_assert failed: k must be from 1 to the extent of the dimension [StaticAssertFailed]
    # too_many: scans.py:[[#@LINE+1]]
    tl.topk(tl.arange(0, 6), 7)


@triton.jit
def no_dimension(p):
    # no_dimension: static_assert failed: dim must be a dimension of the tile [StaticAssertFailed]
    # no_dimension: scans.py:[[#@LINE+1]]
    tl.sort(tl.arange(0, 6), dim=1)
