"""Methods as functions of the class, operators by their names, and what a type says of its sign."""
# RUN: %ir of_the_class 'p=*f32,q=*i32,n=i32'
# RUN: %ir operators 'q=*i32,n=i32'
# RUN: %ir signedness 'q=*i32'
# RUN: %ir kinds 'p=*f32,q=*i32'
# RUN: %refused no_method 'p=*f32'
# RUN: %refused method_without_call 'p=*f32'
# RUN: %refused question_without_call 'p=*f32'
# RUN: %refused no_operator 'n=i32'
import triton
import triton.language as tl


@triton.jit
def of_the_class(p, q, n):
    # of_the_class: %[[X:.*]] = tt.load
    # of_the_class: %[[S:.*]] = tt.reduce
    # of_the_class: tt.store %arg1, %arg2
    # of_the_class: arith.fptosi %[[X]] : tensor<4xf32> to tensor<4xi32>
    x = tl.load(p + tl.arange(0, 4))
    tl.store(p, tl.tensor.sum(x, 0))
    tl.tensor.store(q, n)
    tl.store(q + tl.arange(0, 4), tl.tensor.to(x, tl.int32))


@triton.jit
def operators(q, n):
    # operators: arith.addi %arg1, %c2
    # operators: arith.subi %c10{{.*}}, %arg1
    # operators: arith.cmpi slt, %arg1
    # operators: arith.subi %c0{{.*}}, %arg1
    tl.store(q, n.__add__(2))
    tl.store(q, n.__rsub__(10))
    tl.store(q, n.__lt__(10).to(tl.int32))
    tl.store(q, n.__neg__())


@triton.jit
def signedness(q):
    # signedness: tt.store %arg0, %c1_i32
    # signedness: tt.store %arg0, %c2_i32
    SIGNED: tl.constexpr = tl.dtype.SIGNEDNESS.SIGNED
    tl.store(q, 1 if tl.int8.int_signedness == SIGNED else 2)
    tl.store(q, 1 if tl.uint64.int_signedness == SIGNED else 2)
    tl.static_assert(not hasattr(tl.float32, "int_signedness"))


@triton.jit
def kinds(p, q):
    # kinds: tt.store %arg1, %c64_i32
    # kinds: tt.store %arg1, %c2_i32
    x = tl.load(p + tl.arange(0, 16))
    FLOATING: tl.constexpr = tl.dtype.KIND.FLOATING
    tl.static_assert(x.dtype.kind() == FLOATING and tl.int1.kind() == tl.dtype.KIND.BOOLEAN)
    tl.static_assert((x > 0).type.nbytes == 0 and (p + tl.arange(0, 4)).type.nbytes == 32)
    tl.static_assert(tl.uint8.kind() == tl.dtype.KIND.INTEGRAL and tl.uint8.kind().value < x.dtype.kind().value)
    tl.store(q, x.type.nbytes)
    tl.store(q, x.dtype.kind().value)


@triton.jit
def no_method(p):
    # no_method: error: <function triton.language.tensor> has no attribute `summe` [NoSuchAttribute]
    tl.tensor.summe(p)


@triton.jit
def no_operator(n):
    # no_operator: error: int32 has no attribute `__plus__` [NoSuchAttribute]
    n.__plus__(1)


@triton.jit
def method_without_call(p):
    # method_without_call: error: <['4'], fp32> has no attribute `sum` [NoSuchAttribute]
    # method_without_call: hint: `sum` is a method, and must be called: `.sum(...)`
    tl.store(p, tl.load(p + tl.arange(0, 4)).sum)


@triton.jit
def question_without_call(p):
    # question_without_call: error: fp32 has no attribute `is_floating` [NoSuchAttribute]
    # question_without_call: hint: `is_floating` is a method, and must be called: `.is_floating(...)`
    if p.dtype.element_ty.is_floating:
        tl.store(p, 1.0)
