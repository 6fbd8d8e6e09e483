"""x.to, tl.cast: each kind of conversion, and the bits of a value."""
# RUN: %ir floats 'f=f32,h=f16,b=bf16,d=f64,e=f8e5'
# RUN: %ir integers 'i=i32,u=u8,s=i8,c=i1,f=f32,h=f16'
# RUN: %ir pointers 'p=*f32,i=i64,n=i32'
# RUN: %ir bits 'f=f32,i=i32,h=f16'
# RUN: %refused rounding 'f=f32'
# RUN: %refused rounding_word 'f=f32'
# RUN: %refused widths 'f=f32'
# RUN: %refused pointer_to_int 'p=*f32'
# RUN: %refused pointer_to_float 'p=*f32'
# RUN: %refused no_dtype 'f=f32'
import triton
import triton.language as tl


@triton.jit
def keep(value):
    tl.store(tl.full((), 0, tl.int64).to(tl.pointer_type(value.dtype)), value)


@triton.jit
def floats(f, h, b, d, e):
    # floats: arith.truncf %{{.*}} : f32 to f16
    keep(f.to(tl.float16))
    # Halves meet other types in fp32.
    # floats: arith.extf %{{.*}} : f16 to f32
    # floats: arith.truncf %{{.*}} : f32 to bf16
    keep(h.to(tl.bfloat16))
    # floats: arith.extf %{{.*}} : bf16 to f32
    # floats: arith.extf %{{.*}} : f32 to f64
    keep(tl.cast(b, tl.float64))
    # floats: arith.truncf %{{.*}} : f64 to bf16
    keep(d.to(tl.bfloat16))
    # floats: tt.fp_to_fp %{{.*}} : f32 -> f8E4M3FN
    keep(f.to(tl.float8e4nv))
    # floats: tt.fp_to_fp %{{.*}} : f8E5M2 -> f16
    keep(e.to(tl.float16))
    # floats: tt.fp_to_fp %{{.*}} {rounding = 1 : i32} : f32 -> bf16
    keep(f.to(tl.bfloat16, fp_downcast_rounding="rtz"))


@triton.jit
def integers(i, u, s, c, f, h):
    # integers: arith.extui %{{.*}} : i8 to i32
    keep(u.to(tl.int32))
    # integers: arith.extsi %{{.*}} : i8 to i32
    keep(s.to(tl.uint32))
    # integers: arith.extui %{{.*}} : i1 to i32
    keep(c.to(tl.int32))
    # integers: arith.trunci %{{.*}} : i32 to i8
    keep(i.to(tl.int8))
    # integers: arith.cmpi ne, %{{.*}}, %c0_i32
    # integers: arith.extui
    keep(i.to(tl.int1))
    # integers: arith.cmpf une
    keep(f.to(tl.int1))
    # integers: arith.uitofp %{{.*}} : i1 to f32
    keep(c.to(tl.float32))
    # integers: arith.uitofp %{{.*}} : i8 to f16
    keep(u.to(tl.float16))
    # integers: arith.sitofp %{{.*}} : i8 to f32
    keep(s.to(tl.float32))
    # integers: arith.fptosi %{{.*}} : f32 to i32
    keep(f.to(tl.int32))
    # integers: %[[HALVES:.*]] = arith.fptoui %{{.*}} : f32 to i16
    # integers: arith.trunci %[[HALVES]] : i16 to i8
    keep(f.to(tl.uint8))
    # integers: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
    # integers: arith.fptosi %[[WIDE]] : f32 to i16
    keep(h.to(tl.int16))


@triton.jit
def pointers(p, i, n):
    # pointers: tt.ptr_to_int %{{.*}} : !tt.ptr<f32> -> i64
    keep(p.to(tl.int64))
    # pointers: tt.int_to_ptr %{{.*}} : i64 -> !tt.ptr<i8>
    tl.store(i.to(tl.pointer_type(tl.int8)), 0)
    # pointers: arith.extsi %{{.*}} : i32 to i64
    # pointers: tt.int_to_ptr
    tl.store(n.to(tl.pointer_type(tl.int8)), 0)
    # pointers: tt.bitcast %{{.*}} : !tt.ptr<f32> -> !tt.ptr<i32>
    tl.store(p.to(tl.pointer_type(tl.int32)), 0)
    # pointers: arith.cmpi ne, %{{.*}}, %c0_i64
    keep(p.to(tl.int1))


@triton.jit
def bits(f, i, h):
    # bits: tt.bitcast %{{.*}} : f32 -> i32
    keep(f.to(tl.int32, bitcast=True))
    # bits: tt.bitcast %{{.*}} : i32 -> f32
    keep(tl.cast(i, tl.float32, bitcast=True))
    # bits: tt.bitcast %{{.*}} : f16 -> bf16
    keep(h.to(tl.bfloat16, bitcast=True))
    tl.static_assert(i.to(tl.uint32, bitcast=True).dtype == tl.uint32)


@triton.jit
def rounding(f):
    # rounding: fp_downcast_rounding only applies to narrower floats, not from fp32 to int32 [RoundingOfNoNarrowing]
    f.to(tl.int32, fp_downcast_rounding="rtz")


@triton.jit
def rounding_word(f):
    # rounding_word: parameter `fp_downcast_rounding` of `tl.cast` must be one of 'rtne', 'rtz', not 'up' [BuiltinWrongArgument]
    f.to(tl.float16, fp_downcast_rounding="up")


@triton.jit
def widths(f):
    # widths: fp32 has 32 bits and int16 has 16: the bits cannot be kept [BitcastWidth]
    f.to(tl.int16, bitcast=True)


@triton.jit
def pointer_to_int(p):
    # pointer_to_int: pointer<fp32> cannot be converted to int32 [CannotCast]
    p.to(tl.int32)


@triton.jit
def pointer_to_float(p):
    # pointer_to_float: pointer<fp32> cannot be converted to fp32 [CannotCast]
    # pointer_to_float: hint: a pointer's element is tl.load(pointer), its address an int64; a tensor of one element comes as a number by `x.item()`
    p.to(tl.float32)


@triton.jit
def no_dtype(f):
    # no_dtype: parameter `dtype` of `tl.cast` must be a dtype, not 32 [BuiltinWrongArgument]
    f.to(32)
