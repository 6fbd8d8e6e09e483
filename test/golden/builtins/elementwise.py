"""Elementwise builtins and math functions."""
# RUN: %ir extrema 'p=*f32'
# RUN: %ir choices 'p=*f32,q=*f32,c=i1'
# RUN: %ir functions 'p=*f32'
# RUN: %ir devices 'p=*f32'
# RUN: %ir integers 'p=*i32,u=u32,w=u64'
# RUN: %ir folded 'p=*i32,n=i32'
# RUN: %said condition_type 'p=*i32,n=i32'
# RUN: %refused integer 'p=*f16'
# RUN: %refused device_integer 'p=*f16'
# RUN: %ir integer_clamp 'n=i32,u=u32,p=*i32'
# RUN: %refused integer_division 'n=i32'
# RUN: %refused precise_double 'x=f64'
# RUN: %refused small_product 's=i8'
# RUN: %refused nan_word 'x=f32'
# RUN: %refused string_operand 'x=f32'
# RUN: %refused where_pointers 'p=*f32,x=f32'
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def extrema(p):
    x = tl.load(p)
    y = tl.load(p + 1)
    # extrema: arith.maxnumf
    tl.store(p, tl.maximum(x, y))
    # extrema: arith.minimumf
    tl.store(p, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))
    # extrema: tt.clampf %{{.*}}, %{{.*}}, %{{.*}} : f32
    tl.store(p, tl.clamp(x, 0.0, y))
    # extrema: tt.clampf %{{.*}}, %{{.*}}, %{{.*}} propagate_nan : f32
    tl.store(p, tl.clamp(x, 0.0, 6.0, tl.PropagateNan.ALL))
    tl.static_assert(tl.maximum(x.to(tl.bfloat16), y.to(tl.bfloat16)).dtype == tl.float32)
    tl.static_assert(tl.maximum(x.to(tl.float16), y.to(tl.float16)).dtype == tl.float16)
    tl.static_assert(tl.clamp(x.to(tl.bfloat16), 0, 1).dtype == tl.float32)


@triton.jit
def choices(p, q, c):
    o = tl.arange(0, 4)
    # choices: arith.select %{{.*}}, %{{.*}}, %{{.*}} : !tt.ptr<f32>
    r = tl.where(c, p, q)
    # choices: arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
    x = tl.where(o > 1, tl.load(p + o), 0)
    tl.store(r + o, x)


@triton.jit
def functions(p):
    x = tl.load(p)
    # functions: math.exp
    # functions-NEXT: math.exp2
    # functions-NEXT: math.log
    # functions-NEXT: math.log2
    # functions-NEXT: math.cos
    # functions-NEXT: math.sin
    # functions-NEXT: math.sqrt
    # functions-NEXT: tt.precise_sqrt
    # functions-NEXT: math.rsqrt
    # functions-NEXT: math.erf
    # functions-NEXT: math.floor
    # functions-NEXT: math.ceil
    # functions-NEXT: math.absf
    # functions-NEXT: math.fma
    # functions-NEXT: arith.divf
    # functions-NEXT: tt.precise_divf
    # functions-NEXT: tt.precise_divf
    x = tl.exp(x)
    x = tl.exp2(x)
    x = tl.log(x)
    x = tl.math.log2(x)
    x = tl.cos(x)
    x = tl.sin(x)
    x = x.sqrt()
    x = tl.sqrt_rn(x)
    x = tl.math.rsqrt(x)
    x = tl.erf(x)
    x = x.floor()
    x = tl.ceil(x)
    x = tl.abs(x)
    x = tl.fma(x, 2.0, x)
    x = tl.fdiv(x, 3.0)
    x = tl.fdiv(x, 3.0, ieee_rounding=True)
    x = tl.div_rn(x, 3.0)
    tl.store(p, x)


@triton.jit
def devices(p):
    x = tl.load(p)
    # devices: math.tanh
    x = libdevice.tanh(x)
    # devices-NEXT: math.tanh
    x = tl.math.tanh(x)
    # devices-NEXT: math.powf
    x = tl.extra.cuda.libdevice.pow(x, 2.5)
    # devices-NEXT: math.roundeven
    x = libdevice.rint(x)
    # devices-NEXT: math.log1p
    x = libdevice.log1p(x)
    # devices-NEXT: math.atan2
    x = libdevice.atan2(x, x)
    # devices-NEXT: arith.cmpf une, %[[X:.*]], %[[X]]
    x = tl.where(libdevice.isnan(x), 0.0, x)
    # devices: math.absf
    # devices-NEXT: arith.cmpf oeq
    x = tl.where(libdevice.isinf(x), 1.0, x)
    # devices: tt.bitcast %{{.*}} : f32 -> i32
    # devices-NEXT: arith.sitofp
    tl.store(p, libdevice.float_as_int(x))


@triton.jit
def integers(p, u, w):
    # integers: tt.mulhiui %{{.*}}, %{{.*}} : i32
    tl.store(p, tl.umulhi(u, 0xCD9E8D57))
    # integers: tt.mulhiui %{{.*}}, %{{.*}} : i64
    tl.store(p, tl.umulhi(w, w))
    # integers: math.absi
    tl.store(p, tl.abs(tl.load(p)))
    # An unsigned value is its own absolute value.
    # integers-NOT: math.absi
    tl.store(p, tl.abs(u))


@triton.jit
def folded(p, n):
    # folded: tt.func @folded
    tl.static_assert(tl.cdiv(7, 2) == 4)
    tl.static_assert(triton.cdiv(8, 2) == 4)
    tl.static_assert(triton.next_power_of_2(5) == 8)
    tl.static_assert(min(3, 4) == 3 and max(3.5, 2) == 3.5)
    tl.static_assert(float("inf") > 1)
    # folded: arith.minsi %{{.*}}, %c7_i32
    tl.store(p, min(n, 7))
    # folded: arith.addi %{{.*}}, %c15_i32
    # folded: arith.divsi %{{.*}}, %c16_i32
    tl.store(p, tl.cdiv(n, 16))


@triton.jit
def condition_type(p, n):
    # condition_type: warning: the condition of `tl.where` is int32, not int1; it is compared with 0 [ConditionNotBool]
    tl.store(p, tl.where(n, 1, 2))


@triton.jit
def integer(p):
    # integer: `tl.exp` takes a float, not int32 [BuiltinDType]
    # integer: hint: convert with `.to(...)` first
    tl.exp(tl.program_id(0))


@triton.jit
def device_integer(p):
    # device_integer: `libdevice.tanh` takes a float, not int32 [BuiltinDType]
    libdevice.tanh(tl.program_id(0))


@triton.jit
def integer_division(n):
    # integer_division: `tl.fdiv` takes floats, not int32 [FloatsOnly]
    tl.fdiv(n, 2)


@triton.jit
def integer_clamp(n, u, p):
    # integer_clamp: arith.maxsi {{.*}} : i32
    # integer_clamp: arith.minsi {{.*}} : i32
    # integer_clamp: arith.maxui {{.*}} : i32
    # integer_clamp: arith.minui {{.*}} : i32
    tl.store(p, tl.clamp(n, 1, 5))
    tl.store(p + 1, tl.clamp(u, 1, 5))


@triton.jit
def precise_double(x):
    # precise_double: `tl.div_rn` takes fp32, not fp64 [BuiltinDType]
    tl.div_rn(x, x)


@triton.jit
def small_product(s):
    # small_product: `tl.umulhi` takes int32, int64, uint32 or uint64, not int8 [BuiltinDType]
    tl.umulhi(s, s)


@triton.jit
def nan_word(x):
    # nan_word: parameter `propagate_nan` of `tl.maximum` must be tl.PropagateNan.NONE or tl.PropagateNan.ALL, not True [BuiltinWrongArgument]
    tl.maximum(x, x, propagate_nan=True)


@triton.jit
def string_operand(x):
    # string_operand: invalid operands of type 'a' and fp32 for `tl.maximum` [IncompatibleOperands]
    tl.maximum("a", x)


@triton.jit
def where_pointers(p, x):
    # where_pointers: invalid operands of type pointer<fp32> and fp32 for `tl.where` [IncompatibleOperands]
    tl.where(x > 0, p, x)
