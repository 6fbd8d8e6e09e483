"""tl.load and tl.store: masks, `other`, bools as bytes, modifiers."""
# RUN: %ir loads 'p=*f16,n=i32'
# RUN: %ir scalars 'p=*f32,c=i1'
# RUN: %ir bools 'p=*i1'
# RUN: %ir stores 'p=*f16,x=f32,n=i32'
# RUN: %ir modifiers 'p=*f32'
# RUN: %ir widened 'p=*f32'
# RUN: %refused other_without_mask 'p=*f32'
# RUN: %refused not_a_pointer 'n=i32'
# RUN: %refused mask_type 'p=*f32,n=i32'
# RUN: %refused tile_mask 'p=*f32'
# RUN: %refused tile_value 'p=*f32'
# RUN: %refused block_pointer 'p=*f32'
# RUN: %refused modifier 'p=*f32'
# RUN: %refused wide_value 'p=*f32'
# RUN: %refused const_pointer 'p=*f32'
# RUN: %refused tile_too_large 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def loads(p, n):
    o = tl.arange(0, 48)
    # loads: %[[OTHER:.*]] = arith.constant dense<1.500000e+00> : tensor<48xf16>
    # loads: %[[A:.*]] = tt.load %{{.*}} : tensor<48x!tt.ptr<f16>> -> tensor<48xf16>{{$}}
    a = tl.load(p + o)
    # loads: %[[MASK:.*]] = arith.cmpi slt
    # loads: tt.load %{{.*}} mask %[[MASK]] : tensor<48x!tt.ptr<f16>> -> tensor<48xf16>, mask tensor<48xi1>{{$}}
    b = tl.load(p + o, mask=o < n)
    # loads: tt.load %{{.*}} mask %[[MASK]] other %[[OTHER]]
    c = tl.load(p + o, o < n, 1.5)
    # loads: arith.addf {{.*}} : tensor<48xf16>
    tl.store(p + o, a + b + c)


@triton.jit
def scalars(p, c):
    # scalars: tt.load %{{.*}} mask %{{.*}} other %{{.*}} : !tt.ptr<f32> -> f32, mask i1, other f32
    x = tl.load(p, mask=c, other=2)
    # scalars: tt.store %{{.*}}, %{{.*}} mask %{{.*}} : !tt.ptr<f32>, f32, mask i1
    tl.store(p, x, mask=c)


@triton.jit
def bools(p):
    o = tl.arange(0, 8)
    # bools: tt.load %{{.*}} : tensor<8x!tt.ptr<i8>> -> tensor<8xi8>
    # bools: %[[B:.*]] = arith.cmpi ne, %{{.*}} : tensor<8xi8>
    b = tl.load(p + o)
    tl.static_assert(b.dtype == tl.int1)
    # bools: arith.extui %{{.*}} : tensor<8xi1> to tensor<8xi8>
    # bools: tt.store {{.*}} : tensor<8x!tt.ptr<i8>>, tensor<8xi8>
    tl.store(p + o, ~b)


@triton.jit
def stores(p, x, n):
    o = tl.arange(0, 8)
    # The value is converted, then spread; the mask is spread.
    # stores: arith.truncf %{{.*}} : f32 to f16
    # stores: tt.splat %{{.*}} : f16 -> tensor<8xf16>
    # stores: tt.splat %{{.*}} : i1 -> tensor<8xi1>
    # stores: tt.store {{.*}} mask
    tl.store(p + o, x, mask=n > 0)


@triton.jit
def modifiers(p):
    # modifiers: tt.load %{{.*}} {cache = 2 : i32, evict = 2 : i32, isVolatile}
    x = tl.load(p, cache_modifier=".cg", eviction_policy="evict_last", volatile=True)
    # modifiers: tt.store %{{.*}} {cache = 5 : i32, evict = 1 : i32}
    tl.store(p, x, cache_modifier=".wt", eviction_policy="evict_first")


@triton.jit
def widened(p):
    # The pointer takes the mask's shape.
    o = tl.arange(0, 4)
    # widened: tt.load {{.*}} : tensor<4x4x!tt.ptr<f32>> -> tensor<4x4xf32>
    x = tl.load(p + o, mask=o[:, None] < o[None, :])
    tl.store(p, tl.sum(x))


@triton.jit
def other_without_mask(p):
    # other_without_mask: memory.py:[[#@LINE+2]]:{{[0-9]+}}: error: `tl.load`: `other` has no meaning without `mask` [OtherWithoutMask]
    # other_without_mask: hint:
    tl.load(p, other=0.0)


@triton.jit
def not_a_pointer(n):
    # not_a_pointer: parameter `pointer` of `tl.load` must be a pointer or a tile of pointers, not int32 [BuiltinWrongArgument]
    tl.load(n)


@triton.jit
def mask_type(p, n):
    # mask_type: parameter `mask` of `tl.load` must be int1, not int32 [BuiltinWrongArgument]
    tl.load(p, mask=n)


@triton.jit
def tile_mask(p):
    # tile_mask: `tl.load`: the pointer is a scalar, and `mask` is a tile, <['4'], int1> [TileBesideScalarPointer]
    tl.load(p, mask=tl.arange(0, 4) < 3)


@triton.jit
def tile_value(p):
    # tile_value: `tl.store`: the pointer is a scalar, and `value` is a tile, <['4'], int32> [TileBesideScalarPointer]
    tl.store(p, tl.arange(0, 4))


@triton.jit
def block_pointer(p):
    # block_pointer: `tl.load`: `boundary_check` only applies to block pointers [NeedsBlockPointer]
    tl.load(p, boundary_check=(0,))


@triton.jit
def modifier(p):
    # modifier: parameter `cache_modifier` of `tl.load` must be one of '', '.ca', '.cg', '.cs', '.cv', not '.wt' [BuiltinWrongArgument]
    tl.load(p, cache_modifier=".wt")


@triton.jit
def wide_value(p):
    # The value is broadcast to the pointer, never the pointer to the value.
    # wide_value: a value of shape [4, 4] cannot be broadcast to [4] [CannotBroadcast]
    o = tl.arange(0, 4)
    tl.store(p + o, o[:, None] + o[None, :])


@triton.jit
def const_pointer(p):
    # const_pointer: `tl.store`: Cannot store to a constant pointer [StoreToConst]
    tl.store(p.to(tl.pointer_type(tl.float32, const=True)), 1.0)


@triton.jit
def tile_too_large(p):
    # tile_too_large: a tile of shape [2048, 1024] exceeds triton maximum tensor numel: it has more than 1048576 elements [TileTooLarge]
    tl.zeros((2048, 1024), tl.float32)
