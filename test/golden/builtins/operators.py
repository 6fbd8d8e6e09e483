"""Operators over run-time values and numbers: types, pointers, divisions, comparisons."""
# RUN: %ir pointers 'p=*f32,i=i32,u=u32,w=i64'
# RUN: %ir division 'a=i32,b=i32,u=u32,v=u32,h=f16,f=f32'
# RUN: %ir bits 'a=i32,u=u32,s=i8,c=i1'
# RUN: %ir comparisons 'a=i32,u=u32,f=f32'
# RUN: %ir unary 'a=i32,f=f32,c=i1'
# RUN: %ir literals 'h=f16,s=i8,b=i1,d=f64'
# RUN: %ir bytes 'x=f8e5'
# RUN: %refused scalar_too_large 's=i8'
# RUN: %refused negative_with_unsigned 'u=u32'
# RUN: %refused mixed_division 'a=i32,u=u32'
# RUN: %refused float_floor_division 'f=f32'
# RUN: %refused byte_float_and_integer 'x=f8e5,a=i32'
# RUN: %refused two_pointers 'p=*f32'
# RUN: %refused plus_type 'f=f32'
# RUN: %refused pointer_plus_float 'p=*f32,f=f32'
# RUN: %refused pointer_comparison 'p=*f32'
# RUN: %refused pointer_times 'p=*f32'
# RUN: %refused minus_pointer 'p=*f32'
# RUN: %refused inverted_float 'f=f32'
# RUN: %refused float_bits 'f=f32,a=i32'
# RUN: %refused power 'f=f32'
# RUN: %refused matmul 'f=f32'
# RUN: %refused not_int 'a=i32'
# RUN: %refused and_int 'a=i32,c=i1'
# RUN: %refused plus_none 'a=i32'
# RUN: %refused huge 'a=i32'
# RUN: %refused shapes 'p=*f32'
# RUN: %said wide_shift 's=i8,p=*i8'
import triton
import triton.language as tl


@triton.jit
def pointers(p, i, u, w):
    # A signed offset stays as it is; an unsigned one is extended, so that it stays positive.
    # pointers: tt.addptr %[[P:.*]], %[[I:.*]] : !tt.ptr<f32>, i32
    tl.store(p + i, 0.0)
    # pointers-NEXT: tt.store
    # pointers-NEXT: tt.store
    tl.store(i + p, 1.0)
    # pointers: %[[WIDE:.*]] = arith.extui %{{.*}} : i32 to i64
    # pointers: tt.addptr %[[P]], %[[WIDE]] : !tt.ptr<f32>, i64
    tl.store(p + u, 2.0)
    # pointers: %[[BACK:.*]] = arith.subi %{{.*}}, %{{.*}} : i64
    # pointers: tt.addptr %[[P]], %[[BACK]] : !tt.ptr<f32>, i64
    tl.store(p - w, 3.0)
    # pointers: arith.subi %{{.*}}, %[[WIDE]] : i64
    # pointers: tt.addptr %[[P]], %{{.*}} : !tt.ptr<f32>, i64
    tl.store(p - u, 4.0)
    # pointers: tt.splat %[[P]] : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    # pointers: tt.addptr {{.*}} : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    tl.store(p + tl.arange(0, 4), 5.0)


@triton.jit
def division(a, b, u, v, h, f):
    p = tl.full((), 0, tl.int64).to(tl.pointer_type(tl.float32))
    q = tl.full((), 0, tl.int64).to(tl.pointer_type(tl.int32))
    # division: arith.sitofp %{{.*}} : i32 to f32
    # division: arith.sitofp %{{.*}} : i32 to f32
    # division: arith.divf {{.*}} : f32
    tl.store(p, a / b)
    # division: arith.uitofp
    tl.store(p, u / v)
    # division: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
    # division: arith.divf %[[WIDE]], %{{.*}} : f32
    tl.store(p, h / 3)
    # division: arith.divsi
    tl.store(q, a // b)
    # division: arith.divui
    tl.store(q, u // v)
    # division: arith.remsi
    tl.store(q, a % b)
    # division: arith.remui
    tl.store(q, u % v)
    # division: arith.remf {{.*}} : f32
    tl.store(p, f % 2.0)


@triton.jit
def bits(a, u, s, c):
    q = tl.full((), 0, tl.int64).to(tl.pointer_type(tl.int32))
    # bits: arith.shrsi {{.*}} : i32
    tl.store(q, a >> 3)
    # bits: arith.shrui {{.*}} : i32
    tl.store(q, u >> 3)
    # bits: arith.shli {{.*}} : i8
    tl.store(q, s << 3)
    # The sign of `>>` is that of its left side, even where the common type is unsigned.
    # bits: arith.shrsi {{.*}} : i32
    tl.store(q, a >> u)
    # bits: arith.andi {{.*}} : i32
    tl.store(q, a & s)
    # bits: arith.ori {{.*}} : i1
    tl.store(q, c | (a > 0))
    # bits: arith.xori {{.*}} : i32
    tl.store(q, a ^ -1)


@triton.jit
def comparisons(a, u, f):
    q = tl.full((), 0, tl.int64).to(tl.pointer_type(tl.int1))
    # comparisons: arith.cmpi slt
    tl.store(q, a < 5)
    # comparisons: arith.cmpi uge
    tl.store(q, u >= 5)
    # Mixed signs of one width compare as unsigned.
    # comparisons: arith.cmpi ugt
    tl.store(q, a > u)
    # comparisons: arith.cmpf oeq
    tl.store(q, f == 0.5)
    # NaN differs from everything.
    # comparisons: arith.cmpf une
    tl.store(q, f != 0.5)
    # comparisons: arith.cmpf ole
    tl.store(q, f <= a)


@triton.jit
def unary(a, f, c):
    p = tl.full((), 0, tl.int64).to(tl.pointer_type(tl.float32))
    q = tl.full((), 0, tl.int64).to(tl.pointer_type(tl.int32))
    # unary: arith.negf
    tl.store(p, -f)
    # unary: arith.subi %c0_i32, %{{.*}} : i32
    tl.store(q, -a)
    # unary: arith.xori %{{.*}}, %c-1_i32 : i32
    tl.store(q, ~a)
    # unary: arith.xori %{{.*}}, %true : i1
    tl.store(q, not c)
    # unary: arith.andi {{.*}} : i1
    tl.store(q, c and (a > 0))


@triton.jit
def literals(h, s, b, d):
    # A number takes the type of the other side, unless it is of a higher kind.
    tl.static_assert((h + 1.5).dtype == tl.float16)
    tl.static_assert((h + 1).dtype == tl.float16)
    tl.static_assert((s + 100).dtype == tl.int8)
    tl.static_assert((s + 1.0).dtype == tl.float32)
    tl.static_assert((b + 1).dtype == tl.int32)
    tl.static_assert((b & True).dtype == tl.int1)
    tl.static_assert((d * 2).dtype == tl.float64)
    tl.static_assert((s * 1e-40).dtype == tl.float64)
    tl.static_assert((h / 2).dtype == tl.float32)
    # literals: tt.func @literals


@triton.jit
def bytes(x):
    p = tl.full((), 0, tl.int64).to(tl.pointer_type(tl.float8e5))
    # 8-bit floats have no arithmetic of their own.
    # bytes: tt.fp_to_fp %{{.*}} : f8E5M2 -> f32
    # bytes: arith.addf {{.*}} : f32
    # bytes: tt.fp_to_fp %{{.*}} : f32 -> f8E5M2
    tl.store(p, x + x)


@triton.jit
def scalar_too_large(s):
    # scalar_too_large: operators.py:[[#@LINE+2]]:{{[0-9]+}}: error: the number 1000 is out of range for int8 [ScalarOutOfRange]
    # scalar_too_large: hint:
    s + 1000


@triton.jit
def negative_with_unsigned(u):
    # negative_with_unsigned: a negative number, -1, meets an operand of the unsigned type uint32 [NegativeWithUnsigned]
    u + -1


@triton.jit
def mixed_division(a, u):
    # mixed_division: Cannot use `//` with int32 and uint32 because they have different signedness [DifferentSignedness]
    a // u


@triton.jit
def float_floor_division(f):
    # float_floor_division: unexpected type fp32 for `//` [FloorDivisionOfFloats]
    f // 2


@triton.jit
def byte_float_and_integer(x, a):
    # byte_float_and_integer: invalid operands of type fp8e5 and int32 for `+` [IncompatibleOperands]
    x + a


@triton.jit
def two_pointers(p):
    # two_pointers: cannot add pointers together [PointerAddition]
    p + p


@triton.jit
def plus_type(f):
    # plus_type: invalid operands of type fp32 and int32 for `+` [IncompatibleOperands]
    # plus_type: hint: `int32` is a type, not a number: `x.to(type)` converts x to a type
    f + tl.int32


@triton.jit
def pointer_plus_float(p, f):
    # pointer_plus_float: invalid operands of type pointer<fp32> and fp32 for `+` [IncompatibleOperands]
    # pointer_plus_float: hint: only integers can be added to a pointer; `.to(tl.int32)` makes one of a float
    p + f


@triton.jit
def pointer_comparison(p):
    # pointer_comparison: invalid operands of type pointer<fp32> and pointer<fp32> for `<` [IncompatibleOperands]
    p < p


@triton.jit
def pointer_times(p):
    # pointer_times: invalid operands of type pointer<fp32> and 2 for `*` [IncompatibleOperands]
    p * 2


@triton.jit
def minus_pointer(p):
    # minus_pointer: `-` does not apply to pointer<fp32> [IncompatibleOperand]
    -p


@triton.jit
def inverted_float(f):
    # inverted_float: `~` does not apply to fp32 [IncompatibleOperand]
    ~f


@triton.jit
def float_bits(f, a):
    # float_bits: invalid operands of type fp32 and int32 for `&` [IncompatibleOperands]
    f & a


@triton.jit
def power(f):
    # power: `**` applies to constants only [NoPower]
    f ** 2


@triton.jit
def matmul(f):
    # matmul: `@` has no meaning in a kernel [NoMatMul]
    # matmul: hint: use tl.dot(a, b)
    f @ f


@triton.jit
def not_int(a):
    # not_int: `not` takes int1, not int32 [NotABool]
    x = not a


@triton.jit
def and_int(a, c):
    # and_int: `and` takes int1, not int32 [NotABool]
    x = c and a


@triton.jit
def plus_none(a):
    # plus_none: invalid operands of type int32 and None for `+` [IncompatibleOperands]
    a + None


@triton.jit
def huge(a):
    # huge: no integer type holds 36893488147419103232 [NonrepresentableInteger]
    a + 2**65


@triton.jit
def shapes(p):
    # shapes: incompatible dimensions at index 0: 4 and 3, of shapes [4] and [3] [IncompatibleShapes]
    tl.arange(0, 4) + tl.arange(0, 3)


@triton.jit
def wide_shift(s, p):
    # wide_shift: warning: a shift by 8 is as wide as int8 or wider [ShiftTooWide]
    tl.store(p, s << 8)
