"""How arguments meet the parameters of a builtin, methods and attributes, names that are missing."""
# RUN: %ir methods 'p=*f32,n=i32'
# RUN: %ir attributes 'p=*bf16,n=i64,ONE=1'
# RUN: %ir types 'p=*f32'
# RUN: %ir python 'p=*f32,n=i32'
# RUN: %ir hints 'p=*f32,n=i32'
# RUN: %ir hints_of_carried 'p=*f32,n=i32'
# RUN: %said printed 'p=*f32,n=i32'
# RUN: %refused unknown_keyword 'p=*f32'
# RUN: %refused missing 'p=*f32'
# RUN: %refused too_many 'p=*f32'
# RUN: %refused twice 'p=*f32'
# RUN: %refused run_time_axis 'p=*f32,n=i32'
# RUN: %refused bad_axis 'p=*f32'
# RUN: %refused no_attribute 'p=*f32'
# RUN: %refused no_type_attribute 'p=*f32'
# RUN: %refused method_argument 'p=*f32'
# RUN: %refused atomic 'p=*i32'
# RUN: %refused method 'p=*f32'
# RUN: %refused cuda 'p=*f32'
# RUN: %refused printing 'p=*f32'
# RUN: %refused range_as_value 'p=*f32'
# RUN: %refused float_of_run_time 'n=i32'
# RUN: %refused not_a_value 'p=*f32'
# RUN: %refused assertion 'p=*f32'
# RUN: %refused not_a_condition 'p=*f32'
# RUN: %refused word_for_word 'p=*f32'
# RUN: %refused invented 'p=*f32'
# RUN: %refused hint_count 'p=*f32'
# RUN: %refused nothing_to_index 'p=*f32'
# RUN: %refused tuple_indices 'n=i32'
# RUN: %refused not_a_function 'p=*f32'
# RUN: %refused in_library 'p=*f16'
# RUN: %refused largest_of_one 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def methods(p, n):
    x = tl.load(p + tl.arange(0, 8))
    # methods: math.exp
    # methods: tt.reduce
    # methods: arith.addf
    y = x.exp().sum(axis=0)
    # methods: arith.negf
    # methods: arith.divf
    z = x.sigmoid()
    # methods: arith.maxnumf
    w = x.softmax()
    tl.store(p + n.to(tl.int64), y + z.max(0) + w.min(axis=0))
    tl.static_assert(n.cdiv(4).dtype == tl.int32)


@triton.jit
def attributes(p, n, ONE):
    # attributes: tt.func @attributes
    x = tl.load(p + tl.arange(0, 6)[:, None] + tl.arange(0, 2))
    tl.static_assert(p.dtype.element_ty == tl.bfloat16)
    tl.static_assert(p.type.element_ty == tl.bfloat16)
    tl.static_assert(p.dtype == tl.pointer_type(tl.bfloat16))
    tl.static_assert(p.dtype.is_ptr() and not x.dtype.is_ptr())
    tl.static_assert((p + tl.arange(0, 4)).dtype.element_ty == tl.bfloat16)
    tl.static_assert((p + tl.arange(0, 4)).type.element_ty.is_ptr())
    tl.static_assert(x.shape[0] == 6 and x.shape[1] == 2 and x.numel == 12)
    tl.static_assert(x.type.is_block() and x.type.shape[1] == 2 and x.type.scalar == tl.bfloat16)
    tl.static_assert(x.dtype.primitive_bitwidth == 16 and x.dtype.itemsize == 2)
    tl.static_assert(x.dtype.is_bf16() and not x.dtype.is_fp16() and x.dtype.is_floating())
    tl.static_assert(x.dtype.fp_mantissa_width == 7 and x.dtype.exponent_bias == 127)
    tl.static_assert(n.dtype.is_int64() and n.dtype.is_int() and n.dtype.is_int_signed())
    tl.static_assert(tl.uint8.is_int_unsigned() and tl.int1.is_bool() and tl.int1.is_int_unsigned())
    tl.static_assert(tl.float8e5.is_fp8() and not tl.float8e5.is_standard_floating())
    tl.static_assert(not tl.float8e5.is_fp8e4b15() and tl.float8e4nv.is_fp8e4nv())
    tl.static_assert(tl.int8.get_int_max_value() == 127 and tl.uint64.get_int_max_value() == 2**64 - 1)
    # A parameter that is specialized to 1 still behaves as a value.
    tl.static_assert(ONE.to(tl.int64).dtype == tl.int64)
    tl.store(p, 0.0)


@triton.jit
def types(p):
    # types: tt.func @types
    tl.static_assert(tl.dtype("fp32") == tl.float32)
    tl.static_assert(tl.core.get_int_dtype(16, signed=False) == tl.uint16)
    tl.static_assert(tl.float32 != tl.float16)
    tl.static_assert(p.dtype.element_ty != tl.float8e4b15)
    tl.static_assert(tl.standard._log2(32) == 5)
    tl.store(p, 0.0)


@triton.jit
def python(p, n):
    x = tl.arange(0, 6)[:, None]
    # python: tt.func @python
    tl.static_assert(len(x) == 6 and len((1, 2, 3)) == 3)
    tl.static_assert(isinstance(x, tl.tensor) and not isinstance(3, tl.tensor))
    tl.static_assert(isinstance(3, int) and isinstance(2.5, (int, float)) and isinstance(tl.int8, tl.dtype))
    tl.static_assert(hasattr(x, "shape") and not hasattr(x, "wings"))
    tl.static_assert(getattr(x, "wings", 5) == 5)
    tl.static_assert(min(3, 5, 4) == 3 and max((3, 5, 4)) == 5)
    # python: arith.maxsi
    # python: arith.maxsi
    # python: arith.minsi
    tl.store(p + min(max(n, 2, n + 1), 9), 0.0)


@triton.jit
def hints(p, n):
    # hints: tt.func @hints(%{{.*}}: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.name = "p"}, %{{.*}}: i32 {tt.divisibility = 8 : i32, tt.name = "n"}
    # hints: arith.muli {{.*}} {tt.divisibility = array<i64: 16>}
    o = tl.multiple_of(n * 16, 16) + tl.arange(0, 8)
    # hints: arith.addi {{.*}} {tt.constancy = array<i64: 1>, tt.contiguity = array<i64: 8>}
    o = tl.max_constancy(tl.max_contiguous(o, 8), [1])
    tl.assume(n > 0)
    tl.assume(n % 8 == 0)
    # hints: tt.barrier
    tl.debug_barrier()
    tl.device_assert(n > 0, "only with debug")
    # A parameter has no op; the function keeps what is promised of it.
    tl.store(tl.multiple_of(p, 16) + o, 0.0)


@triton.jit
def hints_of_carried(p, n):
    o = p + tl.arange(0, 8)
    for i in range(n):
        if i > 4:
            # What holds in a branch does not hold behind it.
            tl.max_constancy(o, 2)
            # hints_of_carried: tt.load {{.*}} {tt.address_constancy = array<i64: 2>}
            tl.device_print("x", tl.load(o))
        tl.multiple_of(o, 16)
        # hints_of_carried: tt.store {{.*}} {tt.address_divisibility = array<i64: 16>}
        tl.store(o, 0.0)
        o += n


@triton.jit
def printed(p, n):
    # printed: remark: n int32 (2, 3) [StaticPrint]
    tl.static_print("n", n.dtype, (2, 3))
    # printed: remark: 1-2 [StaticPrint]
    tl.static_print(1, 2, sep="-")
    tl.store(p, 0.0)


@triton.jit
def unknown_keyword(p):
    # unknown_keyword: `tl.load` has no parameter `maks` [BuiltinUnknownKeyword]
    # unknown_keyword: hint: its parameters: pointer, mask=None
    tl.load(p, maks=None)


@triton.jit
def missing(p):
    # missing: `tl.arange` needs a value for its parameter `end` [BuiltinMissingArgument]
    tl.arange(0)


@triton.jit
def too_many(p):
    # too_many: `tl.program_id` takes 1 arguments, and 2 were given [BuiltinTooManyArguments]
    tl.program_id(0, 1)


@triton.jit
def twice(p):
    # twice: `tl.arange` got more than one value for its parameter `start` [BuiltinDuplicateArgument]
    tl.arange(0, start=4)


@triton.jit
def run_time_axis(p, n):
    # run_time_axis: parameter `axis` of `tl.sum` must be known at compile time, and a run-time value of type int32 was given [ArgumentNotConstexpr]
    tl.sum(tl.arange(0, 4), axis=n)


@triton.jit
def bad_axis(p):
    # bad_axis: program_id axis must be 0, 1, or 2 but got 3 [GridAxis]
    tl.program_id(3)


@triton.jit
def no_attribute(p):
    # no_attribute: pointer<fp32> has no attribute `wings` [NoSuchAttribute]
    p.wings


@triton.jit
def no_type_attribute(p):
    # no_type_attribute: fp32 has no attribute `element_ty` [NoSuchAttribute]
    tl.load(p).dtype.element_ty


@triton.jit
def method_argument(p):
    # method_argument: `is_fp16` takes 0 arguments, and 1 were given [BuiltinTooManyArguments]
    p.dtype.element_ty.is_fp16(1)


@triton.jit
def atomic(p):
    # atomic: parameter `timeout_ns` of `tl.atomic_poll` must be None: not every target has a clock to wait by
    tl.atomic_poll(p, 1, timeout_ns=5)


@triton.jit
def method(p):
    # method: parameter `base` of `tl.advance` must be a block pointer, not <['4'], int32> [BuiltinWrongArgument]
    tl.arange(0, 4).advance(0)


@triton.jit
def cuda(p):
    # cuda: `tl.extra.cuda.convert_custom_float8_sm70` is not supported yet on any target [UnsupportedBuiltin]
    tl.extra.cuda.convert_custom_float8_sm70()


@triton.jit
def printing(p):
    # printing: `sorted` is not supported yet on any target [UnsupportedBuiltin]
    sorted(p)


@triton.jit
def range_as_value(p):
    # range_as_value: `tl.range` has a meaning only in the head of a `for` loop [OnlyInLoop]
    x = tl.range(0, 4)


@triton.jit
def float_of_run_time(n):
    # float_of_run_time: `float` applies to constants, and this is a run-time value of type int32 [PythonOfRunTime]
    # float_of_run_time: hint: use `x.to(tl.float32)`
    float(n)


@triton.jit
def not_a_value(p):
    # not_a_value: parameter `x` of `tl.exp` must be a number or a tile, not 'one' [BuiltinWrongArgument]
    tl.exp("one")


@triton.jit
def assertion(p):
    # assertion: calls.py:[[#@LINE+1]]:{{[0-9]+}}: error: static_assert failed: two is not three [StaticAssertFailed]
    tl.static_assert(2 == 3, "two is not three")


@triton.jit
def not_a_condition(p):
    # not_a_condition: parameter `cond` of `tl.assume` must be a condition, not int32 [BuiltinWrongArgument]
    tl.assume(tl.program_id(0))


@triton.jit
def word_for_word(p):
    # word_for_word: parameter `eviction_policy` of `tl.store` must be one of '', 'evict_first', 'evict_last', not 'evict_normal' [BuiltinWrongArgument]
    tl.store(p, 0.0, eviction_policy="evict_normal")


@triton.jit
def invented(p):
    # invented: module `triton.language` has no `frobnicate` that a kernel can use [UnknownModuleAttribute]
    tl.frobnicate(p)


@triton.jit
def hint_count(p):
    # hint_count: parameter `values` of `tl.multiple_of` must be one integer for each dimension, not (8, 8) [BuiltinWrongArgument]
    tl.multiple_of(tl.arange(0, 8), (8, 8))


@triton.jit
def nothing_to_index(p):
    # nothing_to_index: fp32 cannot be indexed [NotSubscriptable]
    tl.float32[0]


@triton.jit
def tuple_indices(n):
    # tuple_indices: index 5 is outside a tuple of 2 elements [TupleIndexRange]
    (1, 2)[5]
    # tuple_indices: a tuple is indexed with one constant integer, not with int32 [TupleIndex]
    (1, 2)[n]
    # tuple_indices: index -5 is outside a tuple of 4 elements [TupleIndexRange]
    "NCHW"[-5]


@triton.jit
def not_a_function(p):
    # not_a_function: `triton.language.PropagateNan.ALL` is no function of the language [NotABuiltin]
    tl.PropagateNan.ALL(1)


@triton.jit
def in_library(p):
    # An error in the library is reported there, with the call as a note.
    # in_library: sorting.py:{{.*}} static_assert failed: k must be from 1 to the extent of the dimension [StaticAssertFailed]
    # in_library: calls.py:[[#@LINE+1]]
    tl.topk(tl.load(p + tl.arange(0, 4)), 8)


@triton.jit
def largest_of_one(p):
    # largest_of_one: parameter `values` of `max` must be two values at least, or a tuple (`tl.max(x)` is a tile's largest element)
    max(tl.arange(0, 4))
    # largest_of_one: parameter `values` of `min` must be a value at least, not () [BuiltinWrongArgument]
    min()
