"""Loops: what they carry, their bounds, unrolling, `while`, budgets."""
# RUN: %ir carried 'p=*f32,n=i32'
# RUN: %ir unchanged 'p=*f32,n=i32,N=4'
# RUN: %ir nested 'p=*f32,n=i32'
# RUN: %ir bounds 'p=*f32,n=i64'
# RUN: %ir unsigned 'p=*f32,n=u32'
# RUN: %ir backwards 'p=*f32,n=i32'
# RUN: %ir names_of_loops 'p=*f32,n=i32'
# RUN: %ir variable_from_before 'p=*f32,n=i32'
# RUN: %ir hints 'p=*f32,n=i32'
# RUN: %ir tuple_carried 'p=*f32,n=i32'
# RUN: %ir parameter 'p=*f32,n=i32,B=8'
# RUN: %ir unrolled 'p=*f32'
# RUN: %ir unrolled_return 'p=*f32,n=i32'
# RUN: %ir while_loop 'p=*f32,n=i32'
# RUN: %ir never 'p=*f32'
# RUN: %ir dead_assignment 'p=*f32,n=i32,B=8,GROW=False'
# RUN: %refused changes_type 'p=*f32,n=i32'
# RUN: %refused changes_shape 'p=*f32,n=i32'
# RUN: %refused none_carried 'p=*f32,n=i32'
# RUN: %refused local_after 'p=*f32,n=i32'
# RUN: %ir variable_after 'p=*f32,n=i32'
# RUN: %refused not_a_range 'p=*f32'
# RUN: %refused float_bound 'p=*f32'
# RUN: %refused zero_step 'p=*f32,n=i32'
# RUN: %refused static_bound 'p=*f32,n=i32'
# RUN: %refused endless 'p=*f32'
# RUN: %refused too_long 'p=*f32'
# RUN: %refused too_many_operations 'p=*f32'
# RUN: %refused endless_while_constant 'p=*f32,B=8'
# RUN: %ir return_inside 'p=*f32,n=i32'
# RUN: %ir break_inside 'p=*f32,n=i32'
# RUN: %ir continue_inside 'p=*f32,n=i32'
# RUN: %ir dead_break 'p=*f32,n=i32,FLAG=False'
# RUN: %refused constexpr_carried 'p=*f32,n=i32'
# RUN: %refused loop_else 'p=*f32,n=i32'
# RUN: %refused unknown_hint 'p=*f32,n=i32'
# RUN: %refused many_arguments 'p=*f32,n=i32'
# RUN: %refused run_time_hint 'p=*f32,n=i32'
import triton
import triton.language as tl


@triton.jit
def carried(p, n):
    # carried-LABEL: @carried
    # carried: [[R:%.*]] = scf.for %{{.*}} = %c0_i32 to %arg1 step %c1_i32 iter_args([[ACC:%.*]] = %cst) -> (f32)
    # carried: [[NEXT:%.*]] = arith.addf [[ACC]], %{{.*}}
    # carried: scf.yield [[NEXT]] : f32
    # carried: tt.store %arg0, [[R]]
    acc = 0.0
    for i in range(n):
        x = tl.load(p + i)
        acc += x
    tl.store(p, acc)


@triton.jit
def unchanged(p, n, N: tl.constexpr):
    # Names that the loop leaves alone are no operands of it.
    # unchanged-LABEL: @unchanged
    # unchanged: scf.for {{.*}} : i32 {
    # unchanged-NOT: iter_args
    k = n + N
    for i in range(0, N):
        k = k
        tl.store(p + k + i, 1.0)


@triton.jit
def nested(p, n):
    # nested-LABEL: @nested
    # nested: scf.for {{.*}} iter_args({{.*}}) -> (f32)
    # nested: scf.for {{.*}} iter_args({{.*}}) -> (f32)
    # nested: scf.if {{.*}} -> (f32)
    acc = 0.0
    for i in range(n):
        for j in range(i):
            if j > 3:
                acc += tl.load(p + j)
    tl.store(p, acc)


@triton.jit
def bounds(p, n):
    # bounds-LABEL: @bounds
    # bounds: scf.for %{{.*}} = %c3_i64 to %arg1 step %c2_i64 : i64
    for i in range(3, n, 2):
        tl.store(p + i, 1.0)


@triton.jit
def unsigned(p, n):
    # unsigned-LABEL: @unsigned
    # unsigned: scf.for unsigned
    for i in range(n):
        tl.store(p + i, 1.0)


@triton.jit
def backwards(p, n):
    # A negative constant step: the loop counts up, the variable down: i = n + 0 - j.
    # backwards-LABEL: @backwards
    # backwards: scf.for [[J:%.*]] = %c0_i32 to %arg1 step %c2_i32
    # backwards: [[I:%.*]] = arith.subi %arg1, [[J]]
    # backwards: tt.addptr %arg0, [[I]]
    for i in range(n, 0, -2):
        tl.store(p + i, 1.0)


@triton.jit
def hints(p, n):
    # hints-LABEL: @hints
    # hints: scf.for
    # hints: {tt.flatten, tt.loop_unroll_factor = 2 : i32, tt.num_stages = 3 : i32}
    for i in tl.range(0, n, num_stages=3, loop_unroll_factor=2, flatten=True, warp_specialize=False):
        tl.store(p + i, 1.0)


@triton.jit
def tuple_carried(p, n):
    # tuple_carried-LABEL: @tuple_carried
    # tuple_carried: scf.for {{.*}} iter_args({{.*}}) -> (i32, f32)
    state = (0, 1.0)
    for i in range(n):
        count, value = state
        state = (count + i, value * 2.0)
    tl.store(p + state[0], state[1])


@triton.jit
def parameter(p, n, B: tl.constexpr):
    # Parameters are ordinary names; a constant that a loop changes becomes a run-time value.
    # parameter-LABEL: @parameter
    # parameter: scf.for {{.*}} iter_args({{.*}} = %arg0, {{.*}} = %c8_i32) -> (!tt.ptr<f32>, i32)
    for i in range(n):
        tl.store(p, 1.0)
        p += B
        B = B + 1


@triton.jit
def unrolled(p):
    # unrolled-LABEL: @unrolled
    # unrolled-NOT: scf.for
    # unrolled: make_range {end = 4
    # unrolled: make_range {end = 8
    # unrolled: make_range {end = 16
    # unrolled-NOT: make_range
    for i in tl.static_range(2, 5):
        size: tl.constexpr = 2 ** i
        tl.store(p + tl.arange(0, size), 1.0)


@triton.jit
def first_even(START: tl.constexpr):
    for i in tl.static_range(START, START + 10):
        if i % 2 == 0:
            return i


@triton.jit
def unrolled_return(p, n):
    # unrolled_return-LABEL: @unrolled_return
    # unrolled_return: make_range {end = 8
    tl.store(p + tl.arange(0, first_even(7)), 1.0)


@triton.jit
def while_loop(p, n):
    # while_loop-LABEL: @while_loop
    # while_loop: scf.while ([[K:%.*]] = %arg1) : (i32) -> i32
    # while_loop: arith.cmpi sgt, [[K]], %c1_i32
    # while_loop: scf.condition
    # while_loop: } do {
    # while_loop: arith.divsi
    # while_loop: scf.yield
    k = n
    while k > 1 and tl.load(p + k) < 1.0:
        k = k // 2
    tl.store(p + k, 1.0)


@triton.jit
def never(p):
    # never-LABEL: @never
    # never-NOT: scf.while
    # never: tt.store
    k = 5
    while False:
        k += 1
    tl.store(p + k, 1.0)


@triton.jit
def dead_assignment(p, n, B: tl.constexpr, GROW: tl.constexpr):
    # dead_assignment-LABEL: @dead_assignment
    # dead_assignment: make_range {end = 8
    for i in range(n):
        if GROW:
            B = B * 2
        tl.store(p + i * B + tl.arange(0, B), 1.0)


@triton.jit
def changes_type(p, n):
    # changes_type: loops.py:[[@LINE+4]]:{{[0-9]+}}: error: Loop-carried variable k has initial type int32 but is re-assigned to fp32 in this loop [LoopCarriedMismatch]
    # changes_type: hint: give `k` its final type before the loop
    k = 0
    # ---
    for i in range(n):
        k += 1.5
    tl.store(p, k)


@triton.jit
def changes_shape(p, n):
    # changes_shape: error: Loop-carried variable acc has initial type fp32 but is re-assigned to <['8'], fp32> in this loop
    acc = 0.0
    for i in range(n):
        acc += tl.load(p + tl.arange(0, 8))


@triton.jit
def none_carried(p, n):
    # none_carried: error: Loop-carried variable last has initial type None but is re-assigned to fp32 in this loop
    last = None
    for i in range(n):
        last = tl.load(p + i)


@triton.jit
def local_after(p, n):
    # local_after: error: `x` is first assigned inside the loop at line [[@LINE+1]], and is not defined after it [LoopLocalName]
    for i in range(n):
        x = tl.load(p + i)
    tl.store(p, x)


@triton.jit
def variable_after(p, n):
    # The last value is computed from the range, where it is asked for.
    # variable_after-LABEL: @variable_after
    # variable_after: scf.for {{.*}} : i32 {
    # variable_after: [[LAST:%.*]] = arith.select
    # variable_after: tt.addptr %arg0, [[LAST]]
    for i in range(n):
        tl.store(p + i, 1.0)
    tl.store(p + i, 2.0)


@triton.jit
def not_a_range(p):
    # not_a_range: error: a `for` loop in a kernel iterates over `range`, `tl.range`, `tl.static_range` or a tuple [LoopIterable]
    for i in p:
        tl.store(p + i, 1.0)


@triton.jit
def float_bound(p):
    # float_bound: error: the stop of a loop must be an integer scalar, and is float [LoopBound]
    for i in range(2.5):
        tl.store(p + i, 1.0)


@triton.jit
def zero_step(p, n):
    # zero_step: error: the step of a loop must not be zero [LoopStepZero]
    for i in range(0, n, 0):
        tl.store(p + i, 1.0)


@triton.jit
def static_bound(p, n):
    # static_bound: error: tl.static_range needs compile-time integer bounds, and the stop is int32 [StaticRangeBound]
    for i in tl.static_range(n):
        tl.store(p + i, 1.0)


@triton.jit
def endless(p):
    # endless: error: this `while` loop never ends: its condition is a constant that is true [LoopNeverEnds]
    while True:
        tl.store(p, 1.0)


@triton.jit
def too_long(p):
    # too_long: error: compiling this kernel takes more than {{[0-9]+}} steps: a compile-time loop or recursion is too long, or does not end [StaticBudget]
    for i in tl.static_range(10 ** 15):
        pass


@triton.jit
def too_many_operations(p):
    # too_many_operations: error: this kernel expands to more than {{[0-9]+}} operations [OperationBudget]
    for i in tl.static_range(200000):
        tl.store(p + i + 1 + i + 2 + i + 3, tl.load(p + i))


@triton.jit
def endless_while_constant(p, B: tl.constexpr):
    # endless_while_constant: [LoopNeverEnds]
    while B > 4:
        tl.store(p, 1.0)


@triton.jit
def return_inside(p, n):
    # The loop carries whether there is another trip, and whether a path has returned; what follows asks.
    # return_inside-LABEL: @return_inside
    # return_inside-NOT: scf.for
    # return_inside: [[R:%.*]]:{{[0-9]+}} = scf.while
    # return_inside: scf.condition
    # return_inside: scf.if
    # return_inside: tt.store
    # return_inside: scf.yield
    # return_inside: scf.if
    # return_inside: tt.store
    for i in range(n):
        if i > 3:
            return
        tl.store(p + i, 1.0)
    tl.store(p, 2.0)


@triton.jit
def break_inside(p, n):
    # break_inside-LABEL: @break_inside
    # break_inside: scf.while
    # break_inside: tt.load
    # break_inside: scf.if
    # break_inside: tt.store
    # break_inside-NOT: scf.if
    for i in range(n):
        if tl.load(p + i) > 3:
            break
        tl.store(p + i, 1.0)


@triton.jit
def continue_inside(p, n):
    # continue_inside-LABEL: @continue_inside
    # continue_inside: scf.for
    # continue_inside: scf.if
    # continue_inside: tt.store
    for i in range(n):
        if tl.load(p + i) > 3:
            continue
        tl.store(p + i, 1.0)


@triton.jit
def dead_break(p, n, FLAG: tl.constexpr):
    # A loop whose exits are dead code is an ordinary one.
    # dead_break-LABEL: @dead_break
    # dead_break-NOT: scf.while
    # dead_break: scf.for
    for i in range(n):
        if FLAG:
            if i > 3:
                break
        tl.store(p + i, 1.0)


@triton.jit
def constexpr_carried(p, n):
    # constexpr_carried: error: `B` is a `tl.constexpr` and cannot be assigned again [ConstexprReassigned]
    B: tl.constexpr = 4
    for i in range(n):
        B = B * 2


@triton.jit
def loop_else(p, n):
    # loop_else: error: `else` of a loop is not supported in a kernel
    for i in range(n):
        tl.store(p + i, 1.0)
    else:
        tl.store(p, 1.0)


@triton.jit
def unknown_hint(p, n):
    # unknown_hint: error: `range` has no parameter `stages` [UnknownKeyword]
    for i in tl.range(n, stages=3):
        tl.store(p + i, 1.0)


@triton.jit
def many_arguments(p, n):
    # many_arguments: error: `range` takes 3 positional arguments, and 4 were given [CallTooManyArguments]
    for i in range(0, n, 1, 2):
        tl.store(p + i, 1.0)


@triton.jit
def run_time_hint(p, n):
    # run_time_hint: error: `num_stages` needs a compile-time constant, and this is a run-time value of type int32 [ConstexprNeeded]
    for i in tl.range(0, n, num_stages=n):
        tl.store(p + i, 1.0)


@triton.jit
def names_of_loops(p, n):
    # Variables of loops that nobody reads behind them are no operands of the loops around them.
    # names_of_loops-LABEL: @names_of_loops
    # names_of_loops-NOT: iter_args
    # names_of_loops: tt.return
    for j in tl.static_range(2):
        tl.store(p + j, 1.0)
    k = 5
    for i in range(n):
        for j in range(i):
            tl.store(p + j, 1.0)
        for k in range(j_after(i)):
            tl.store(p + k, 1.0)


@triton.jit
def j_after(i):
    return i + 1


@triton.jit
def variable_from_before(p, n):
    # In the second trip it has what the loop inside left.
    # variable_from_before-LABEL: @variable_from_before
    # variable_from_before: scf.for {{.*}} iter_args(%[[K:.*]] = %c5_i32)
    # variable_from_before: tt.addptr %arg0, %[[K]]
    # variable_from_before: scf.for
    # variable_from_before: scf.yield %{{.*}} : i32
    k = 5
    for i in range(n):
        tl.store(p + k, 1.0)
        for k in range(i):
            tl.store(p + k, 2.0)
