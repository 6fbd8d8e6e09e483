"""Constants: globals, constexpr parameters and locals, what a plain assignment does to a number, f-strings."""
# RUN: %ir globals_used 'p=*f32'
# RUN: %ir aliases 'p=*f32'
# RUN: %ir flows 'p=*f32,n=i32,BLOCK=8'
# RUN: %ir annotated 'p=*f32'
# RUN: %ir declared 'p=*f32'
# RUN: %ir defaults 'p=*f32'
# RUN: %ir specialized 'p=*f32,n=1'
# RUN: %ir tuples 'p=*f32,n=i32'
# RUN: %ir texts 'p=*f32,B=12'
# RUN: %ir literals 'p=*f32,q=*i64'
# RUN: %refused plain_global 'p=*f32'
# RUN: %refused plain_tuple_global 'p=*f32'
# RUN: %refused called_global 'p=*f32'
# RUN: %refused imported_global 'p=*f32'
# RUN: %ir handed_on 'p=*f32'
# RUN: %refused class_global 'p=*f32'
# RUN: %refused undecorated 'p=*f32'
# RUN: %refused conditional_global 'p=*f32'
# RUN: %refused module_global 'p=*f32'
# RUN: %refused unknown_attribute 'p=*f32'
# RUN: %refused lost_constant 'p=*f32'
# RUN: %ir reassigned 'p=*f32'
# RUN: %refused redefined 'p=*f32'
# RUN: %ir run_time_constexpr 'p=*f32,n=i32'
# RUN: %refused divided_by_zero 'p=*f32'
# RUN: %refused too_large 'p=*f32'
# RUN: %refused wrong_operands 'p=*f32'
# RUN: %refused negated_text 'p=*f32'
# RUN: %refused bad_shift 'p=*f32'
# RUN: %refused bad_format 'p=*f32'
# RUN: %refused run_time_text 'p=*f32,n=i32'
# RUN: %refused missing_constexpr 'p=*f32'
# RUN: %refused missing_argument 'p=*f32'
# RUN: %refused run_time_for_constexpr 'p=*f32,BLOCK=i32'
# RUN: %refused unknown_argument 'p=*f32,nonsense=3'
# RUN: %refused default_not_constant 'p=*f32'
# RUN: %ir asserts 'p=*f32,B=3'
# RUN: %refused undefined 'p=*f32'
import math
import os
from math import tau
from somewhere import imported
from package.triton_utils import tl as language, triton as package

import tegula as triton
import tegula.language as tl
from tegula.language import arange as ar, store

SIZE = tl.constexpr(2 ** 4)
HALF: tl.constexpr = SIZE // 2
LOG2E = tl.constexpr(math.log2(math.e))
SAME = SIZE
A, B = tl.constexpr(1), tl.constexpr(-1)
DT = tl.float16
ld = tl.load
PLAIN = 3
PAIR = (1, 2)
COMPUTED = os.getpid()
if COMPUTED:
    MAYBE = tl.constexpr(1)


class Thing:
    pass


def plain_function(x):
    return x


@triton.jit
def globals_used(p):
    # globals_used-LABEL: @globals_used
    # globals_used: arith.constant dense<2.885{{.*}}> : tensor<8xf32>
    # globals_used: make_range {end = 16 : i32, start = 8 : i32}
    tl.store(p + tl.arange(HALF, SAME), tl.full([HALF], LOG2E * (A - B), tl.float32))


@triton.jit
def aliases(p):
    # aliases-LABEL: @aliases
    # aliases: tt.load
    # aliases: arith.truncf {{.*}} to tensor<16xf16>
    x = ld(p + ar(0, SIZE)).to(DT)
    store(p + ar(0, SIZE), x * math.pi)


@triton.jit
def half_of(N: tl.constexpr):
    return N // 2


@triton.jit
def identity(x):
    return x


@triton.jit
def flows(p, n, BLOCK: tl.constexpr):
    # Constants stay constants through calls and returns.
    # flows-LABEL: @flows
    # flows: make_range {end = 4
    tl.store(p + tl.arange(0, identity(half_of(BLOCK))), 1.0)


@triton.jit
def annotated(p):
    # annotated-LABEL: @annotated
    # annotated: make_range {end = 32
    N: tl.constexpr = 4
    M: tl.constexpr = N * 8
    x: tl.float32 = 1.0
    tl.store(p + tl.arange(0, M), x)


@triton.jit
def declared(p):
    # declared-LABEL: @declared
    # declared: make_range {end = 4
    N: tl.constexpr
    N = 4
    tl.store(p + tl.arange(0, N), 1.0)


@triton.jit
def defaults(p, N: tl.constexpr = PLAIN + 5, other=None, dtype: tl.constexpr = tl.float32):
    # Defaults are evaluated where the function is defined: plain globals may stand in them.
    # defaults-LABEL: @defaults
    # defaults: make_range {end = 8
    if other is None:
        tl.store(p + tl.arange(0, N), tl.zeros([N], dtype))


@triton.jit
def specialized(p, n):
    # specialized-LABEL: @specialized(%arg0: !tt.ptr<f32> {tt.name = "p"})
    # specialized: tt.addptr %arg0, %c2_i32
    n += 1
    tl.store(p + n, 1.0)


@triton.jit
def tuples(p, n):
    # tuples-LABEL: @tuples
    # tuples: make_range {end = 8
    # tuples: tt.store
    # tuples-NOT: scf
    shape = (2, 4)
    a, (b, c) = 1, (n, 2)
    [d, e] = [a, b]
    all = (a, b) + (c, 3)
    N: tl.constexpr = (shape * 2)[1] * len(shape[::-1]) + (shape == (2, 5))
    kept = [x for x in (1, 2, 3, 4) if x % 2 == 0]
    if len(all[1:]) == 3 and kept == [2, 4]:
        tl.store(p + tl.arange(0, N), (d + e + all[-1]).to(tl.float32))


@triton.jit
def texts(p, B: tl.constexpr):
    # texts-LABEL: @texts
    # texts: make_range {end = 8
    width: tl.constexpr = 6
    if f"{B:>{width}d}|{B / 8:.2f}|{B!r}{'x'}" == "    12|1.50|12x":
        tl.store(p + tl.arange(0, 8), 1.0)


@triton.jit
def literals(p, q):
    # A number becomes the first of int32, uint32, int64, uint64 that holds it.
    # literals-LABEL: @literals
    # literals-DAG: arith.constant 5000000000 : i64
    # literals-DAG: arith.constant 3.0{{.*}} : f32
    big = 5_000_000_000
    tl.store(q, big)
    x = 3.0
    tl.store(p, x)


@triton.jit
def plain_global(p):
    # plain_global: error: the kernel uses the global `PLAIN`, a plain Python int that could change after compilation [GlobalNotConstexpr]
    # plain_global: hint: write `PLAIN = tl.constexpr(3)`
    tl.store(p, PLAIN)


@triton.jit
def plain_tuple_global(p):
    # plain_tuple_global: error: the kernel uses the global `PAIR`, a plain Python tuple {{.*}}[GlobalNotConstexpr]
    tl.store(p, PAIR[0])


@triton.jit
def called_global(p):
    # called_global: error: `COMPUTED` is the result of a Python call, known only when the file runs, which a kernel cannot use [UnusableGlobal]
    tl.store(p, COMPUTED)


@triton.jit
def imported_global(p):
    # imported_global: error: `imported` is imported from `somewhere`, which is outside this file
    tl.store(p, imported(p))


@triton.jit
def handed_on(p):
    # Packages have the language under its usual names.
    # handed_on: make_range {end = 4 : i32, start = 0 : i32}
    language.store(p + language.arange(0, package.cdiv(7, 2)), 1.0)


@triton.jit
def class_global(p):
    # class_global: error: `Thing` is a class
    tl.store(p, Thing())


@triton.jit
def undecorated(p):
    # undecorated: error: `plain_function` is a Python function without @triton.jit
    tl.store(p, plain_function(1.0))


@triton.jit
def conditional_global(p):
    # conditional_global: error: `MAYBE` is bound inside a statement that only Python can follow
    tl.store(p, MAYBE)


@triton.jit
def module_global(p):
    # module_global: error: `os` is the Python module `os`
    tl.store(p, os.getpid())


@triton.jit
def unknown_attribute(p):
    # unknown_attribute: error: module `triton.language` has no `no_such_thing` that a kernel can use [UnknownModuleAttribute]
    tl.no_such_thing(p)


@triton.jit
def lost_constant(p):
    # lost_constant: constants.py:[[@LINE+4]]:{{.*}} [ArgumentNotConstexpr]
    # lost_constant: hint: `BLOCK` became a run-time value when it was assigned on line [[@LINE+2]]; write `BLOCK: tl.constexpr = 4` there
    # ---
    BLOCK = 4
    tl.store(p + tl.arange(0, BLOCK), 1.0)


@triton.jit
def reassigned(p):
    # Without an annotation the name becomes a run-time value, as upstream has it.
    # reassigned: %[[SUM:.*]] = arith.constant 7 : i32
    # reassigned: tt.addptr %arg0, %[[SUM]]
    N: tl.constexpr = 4
    N = N + 3
    tl.store(p + N, 1.0)


@triton.jit
def redefined(p):
    # redefined: [ConstexprReassigned]
    N: tl.constexpr = 4
    N: tl.constexpr = 5


@triton.jit
def run_time_constexpr(p, n):
    # The annotation has no effect on a run-time value.
    # run_time_constexpr: %[[NEXT:.*]] = arith.addi %arg1
    # run_time_constexpr: tt.addptr %arg0, %[[NEXT]]
    N: tl.constexpr = n + 1
    tl.store(p + N, 1.0)


@triton.jit
def divided_by_zero(p):
    # divided_by_zero: error: division by zero in a constant expression: `1 // 0` [ConstDivisionByZero]
    tl.store(p, 1 // 0)


@triton.jit
def too_large(p):
    # too_large: error: a constant in this expression is larger than 4096 bits [ConstTooLarge]
    tl.store(p, 2 ** 2 ** 2 ** 2 ** 2)


@triton.jit
def wrong_operands(p):
    # wrong_operands: error: `+` does not apply to int and str [ConstOperands]
    tl.store(p, 1 + "a")


@triton.jit
def negated_text(p):
    # negated_text: error: `-` does not apply to str [ConstOperand]
    tl.store(p, -"a")


@triton.jit
def bad_shift(p):
    # bad_shift: error: `<<` is not defined for a negative shift count [ConstDomain]
    tl.store(p, 1 << -1)


@triton.jit
def bad_format(p):
    # bad_format: error: format specification `.3q` does not apply to int [FormatSpec]
    tl.static_print(f"{3:.3q}")


@triton.jit
def run_time_text(p, n):
    # run_time_text: error: a run-time value cannot stand in an f-string [FormatRunTime]
    tl.static_print(f"{n}")


@triton.jit
def missing_constexpr(p, BLOCK: tl.constexpr):
    # missing_constexpr: error: `missing_constexpr` needs a constant for its parameter `BLOCK`, a tl.constexpr [MissingConstexpr]
    pass


@triton.jit
def missing_argument(p, n):
    # missing_argument: error: `missing_argument` needs a value for its parameter `n` [MissingArgument]
    pass


@triton.jit
def run_time_for_constexpr(p, BLOCK: tl.constexpr):
    # run_time_for_constexpr: error: parameter `BLOCK` of `run_time_for_constexpr` is a tl.constexpr, and the value given is a run-time value of type int32 [ConstexprParameter]
    pass


@triton.jit
def unknown_argument(p):
    # unknown_argument: error: `unknown_argument` has no parameter `nonsense` [UnknownKeyword]
    pass


@triton.jit
def default_not_constant(p, n=COMPUTED + 1):
    # default_not_constant: error: this expression is not a constant: {{.*}} [NotConstant]
    pass


@triton.jit
def asserts(p, B: tl.constexpr):
    # Without debug an assertion is nothing, be it of a constant that is false.
    # asserts-LABEL: @asserts
    # asserts-NOT: assert
    # asserts: return
    assert B > 2
    assert tl.load(p) > 0, "dropped without debug"
    assert B % 2 == 0, f"B is {B}"


@triton.jit
def undefined(p):
    # Later statements are still checked; what uses a broken name says nothing more.
    # undefined: error: `no_name` is not defined [UndefinedName]
    # undefined-NOT: error
    # undefined: error: `another` is not defined [UndefinedName]
    # undefined-NOT: error
    x = no_name + 1
    y = x * 2
    tl.store(p, y)
    tl.store(p, another)
