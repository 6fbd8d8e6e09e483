"""Calls of @jit functions: binding, scope, recursion over constants, call sites; comprehensions and walrus."""
# RUN: %ir binding 'p=*f32,n=i32'
# RUN: %ir starred 'p=*f32,n=i32'
# RUN: %ir recursion 'p=*f32'
# RUN: %ir run_time_for_constexpr 'p=*f32,n=i32'
# RUN: %ir function_values 'p=*f32,n=i32'
# RUN: %ir scope 'p=*f32,n=i32'
# RUN: %ir comprehension 'p=*f32,n=i32'
# RUN: %ir walrus 'p=*f32,n=i32'
# RUN: %ir builtins_of_python 'p=*f32,n=i32'
# RUN: env TEGULA_DUMP_LOCATIONS=1 sh %S/../check.sh ir %s locations 'p=*f32,n=i32'
# RUN: %refused too_many 'p=*f32'
# RUN: %refused missing 'p=*f32'
# RUN: %refused unknown 'p=*f32'
# RUN: %refused twice_given 'p=*f32'
# RUN: %refused not_constexpr 'p=*f32,n=i32'
# RUN: %refused endless_recursion 'p=*f32'
# RUN: %refused exploding_recursion 'p=*f32'
# RUN: %refused not_callable 'p=*f32,n=i32'
# RUN: %refused text_callable 'p=*f32'
# RUN: %refused variadic 'p=*f32'
# RUN: %refused double_star 'p=*f32'
# RUN: %refused starred_scalar 'p=*f32,n=i32'
# RUN: %refused unpack_count 'p=*f32,n=i32'
# RUN: %refused unpack_scalar 'p=*f32,n=i32'
# RUN: %refused error_inside 'p=*f32'
# RUN: %refused run_time_filter 'p=*f32,n=i32'
import triton
import triton.language as tl


@triton.jit
def write(p, value, /, index=0, *, scale: tl.constexpr = 1.0):
    tl.store(p + index, value * scale)


@triton.jit
def binding(p, n):
    # binding-LABEL: @binding
    # binding: tt.store %arg0, %cst
    # binding: [[Q:%.*]] = tt.addptr %arg0, %arg1
    # binding: tt.store [[Q]]
    write(p, 4.0)
    write(p, 8.0, scale=0.5, index=n)


@triton.jit
def starred(p, n):
    # starred-LABEL: @starred
    # starred: tt.addptr %arg0, %arg1
    # starred-NEXT: tt.store
    arguments = (p, 2.0, n)
    write(*arguments, scale=3)


@triton.jit
def factorial(N: tl.constexpr):
    return 1 if N < 2 else N * factorial(N - 1)


@triton.jit
def recursion(p):
    # recursion-LABEL: @recursion
    # recursion: make_range {end = 24
    tl.store(p + tl.arange(0, factorial(4)), 1.0)


@triton.jit
def twice(f: tl.constexpr, x):
    return f(f(x))


@triton.jit
def increment(x):
    return x + 1


@triton.jit
def function_values(p, n):
    # function_values-LABEL: @function_values
    # function_values: [[N:%.*]] = arith.addi %arg1, %c2_i32
    # function_values-NEXT: tt.addptr %arg0, [[N]]
    f = increment
    tl.store(p + twice(f, n), 1.0)


@triton.jit
def shadow(n):
    n = n + 1
    inner = n * 2
    return inner


@triton.jit
def scope(p, n):
    # A called function's names are its own.
    # scope-LABEL: @scope
    # scope: [[A:%.*]] = arith.addi %arg1
    # scope: [[B:%.*]] = arith.muli [[A]]
    # scope: [[C:%.*]] = arith.addi [[B]], %arg1
    # scope: tt.addptr %arg0, [[C]]
    inner = n
    tl.store(p + shadow(n) + inner, 1.0) if False else tl.store(p + (shadow(n) + inner), 1.0)


@triton.jit
def comprehension(p, n):
    # comprehension-LABEL: @comprehension
    # comprehension: arith.muli %arg1, %c2_i32
    # comprehension: arith.muli %arg1, %c3_i32
    x = 7
    doubled = [n * x for x in (1, 2, 3) if x > 1]
    a, b = doubled
    tl.store(p + a, 1.0)
    tl.store(p + b, 1.0)
    tl.store(p + x, 1.0)


@triton.jit
def walrus(p, n):
    # walrus-LABEL: @walrus
    # walrus: [[K:%.*]] = arith.addi %arg1
    # walrus: arith.cmpi sgt, [[K]]
    # walrus: tt.addptr %arg0, [[K]]
    if (k := n + 1) > 4:
        tl.store(p + k, 1.0)


@triton.jit
def builtins_of_python(p, n):
    # builtins_of_python-LABEL: @builtins_of_python
    # builtins_of_python: make_range {end = 4
    # builtins_of_python: arith.minsi
    N: tl.constexpr = max(len((1, 2)), min(4, int("9")), int(3.7))
    if isinstance(n, tl.tensor) and isinstance(N, tl.constexpr) and float("inf") > abs(-3):
        tl.store(p + tl.arange(0, N) + min(n, 3), float("-inf"))


@triton.jit
def locations(p, n):
    # locations-LABEL: @locations
    # locations: arith.addi {{.*}} loc([[SUM:#loc[0-9]*]])
    # locations-DAG: [[CALL:#loc[0-9]*]] = loc("{{.*}}calls.py":[[@LINE+2]]:18)
    # locations-DAG: [[SUM]] = loc(callsite({{#loc[0-9]*}} at [[CALL]]))
    tl.store(p + increment(n), 1.0)


@triton.jit
def too_many(p):
    # too_many: error: `increment` takes 1 positional arguments, and 2 were given [CallTooManyArguments]
    tl.store(p, increment(1, 2))


@triton.jit
def missing(p):
    # missing: error: `increment` needs a value for its parameter `x` [MissingArgument]
    tl.store(p, increment())


@triton.jit
def unknown(p):
    # unknown: error: `increment` has no parameter `y` [UnknownKeyword]
    tl.store(p, increment(1, y=2))


@triton.jit
def twice_given(p):
    # twice_given: error: `increment` got more than one value for its parameter `x` [RepeatedArgument]
    increment(1, x=2)


@triton.jit
def counted(N: tl.constexpr):
    return tl.arange(0, N)


@triton.jit
def not_constexpr(p, n):
    # not_constexpr: error: parameter `end` of `tl.arange` must be known at compile time, and a run-time value of type int32 was given [ArgumentNotConstexpr]
    # not_constexpr: called from here
    tl.store(p + counted(n), 1.0)


@triton.jit
def shifted(x, BY: tl.constexpr):
    return x + BY


@triton.jit
def run_time_for_constexpr(p, n):
    # run_time_for_constexpr-LABEL: @run_time_for_constexpr
    # run_time_for_constexpr: tt.splat %arg1 : i32
    tl.store(p + shifted(tl.arange(0, 8), n), 1.0)


@triton.jit
def for_ever(N: tl.constexpr):
    return for_ever(N + 1)


@triton.jit
def endless_recursion(p):
    # endless_recursion: error: calls of `for_ever` nest deeper than 64 levels [RecursionTooDeep]
    # endless_recursion: called from here
    tl.store(p, for_ever(0))


@triton.jit
def fork(N: tl.constexpr):
    return 1 if N == 0 else fork(N - 1) + fork(N - 1)


@triton.jit
def exploding_recursion(p):
    # exploding_recursion: [StaticBudget]
    tl.store(p, fork(60))


@triton.jit
def not_callable(p, n):
    # not_callable: error: int32 cannot be called [NotCallable]
    n(p)


@triton.jit
def text_callable(p):
    # text_callable: error: str cannot be called [NotCallable]
    "tl.load"(p)


@triton.jit
def many(**arguments):
    return 1


@triton.jit
def variadic(p):
    # variadic: error: `**kwargs` in the parameters of `many` is not supported in a kernel [UnsupportedConstruct]
    tl.store(p, many(a=1))


@triton.jit
def double_star(p):
    # double_star: error: `**` in a call is not supported
    write(p, 1.0, **p)


@triton.jit
def starred_scalar(p, n):
    # starred_scalar: error: int32 cannot be unpacked or iterated: it is not a tuple [NotATuple]
    write(*n)


@triton.jit
def unpack_count(p, n):
    # unpack_count: error: 2 names cannot be unpacked from 3 values [UnpackCount]
    a, b = (n, n, n)


@triton.jit
def unpack_scalar(p, n):
    # unpack_scalar: [NotATuple]
    a, b = n


@triton.jit
def faulty(x):
    return x + undefined_in_faulty


@triton.jit
def error_inside(p):
    # error_inside: calls.py:[[@LINE-5]]:16: error: `undefined_in_faulty` is not defined [UndefinedName]
    # error_inside: calls.py:[[@LINE+1]]:17: note: called from here
    tl.store(p, faulty(1))


@triton.jit
def run_time_filter(p, n):
    # run_time_filter: error: this condition needs a compile-time constant
    x = [i for i in (1, 2) if n > i]
