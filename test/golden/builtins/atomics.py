"""Atomics: kinds by type, order and scope, masks; floats take the larger one by their bits."""
# RUN: %ir kinds 'p=*i32,u=*u64,f=*f16,n=i32'
# RUN: %ir orders 'p=*i32'
# RUN: %ir masked 'p=*f32,n=i32'
# RUN: %ir floats 'p=*f32'
# RUN: %ir swaps 'p=*i64,n=i64'
# RUN: %refused narrow_add 'p=*i16'
# RUN: %refused half_max 'p=*f16'
# RUN: %refused float_bits 'p=*f32'
# RUN: %refused bool_swap 'p=*i1'
# RUN: %refused byte_cas 'p=*i8'
# RUN: %refused cas_type 'p=*i64,n=i32'
# RUN: %refused no_pointer 'n=i32'
# RUN: %refused order 'p=*i32'
# RUN: %refused scope 'p=*i32'
# RUN: %refused const_pointer 'p=*i32'
# RUN: %refused tile_value 'p=*i32'
# RUN: %refused tile_mask 'p=*i32'
# RUN: %refused mask_type 'p=*i32,n=i32'
import triton
import triton.language as tl


@triton.jit
def kinds(p, u, f, n):
    # kinds: tt.atomic_rmw add, acq_rel, gpu, %{{.*}}, %{{.*}} : !tt.ptr<i32>, i32 -> i32
    old = tl.atomic_add(p, n)
    tl.static_assert(old.dtype == tl.int32)
    # kinds: tt.atomic_rmw fadd, acq_rel, gpu, %{{.*}}, %{{.*}} : !tt.ptr<f16>, f16 -> f16
    tl.atomic_add(f, n)
    # kinds: tt.atomic_rmw max, {{.*}} i32
    tl.atomic_max(p, n)
    # kinds: tt.atomic_rmw min, {{.*}} i32
    p.atomic_min(n)
    # kinds: tt.atomic_rmw umax, {{.*}} i64
    tl.atomic_max(u, n)
    # kinds: tt.atomic_rmw umin, {{.*}} i64
    tl.atomic_min(u, 5)
    # kinds: tt.atomic_rmw and, {{.*}} i32
    tl.atomic_and(p, n)
    # kinds: tt.atomic_rmw or, {{.*}} i64
    tl.atomic_or(u, n)
    # kinds: tt.atomic_rmw xor, {{.*}} i32
    tl.atomic_xor(p, n)
    # kinds: tt.atomic_rmw exch, {{.*}} i32
    tl.atomic_xchg(p, n)


@triton.jit
def orders(p):
    # orders: tt.atomic_rmw add, relaxed, cta
    tl.atomic_add(p, 1, sem="relaxed", scope="cta")
    # orders: tt.atomic_rmw add, acquire, sys
    tl.atomic_add(p, 1, None, "acquire", "sys")
    # orders: tt.atomic_cas release, gpu
    tl.atomic_cas(p, 0, 1, sem="release")


@triton.jit
def masked(p, n):
    o = tl.arange(0, 6)
    # masked: tt.atomic_rmw fadd, acq_rel, gpu, %{{.*}}, %{{.*}} mask %{{.*}} : tensor<6x!tt.ptr<f32>>, tensor<6xf32>, mask tensor<6xi1> -> tensor<6xf32>
    tl.atomic_add(p + o, 1.0, mask=o < n)
    # masked: tt.splat %{{.*}} : i1 -> tensor<6xi1>
    # masked: tt.atomic_rmw exch
    tl.atomic_xchg(p + o, 1.0, mask=n > 0)


@triton.jit
def floats(p):
    # floats: %[[P:.*]] = tt.bitcast %{{.*}} : !tt.ptr<f32> -> !tt.ptr<i32>
    # floats: %[[OLD:.*]] = tt.atomic_rmw max, acq_rel, gpu, %[[P]], %[[BITS:.*]] mask %{{.*}} : !tt.ptr<i32>, i32, mask i1 -> i32
    # floats: tt.atomic_rmw umin, acq_rel, gpu, %[[P]], %[[BITS]] mask
    # floats: arith.select
    # floats: tt.bitcast %{{.*}} : i32 -> f32
    old = tl.atomic_max(p, tl.load(p))
    tl.store(p, old)


@triton.jit
def swaps(p, n):
    o = tl.arange(0, 4)
    # Numbers take the element's type.
    # swaps: tt.atomic_cas acq_rel, gpu, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>> -> tensor<4xi64>
    tl.atomic_cas(p + o, 0, n)


@triton.jit
def narrow_add(p):
    # narrow_add: atomics.py:[[#@LINE+2]]:{{[0-9]+}}: error: `tl.atomic_add` takes pointers to integers of 32 or 64 bits, or to floats of 16 or more, not pointer<int16> [BuiltinDType]
    # narrow_add: hint:
    tl.atomic_add(p, 1)


@triton.jit
def half_max(p):
    # half_max: `tl.atomic_max` takes pointers to numbers of 32 or 64 bits, not pointer<fp16> [BuiltinDType]
    tl.atomic_max(p, 1.0)


@triton.jit
def float_bits(p):
    # float_bits: `tl.atomic_xor` takes pointers to integers of 32 or 64 bits, not pointer<fp32> [BuiltinDType]
    tl.atomic_xor(p, 1)


@triton.jit
def bool_swap(p):
    # bool_swap: `tl.atomic_xchg` takes pointers to numbers of 32 or 64 bits, not pointer<int1> [BuiltinDType]
    tl.atomic_xchg(p, True)


@triton.jit
def byte_cas(p):
    # byte_cas: `tl.atomic_cas` takes pointers to numbers of 16, 32 or 64 bits, not pointer<int8> [BuiltinDType]
    tl.atomic_cas(p, 0, 1)


@triton.jit
def cas_type(p, n):
    # cas_type: parameter `val` of `tl.atomic_cas` must be of the pointer's element type, int64, not int32 [BuiltinWrongArgument]
    tl.atomic_cas(p, 0, n)


@triton.jit
def no_pointer(n):
    # no_pointer: parameter `pointer` of `tl.atomic_add` must be a pointer or a tile of pointers, not int32 [BuiltinWrongArgument]
    tl.atomic_add(n, 1)


@triton.jit
def order(p):
    # order: parameter `sem` of `tl.atomic_add` must be one of '', 'acq_rel', 'acquire', 'release', 'relaxed', not 'seq_cst' [BuiltinWrongArgument]
    tl.atomic_add(p, 1, sem="seq_cst")


@triton.jit
def scope(p):
    # scope: parameter `scope` of `tl.atomic_cas` must be one of '', 'gpu', 'cta', 'sys', not 'warp' [BuiltinWrongArgument]
    tl.atomic_cas(p, 0, 1, scope="warp")


@triton.jit
def const_pointer(p):
    # const_pointer: `tl.atomic_add`: Cannot store to a constant pointer [StoreToConst]
    tl.atomic_add(p.to(tl.pointer_type(tl.int32, const=True)), 1)


@triton.jit
def tile_value(p):
    # tile_value: `tl.atomic_add`: the pointer is a scalar, and `val` is a tile, <['4'], int32> [TileBesideScalarPointer]
    tl.atomic_add(p, tl.arange(0, 4))


@triton.jit
def tile_mask(p):
    # tile_mask: `tl.atomic_add`: the pointer is a scalar, and `mask` is a tile, <['4'], int1> [TileBesideScalarPointer]
    tl.atomic_add(p, 1, mask=tl.arange(0, 4) < 3)


@triton.jit
def mask_type(p, n):
    # mask_type: parameter `mask` of `tl.atomic_add` must be int1, not int32 [BuiltinWrongArgument]
    tl.atomic_add(p, 1, mask=n)
