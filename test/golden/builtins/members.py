"""Methods as functions of the class, operators by their names, and what a type says of its sign."""
# RUN: %ir of_the_class 'p=*f32,q=*i32,n=i32'
# RUN: %ir operators 'q=*i32,n=i32'
# RUN: %ir signedness 'q=*i32'
# RUN: %refused no_method 'p=*f32'
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
def no_method(p):
    # no_method: error: <function triton.language.tensor> has no attribute `summe` [NoSuchAttribute]
    tl.tensor.summe(p)


@triton.jit
def no_operator(n):
    # no_operator: error: int32 has no attribute `__plus__` [NoSuchAttribute]
    n.__plus__(1)
