"""Tiles made, and moved to other coordinates."""
# RUN: %ir made 'p=*f32,x=f32'
# RUN: %ir indexed 'p=*i32'
# RUN: %ir moved 'p=*i32'
# RUN: %ir joined 'p=*i32'
# RUN: %ir scalars 'p=*i32,a=i32,b=i32'
# RUN: %refused empty_range 'p=*i32'
# RUN: %refused wide_range 'p=*i32'
# RUN: %refused run_time_range 'n=i32'
# RUN: %refused extent 'p=*i32'
# RUN: %refused full_range 'p=*i32'
# RUN: %refused count 'p=*i32'
# RUN: %refused rank 'p=*i32'
# RUN: %refused transposed 'p=*i32'
# RUN: %refused permutation 'p=*i32'
# RUN: %refused axis 'p=*i32'
# RUN: %refused halves 'p=*i32'
# RUN: %refused unequal 'p=*i32'
# RUN: %refused gather_shapes 'p=*i32'
# RUN: %refused gather_index 'p=*i32'
# RUN: %refused cannot_broadcast 'p=*i32'
# RUN: %refused index 'p=*i32'
# RUN: %refused too_many 'p=*i32'
# RUN: %refused repeated_axis 'p=*i32'
# RUN: %refused integer_shape 'p=*i32'
import triton
import triton.language as tl


@triton.jit
def made(p, x):
    # made-DAG: arith.constant dense<7.000000e+00> : tensor<3xf32>
    # made-DAG: arith.constant dense<0.000000e+00> : tensor<2x5xf32>
    # made: tt.make_range {end = 48 : i32, start = 0 : i32} : tensor<48xi32>
    tl.store(p + tl.arange(0, 48), 0.0)
    tl.store(p + tl.arange(0, 3), tl.full((3,), 7, tl.int8))
    # made: tt.splat %{{.*}} : f32 -> tensor<2x5xf32>
    tl.store(p + tl.zeros((2, 5), tl.int32), tl.full([2, 5], x, tl.float32))
    tl.store(p + tl.zeros((2, 5), tl.int32), tl.zeros((2, 5), tl.float32))
    # A scalar has the shape ().
    # made: tt.store %{{.*}}, %{{.*}} : !tt.ptr<f32>, f32
    tl.store(p, tl.zeros_like(x) + tl.full((), 1.0, tl.float32))


@triton.jit
def indexed(p):
    o = tl.arange(0, 4)
    # indexed: tt.expand_dims %{{.*}} {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
    # indexed: tt.expand_dims %{{.*}} {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
    x = o[:, None] * 4 + o[None, :]
    tl.static_assert(x.shape[0] == 4 and x.shape[1] == 4 and x.numel == 16)
    y = x[:, None, :]
    tl.static_assert(y.shape[1] == 1 and len(y.shape) == 3)
    tl.static_assert(o[None].shape[0] == 1)
    # indexed: tt.broadcast %{{.*}} : tensor<4x1xi32> -> tensor<4x4xi32>
    tl.store(p + x, x)


@triton.jit
def moved(p):
    o = tl.arange(0, 24)
    # moved: tt.reshape %{{.*}} : tensor<24xi32> -> tensor<2x3x4xi32>
    x = tl.reshape(o, (2, 3, 4))
    # moved: tt.trans %{{.*}} {order = array<i32: 0, 2, 1>} : tensor<2x3x4xi32> -> tensor<2x4x3xi32>
    tl.store(p + tl.trans(x), 1)
    # moved: tt.trans %{{.*}} {order = array<i32: 2, 0, 1>} : tensor<2x3x4xi32> -> tensor<4x2x3xi32>
    tl.store(p + x.permute(2, 0, 1), 2)
    # moved: tt.reshape %{{.*}} allow_reorder
    tl.store(p + tl.view(x, [6, 4]), 3)
    # moved: tt.reshape %{{.*}} : tensor<{{.*}}xi32> -> tensor<6x4xi32>
    y = x.reshape(6, 4)
    # moved: tt.trans %{{.*}} {order = array<i32: 1, 0>} : tensor<6x4xi32> -> tensor<4x6xi32>
    tl.store(p + y.T, 4)
    tl.static_assert(tl.ravel(y).shape[0] == 24)
    tl.static_assert(tl.expand_dims(o, (0, -1)).shape[2] == 1)
    tl.static_assert(tl.broadcast_to(o[:, None], (24, 2)).shape[1] == 2)
    tl.static_assert(tl.broadcast(o[:, None], o[None, :])[0].shape[1] == 24)
    tl.static_assert(tl.expand_dims(o, 0).squeeze(0).shape[0] == 24)
    tl.static_assert(o.unsqueeze(1).shape[1] == 1)


@triton.jit
def joined(p):
    a = tl.arange(0, 3)
    b = a * 2
    # joined: tt.join %{{.*}} : tensor<3xi32> -> tensor<3x2xi32>
    j = tl.join(a, b)
    # joined: tt.split %{{.*}} : tensor<3x2xi32> -> tensor<3xi32>
    l, r = tl.split(j)
    tl.store(p + l, r)
    # joined: tt.reshape %{{.*}} : tensor<3x2xi32> -> tensor<6xi32>
    tl.store(p + tl.interleave(a, b), 0)
    # joined: tt.cat %{{.*}}, %{{.*}} axis 0 : tensor<3xi32>, tensor<3xi32> -> tensor<6xi32>
    tl.store(p + tl.cat(a, b), 0)
    # joined: tt.cat %{{.*}} axis 1 : tensor<1x3xi32>, tensor<1x4xi32> -> tensor<1x7xi32>
    tl.store(p + tl.cat(a[None, :], tl.arange(0, 4)[None, :], can_reorder=True, dim=1), 0)
    # joined: tt.gather %{{.*}}[%{{.*}}] axis 0 : tensor<3xi32>, tensor<4xi32> -> tensor<4xi32>
    tl.store(p, tl.sum(tl.gather(a, tl.arange(0, 4), 0)))
    # joined: tt.gather %{{.*}}[%{{.*}}] axis 1 : tensor<2x3xi32>, tensor<2x3xi32> -> tensor<2x3xi32>
    tl.store(p, tl.sum(tl.flip(tl.reshape(tl.arange(0, 6), (2, 3)))))


@triton.jit
def scalars(p, a, b):
    j = tl.join(a, b)
    tl.static_assert(len(j.shape) == 1 and j.shape[0] == 2)
    l, r = tl.split(j)
    # scalars: tt.unsplat %{{.*}} : tensor<1xi32> -> i32
    tl.store(p, l - r)
    # scalars: tt.splat %{{.*}} : !tt.ptr<i32> -> tensor<1x!tt.ptr<i32>>
    tl.store(p + tl.expand_dims(a, 0), 0)
    # scalars: tt.unsplat %{{.*}} : tensor<1x1xi32> -> i32
    x = tl.load(p + tl.expand_dims(a, (0, 1)))
    tl.store(p, x.item())


@triton.jit
def empty_range(p):
    # empty_range: `tl.arange`: the end, 0, must be greater than the start, 0 [EmptyRange]
    tl.arange(0, 0)


@triton.jit
def wide_range(p):
    # wide_range: parameter `end` of `tl.arange` must be an int32, not 2147483649 [BuiltinWrongArgument]
    tl.arange(2147483648 - 1, 2147483649)


@triton.jit
def run_time_range(n):
    # run_time_range: shapes.py:[[#@LINE+2]]:{{[0-9]+}}: error: parameter `end` of `tl.arange` must be known at compile time, and a run-time value of type int32 was given [ArgumentNotConstexpr]
    # run_time_range: hint:
    tl.arange(0, n)


@triton.jit
def extent(p):
    # extent: the shape [4, 0] has an extent of 0 [BadExtent]
    tl.zeros((4, 0), tl.int32)


@triton.jit
def full_range(p):
    # full_range: the number -1 is out of range for uint8 [ScalarOutOfRange]
    tl.full((4,), -1, tl.uint8)


@triton.jit
def count(p):
    # count: `tl.reshape`: the shape [6] has 6 elements, and [4, 2] has 8 [ReshapeCount]
    tl.reshape(tl.arange(0, 6), (4, 2))


@triton.jit
def rank(p):
    # rank: `tl.trans` needs at least two dimensions, and <['6'], int32> has fewer [TransposeRank]
    tl.trans(tl.arange(0, 6))


@triton.jit
def transposed(p):
    # transposed: `.T` needs two dimensions, and this is <['6'], int32> [TransposedRank]
    tl.arange(0, 6).T


@triton.jit
def permutation(p):
    # permutation: `tl.permute`: [0, 0] is no permutation of the 2 dimensions [BadPermutation]
    tl.permute(tl.arange(0, 6)[:, None], (0, 0))


@triton.jit
def axis(p):
    # axis: `tl.expand_dims`: invalid axis 3 of a value of 2 dimensions [BadAxis]
    tl.expand_dims(tl.arange(0, 6), 3)


@triton.jit
def halves(p):
    # halves: `tl.split` needs a last dimension of 2, and this is <['6'], int32> [SplitExtent]
    tl.split(tl.arange(0, 6))


@triton.jit
def unequal(p):
    # unequal: `tl.cat` takes two tiles that agree in all dimensions but 1, not [6, 1] and [3, 1] [CatShapes]
    tl.cat(tl.arange(0, 6)[:, None], tl.arange(0, 3)[:, None], dim=1)


@triton.jit
def gather_shapes(p):
    # gather_shapes: `tl.gather`: the source, [4, 2], and the index, [6], must agree in all dimensions but 0 [GatherShapes]
    # gather_shapes: hint: broadcast the index
    tl.gather(tl.zeros((4, 2), tl.float32), tl.arange(0, 6), 0)


@triton.jit
def gather_index(p):
    # gather_index: parameter `index` of `tl.gather` must be a tile of integers, not <['6'], fp32> [BuiltinWrongArgument]
    tl.gather(tl.arange(0, 6), tl.zeros((6,), tl.float32), 0)


@triton.jit
def cannot_broadcast(p):
    # cannot_broadcast: a value of shape [6] cannot be broadcast to [4, 3] [CannotBroadcast]
    tl.broadcast_to(tl.arange(0, 6), (4, 3))


@triton.jit
def index(p):
    # index: unsupported tensor index: 0 [UnsupportedIndex]
    tl.arange(0, 6)[0]


@triton.jit
def too_many(p):
    # too_many: <['6'], int32> is indexed with 2 dimensions [TooManyIndices]
    tl.arange(0, 6)[:, :]


@triton.jit
def repeated_axis(p):
    # repeated_axis: `tl.expand_dims`: duplicate axes, normalized axes = [0, 0] [DuplicateAxes]
    tl.expand_dims(tl.arange(0, 6), (0, 0))


@triton.jit
def integer_shape(p):
    # integer_shape: parameter `shape` of `tl.zeros` must be a tuple of integers, not 4 [BuiltinWrongArgument]
    tl.zeros(4, tl.int32)
