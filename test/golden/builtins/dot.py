"""tl.dot: operands, result types, precision."""
# RUN: %ir types 'p=*f32'
# RUN: %ir plain 'p=*f32'
# RUN: %ir precision 'p=*f32'
# RUN: %ir batched 'p=*f32'
# RUN: %refused shapes 'p=*f32'
# RUN: %refused elements 'p=*f32'
# RUN: %refused integers 'p=*f32'
# RUN: %refused accumulator 'p=*f32'
# RUN: %refused brain 'p=*f32'
# RUN: %refused word 'p=*f32'
# RUN: %refused both 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def types(p):
    h = tl.zeros((16, 16), tl.float16)
    # types: tt.func @types
    tl.static_assert(tl.dot(h, h).dtype == tl.float32)
    tl.static_assert(tl.dot(h, h, out_dtype=tl.float16).dtype == tl.float16)
    tl.static_assert(tl.dot(h, h, acc=h).dtype == tl.float16)
    tl.static_assert(tl.dot(h.to(tl.bfloat16), h.to(tl.bfloat16)).dtype == tl.float32)
    tl.static_assert(tl.dot(h.to(tl.int8), h.to(tl.int8)).dtype == tl.int32)
    tl.static_assert(tl.dot(h.to(tl.float64), h.to(tl.float64)).dtype == tl.float64)
    tl.static_assert(tl.dot(h.to(tl.float8e5), h.to(tl.float8e4nv)).dtype == tl.float32)
    tl.store(p, 0.0)


@triton.jit
def plain(p):
    # Any extents: no minimum, no power of two.
    a = tl.load(p + tl.arange(0, 3)[:, None] * 5 + tl.arange(0, 5)[None, :])
    b = tl.load(p + tl.arange(0, 5)[:, None] * 7 + tl.arange(0, 7)[None, :])
    # plain: tt.dot %{{.*}}, %{{.*}}, %{{.*}} {precision = 0 : i32} : tensor<3x5xf32>, tensor<5x7xf32>, tensor<3x7xf32>
    c = tl.dot(a, b)
    # plain: tt.dot %{{.*}}, %{{.*}}, %{{.*}} {precision = 0 : i32} : tensor<3x5xf32>, tensor<5x7xf32>, tensor<3x7xf32>
    c = tl.dot(a, b, c)
    tl.store(p + tl.arange(0, 3)[:, None] * 7 + tl.arange(0, 7)[None, :], c)


@triton.jit
def precision(p):
    o = tl.arange(0, 16)
    a = tl.load(p + o[:, None] * 16 + o[None, :])
    # precision: tt.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x16xf32>
    x = tl.dot(a, a, allow_tf32=False)
    # precision: tt.dot %{{.*}} {precision = 1 : i32}
    x = tl.dot(a, x, input_precision="tf32x3")
    # precision: tt.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x16xf16>
    x = tl.dot(x.to(tl.float16), a.to(tl.float16), input_precision="tf32")
    tl.store(p + o[:, None] * 16 + o[None, :], x)


@triton.jit
def batched(p):
    x = tl.reshape(tl.load(p + tl.arange(0, 48)), (2, 2, 3, 4))
    # batched: tt.reshape %{{.*}} : tensor<{{.*}}xf32> -> tensor<4x3x4xf32>
    # batched: tt.dot {{.*}} : tensor<4x3x4xf32>, tensor<4x4x3xf32>, tensor<4x3x3xf32>
    y = tl.dot(x, tl.trans(x))
    tl.static_assert(len(y.shape) == 4 and y.shape[1] == 2)
    tl.store(p, tl.sum(y))


@triton.jit
def shapes(p):
    # shapes: `tl.dot`: shapes [4, 8] and [4, 8] are not [M, K] and [K, N] [DotShapes]
    a = tl.zeros((4, 8), tl.float32)
    tl.dot(a, a)


@triton.jit
def elements(p):
    # elements: `tl.dot` takes two tiles of one float type, of int8, or of 8-bit floats, not <['4', '4'], fp32> and <['4', '4'], fp16> [DotElements]
    a = tl.zeros((4, 4), tl.float32)
    tl.dot(a, a.to(tl.float16))


@triton.jit
def integers(p):
    # integers: [DotElements]
    a = tl.zeros((4, 4), tl.int32)
    tl.dot(a, a)


@triton.jit
def accumulator(p):
    # accumulator: `tl.dot`: acc is <['4', '4'], fp16>, and the result is <['4', '4'], fp32> [DotAccumulator]
    a = tl.zeros((4, 4), tl.float32)
    tl.dot(a, a, a.to(tl.float16))


@triton.jit
def brain(p):
    # brain: parameter `out_dtype` of `tl.dot` must be tl.float32 or tl.float16
    a = tl.zeros((4, 4), tl.float16)
    tl.dot(a, a, out_dtype=tl.bfloat16)


@triton.jit
def word(p):
    # word: parameter `input_precision` of `tl.dot` must be one of 'tf32', 'tf32x3', 'ieee', 'bf16x3', 'bf16x6', not 'fast' [BuiltinWrongArgument]
    a = tl.zeros((4, 4), tl.float32)
    tl.dot(a, a, input_precision="fast")


@triton.jit
def both(p):
    # both: parameter `allow_tf32` of `tl.dot` must be left out where input_precision is given, not True [BuiltinWrongArgument]
    a = tl.zeros((4, 4), tl.float32)
    tl.dot(a, a, input_precision="ieee", allow_tf32=True)
