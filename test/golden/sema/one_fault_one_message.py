"""A fault that follows from a mistake is not told as another one."""
# RUN: %refused assigned_in_loop 'p=*f32,n=i32'
# RUN: %refused assigned_in_branch 'p=*f32,n=i32'
# RUN: %refused behind_early_return 'p=*f32,n=i32'
# RUN: %refused two_calls 'p=*f32,n=i32'
# RUN: %refused targets_of_loop 'p=*f32,n=i32'
# RUN: %refused loop_variable 'p=*f32,n=i32'
# RUN: %refused bound_by_refused 'p=*f32,n=i32'
# RUN: %refused bound_by_unknown 'p=*f32,n=i32'
# RUN: %refused two_mistakes 'p=*f32,n=i32'
import triton
import triton.language as tl


@triton.jit
def helper(x, y):
    return x + y


@triton.jit
def assigned_in_loop(p, n):
    # assigned_in_loop: error: `helper` needs a value for its parameter `y` [MissingArgument]
    # assigned_in_loop-NOT: error
    x = helper(p)
    for i in range(0, n):
        x = tl.load(p + i)
    tl.store(p, x)


@triton.jit
def assigned_in_branch(p, n):
    # assigned_in_branch: error: `helper` needs a value
    # assigned_in_branch-NOT: error
    x = helper(n)
    if n > 3:
        x = n
    tl.store(p, x)


@triton.jit
def behind_early_return(p, n):
    # behind_early_return: error: `helper` needs a value
    # behind_early_return-NOT: error
    if n > 3:
        return
    x = helper(n)
    tl.store(p, x)


@triton.jit
def early(p, n):
    if n > 3:
        return n
    return helper(n)


@triton.jit
def two_calls(p, n):
    # two_calls: error: `helper` needs a value
    # two_calls: [[@LINE+3]]:9: note: called from here
    # two_calls: error: `helper` needs a value
    # two_calls: [[@LINE+3]]:9: note: called from here
    x = early(p, n)
    y = x + 1
    z = early(p, n)


@triton.jit
def targets_of_loop(p, n):
    # targets_of_loop: error: a `for` loop in a kernel iterates over
    # targets_of_loop-NOT: error
    for u, v in n:
        s = u
    tl.store(p, u)
    tl.store(p, v)
    tl.store(p, s)


@triton.jit
def loop_variable(p, n):
    # loop_variable: error: `tl.cdiv` needs a value for its parameter `div` [BuiltinMissingArgument]
    # loop_variable-NOT: error
    for i in range(0, tl.cdiv(n)):
        for j in range(i):
            x = j
    tl.store(p + i + j, x)


@triton.jit
def bound_by_refused(p, n):
    # bound_by_refused-COUNT-5: is not supported in a kernel
    # bound_by_refused-NOT: error
    import math.inner
    from math import pi as ratio
    class Local:
        pass
    def local(x):
        return x
    with tl.somewhere() as opened:
        inside = opened
    tl.store(p, math.x)
    tl.store(p, ratio)
    tl.store(p, Local)
    tl.store(p, local(1))
    tl.store(p, opened)
    tl.store(p, inside)


@triton.jit
def bound_by_unknown(p, n):
    # bound_by_unknown-COUNT-3: is not supported in a kernel
    # bound_by_unknown-NOT: error
    try:
        w = 1
    except Exception as caught:
        v = 1
    global outside
    match n:
        case pattern:
            pass
    tl.store(p, w)
    tl.store(p, caught)
    tl.store(p, outside)
    tl.store(p, pattern)


@triton.jit
def two_mistakes(p, n):
    # two_mistakes: error: `helper` needs a value
    # two_mistakes: error: `undefined` is not defined [UndefinedName]
    x = helper(n)
    tl.store(p, undefined)
