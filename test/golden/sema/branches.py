"""Compile-time and run-time `if`: dead branches, merges, early returns, conditional expressions."""
# RUN: %ir dead_branch 'p=*f32,other=None,FLAG=False,KIND=b'
# RUN: %ir short_circuit 'p=*f32,n=i32,EVEN=False'
# RUN: %ir merge 'p=*f32,n=i32'
# RUN: %ir merge_tuple 'p=*f32,n=i32'
# RUN: %ir one_side 'p=*f32,n=i32'
# RUN: %ir early_return 'p=*f32,n=i32,m=i32'
# RUN: %ir nested_return 'p=*f32,n=i32,m=i32'
# RUN: %ir helper_return 'p=*f32,n=i32'
# RUN: %ir both_return 'p=*f32,n=i32'
# RUN: %ir conditional 'p=*f32,n=i32,FLAG=True'
# RUN: %ir size_one_condition 'p=*i32'
# RUN: %refused one_branch 'p=*f32,n=i32'
# RUN: %refused mismatch 'p=*f32,n=i32'
# RUN: %refused initial_mismatch 'p=*f32,n=i32'
# RUN: %refused none_mismatch 'p=*f32,n=i32'
# RUN: %refused return_mismatch 'p=*f32,n=i32'
# RUN: %refused conditional_mismatch 'p=*f32,n=i32'
# RUN: %refused ambiguous 'p=*f32'
# RUN: %refused return_value 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def dead_branch(p, other, FLAG: tl.constexpr, KIND: tl.constexpr):
    # dead_branch-LABEL: @dead_branch
    # dead_branch-NOT: scf.if
    # dead_branch: tt.store {{.*}}, %cst : !tt.ptr<f32>
    if FLAG:
        this_name_does_not_exist(p)
    elif KIND == "a" or other is not None:
        tl.store(other, undefined_too)
    elif not FLAG and KIND in ("b", "c"):
        tl.store(p, 2.0)
    else:
        tl.store(p, nothing)


@triton.jit
def short_circuit(p, n, EVEN: tl.constexpr):
    # A constant decides wherever it stands.
    # short_circuit-LABEL: @short_circuit
    # short_circuit-NOT: scf.if
    # short_circuit: arith.constant 1.0{{.*}} : f32
    if n > 0 and EVEN:
        tl.store(p, 3.0)
    if n > 0 or not EVEN:
        tl.store(p, 1.0)


@triton.jit
def merge(p, n):
    # merge-LABEL: @merge
    # merge: [[R:%.*]]:2 = scf.if {{.*}} -> (i32, f32)
    # merge-COUNT-2: scf.yield {{.*}} : i32, f32
    # merge: tt.addptr %arg0, [[R]]#0
    # merge: tt.store {{.*}}, [[R]]#1
    k = 3
    x = 0.0
    same = n + 1
    if n > 5:
        k = tl.load(p).to(tl.int32)
        x = tl.load(p + 1)
        only_here = 7
    else:
        x = 2.0
    tl.store(p + k, x)


@triton.jit
def merge_tuple(p, n):
    # merge_tuple-LABEL: @merge_tuple
    # merge_tuple: scf.if {{.*}} -> (i32)
    # merge_tuple: tt.store
    t = (n, (1.5, "text"))
    if n > 5:
        t = (n + 1, (1.5, "text"))
    i, (x, name) = t
    if name == "text":
        tl.store(p + i, x)


@triton.jit
def one_side(p, n):
    # one_side-LABEL: @one_side
    # one_side: scf.if %{{[0-9]+}} {
    # one_side: tt.store
    # one_side: }
    # one_side-NEXT: tt.return
    if n:
        v = 1.0
        tl.store(p, v)


@triton.jit
def early_return(p, n, m):
    # early_return-LABEL: @early_return
    # early_return: scf.if
    # early_return-NEXT: } else {
    # early_return: tt.store
    # early_return: scf.if
    # early_return: tt.store
    # early_return-NEXT: } else {
    # early_return-NEXT: arith.addi
    # early_return: tt.store
    # early_return: tt.return
    if n == 0:
        return
    tl.store(p, 1.0)
    k = n
    if m == 0:
        tl.store(p + 7, 1.0)
        return
    else:
        k = m + n
    tl.store(p + k, 2.0)


@triton.jit
def nested_return(p, n, m):
    # Where a branch only may return, what comes after it runs if it has not.
    # nested_return-LABEL: @nested_return
    # nested_return-COUNT-2: scf.if
    # nested_return: tt.store {{.*}}, %cst
    # nested_return-NOT: tt.store
    if n == 0:
        if m == 0:
            return
    tl.store(p, 1.0)


@triton.jit
def clipped(x, LOW: tl.constexpr = 0):
    if x < LOW:
        return 0.0, LOW
    if LOW == 100:
        return "never"
    y = x * 2
    if y > 10:
        return 10.0, y
    return y.to(tl.float32), y


@triton.jit
def helper_return(p, n):
    # helper_return-LABEL: @helper_return
    # helper_return: [[R:%.*]]:2 = scf.if {{.*}} -> (f32, i32)
    # helper_return-NEXT: scf.yield %cst{{.*}}, %c0_i32
    # helper_return: scf.if {{.*}} -> (f32)
    # helper_return: tt.addptr %arg0, [[R]]#1
    # helper_return: tt.store {{.*}}, [[R]]#0
    value, index = clipped(n)
    tl.store(p + index, value)


@triton.jit
def sign(n):
    if n > 0:
        return 1
    else:
        return -1
    this_is_dead


@triton.jit
def both_return(p, n):
    # both_return-LABEL: @both_return
    # both_return: arith.select {{.*}} : i32
    # both_return: tt.addptr
    tl.store(p + sign(n), 1.0)


@triton.jit
def conditional(p, n, FLAG: tl.constexpr):
    # conditional-LABEL: @conditional
    # conditional: [[X:%.*]] = scf.if {{.*}} -> (f32) {
    # conditional: tt.load
    # conditional: } else {
    # conditional: tt.store {{.*}}, [[X]]
    x = tl.load(p) if n > 0 else 0.0
    y = x if FLAG else undefined_name
    tl.store(p, y)


@triton.jit
def size_one_condition(p):
    # size_one_condition-LABEL: @size_one_condition
    # size_one_condition: tt.unsplat
    # size_one_condition: scf.if
    if tl.load(p + tl.arange(0, 1)) > 0:
        tl.store(p, 1)


@triton.jit
def one_branch(p, n):
    # one_branch: branches.py:[[@LINE+5]]:{{[0-9]+}}: error: `v` is defined in only one branch of the `if` at line [[@LINE+3]]
    # one_branch: hint: give `v` a value before the `if`, or in both branches
    # one_branch-NOT: error
    if n > 0:
        v = 1.0
    tl.store(p, v)


@triton.jit
def mismatch(p, n):
    # mismatch: error: Mismatched type for v between then block (fp32) and else block (int32) [MergeMismatch]
    if n > 0:
        v = 1.0
    else:
        v = 1
    tl.store(p, v)


@triton.jit
def initial_mismatch(p, n):
    # initial_mismatch: error: initial value for `v` is of type fp32, but the then block redefines it as int32 [MergeInitialMismatch]
    v = 1.0
    if n > 0:
        v = 1
    tl.store(p, v)


@triton.jit
def none_mismatch(p, n):
    # none_mismatch: error: initial value for `v` is of type None, but the then block redefines it as fp32 [MergeInitialMismatch]
    v = None
    if n > 0:
        v = 1.0
    tl.store(p, v)


@triton.jit
def two_types(n):
    if n > 0:
        return 1.0
    return n


@triton.jit
def return_mismatch(p, n):
    # return_mismatch: error: Inconsistent return types: `two_types` returns float on one path and int32 on another [ReturnMismatch]
    # return_mismatch: called from here
    tl.store(p, two_types(n))


@triton.jit
def conditional_mismatch(p, n):
    # conditional_mismatch: error: Ternary expression with dynamic condition has inconsistent types fp32 and int32 [ConditionalMismatch]
    tl.store(p, 1.0 if n > 0 else 2)


@triton.jit
def ambiguous(p):
    # ambiguous: error: the truth of a tile of type {{.*}} is ambiguous: only a scalar can decide a branch [AmbiguousCondition]
    if tl.load(p + tl.arange(0, 4)) > 0:
        tl.store(p, 1.0)


@triton.jit
def return_value(p):
    # return_value: error: a kernel cannot return a value [ReturnValueInKernel]
    return tl.load(p)
