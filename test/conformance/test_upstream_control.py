"""Control flow: branches on constants and at run time, loops and what they carry, early returns, helpers."""
import pytest
import torch
import triton
import triton.language as tl


def run(kernel, device, *args, n=8, dtype=torch.int32, **options):
    out = torch.full((n,), -1, dtype=dtype, device=device)
    kernel[(1,)](out, *args, **options)
    return out.tolist()


@triton.jit
def dead_branch_kernel(out, x_ptr, FLAG: tl.constexpr):
    if FLAG:
        tl.store(out, 1)
    else:
        tl.store(out, tl.load(x_ptr + tl.arange(0, 3)) + undefined_name)  # noqa: F821


def test_the_dead_branch_of_a_constant_condition_is_not_looked_at(device):
    assert run(dead_branch_kernel, device, None, FLAG=True)[0] == 1


@triton.jit
def merge_kernel(out, n):
    x = 1
    if n > 3:
        x = 10
        y = 5
    elif n > 1:
        x += 1
        y = 6
    else:
        y = x
    tl.store(out, x)
    tl.store(out + 1, y)
    z = 7 if n == 2 else 8
    tl.store(out + 2, z)
    w = n if n > 2 else -n
    tl.store(out + 3, w)


@pytest.mark.parametrize("n, right", [(0, [1, 1, 8, 0]), (2, [2, 6, 7, -2]), (5, [10, 5, 8, 5])])
def test_branches_at_run_time_merge(device, n, right):
    assert run(merge_kernel, device, n)[:4] == right


@triton.jit
def early_return_kernel(out, n):
    if n < 0:
        return
    tl.store(out, 1)
    if n > 5:
        tl.store(out + 1, 2)
        return
    tl.store(out + 2, 3)


@pytest.mark.parametrize("n, right", [(-1, [-1, -1, -1]), (9, [1, 2, -1]), (2, [1, -1, 3])])
def test_early_return(device, n, right):
    assert run(early_return_kernel, device, n)[:3] == right


@triton.jit
def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@triton.jit
def returns_kernel(out, n):
    tl.store(out, sign(n))
    tl.store(out + 1, sign(n) * 10 + sign(-n))


@pytest.mark.parametrize("n", [-4, 0, 7])
def test_helpers_return_early(device, n):
    s = (n > 0) - (n < 0)
    assert run(returns_kernel, device, n)[:2] == [s, 10 * s - s]


@triton.jit
def loops_kernel(out, lo, hi, step):
    count = 0
    last = -100
    for i in range(lo, hi, step):
        count += 1
        last = i
    tl.store(out, count)
    tl.store(out + 1, last)
    down = 0
    for i in range(hi, lo, -2):
        down = down * 3 + i
    tl.store(out + 2, down)
    total = 0
    for i in tl.range(hi):
        for j in range(i):
            total += i * j
    tl.store(out + 3, total)


@pytest.mark.parametrize("bounds", [(0, 5, 1), (2, 11, 3), (5, 2, 1), (-3, 4, 2)], ids=str)
def test_loops_over_ranges(device, bounds):
    lo, hi, step = bounds
    trips = list(range(lo, hi, step))
    down = 0
    for i in range(hi, lo, -2):
        down = down * 3 + i
    right = [len(trips), trips[-1] if trips else -100, down, sum(i * j for i in range(hi) for j in range(i))]
    assert run(loops_kernel, device, *bounds)[:4] == right


@triton.jit
def condition_bounds_kernel(out, flag, ONE: tl.constexpr):
    trips = 0
    for i in range(ONE):
        trips += 1
    for i in range(flag != 0):
        trips += 10
    for i in tl.range(flag == 0, 3):
        trips += 100
    for i in tl.static_range(ONE):
        trips += 1000
    tl.store(out, trips)


@pytest.mark.parametrize("flag, one, right", [(5, True, 1311), (0, True, 1201), (5, False, 310)])
def test_conditions_are_bounds_of_loops(device, flag, one, right):
    assert run(condition_bounds_kernel, device, flag, ONE=one)[0] == right


@triton.jit
def static_kernel(out, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.static_assert(i >= 0)
        if i % 2 == 0:
            tl.store(out + i, i * 10)
    for i in tl.static_range(N, 0, -2):
        tl.store(out + i, i)


def test_static_range_gives_constants(device):
    assert run(static_kernel, device, N=5) == [0, 1, 20, 3, 40, 5, -1, -1]


@triton.jit
def while_kernel(out, n):
    steps = 0
    x = n
    while x != 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(out, steps)
    i = 0
    while i < 4 and i < n:
        i += 1
    tl.store(out + 1, i)
    while (i > 0) & (i != 2):
        i -= 1
    tl.store(out + 2, i)


@pytest.mark.parametrize("n, right", [(1, [0, 1, 0]), (6, [8, 4, 2]), (27, [111, 4, 2])])
def test_while(device, n, right):
    assert run(while_kernel, device, n)[:3] == right


@triton.jit
def step_of_a_loop(i, n):
    goes_on = i < n
    if goes_on:
        value = 7 + tl.program_id(0)
    else:
        value = i
    return goes_on, value, value


@triton.jit
def condition_with_a_tuple_kernel(out, n):
    i = 0
    total = 0
    step = (i < n, 0, 0)
    while (step := step_of_a_loop(i, n))[0]:
        total += step[1] * 100 + step[2]
        i += 1
    tl.store(out, total)
    tl.store(out + 1, step[1] * 100 + step[2])


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_condition_that_branches_hands_on_one_value_twice(device, n):
    assert run(condition_with_a_tuple_kernel, device, n)[:2] == [707 * n, 101 * n]


@triton.jit
def carried_kernel(out, n):
    a = tl.arange(0, 8)
    b = tl.zeros((8,), tl.int32)
    for i in range(n):
        a, b = b + i, a
        if i % 3 == 2:
            b = b * 2
    tl.store(out + tl.arange(0, 8), a * 100 + b)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_tiles_are_carried_and_swapped(device, n):
    a, b = torch.arange(8), torch.zeros(8, dtype=torch.int64)
    for i in range(n):
        a, b = b + i, a
        if i % 3 == 2:
            b = b * 2
    assert run(carried_kernel, device, n) == (a * 100 + b).tolist()


@triton.jit
def parts(x, K: tl.constexpr = 3):
    return x % K, x // K


@triton.jit
def swap_if(a, b, FLAG: tl.constexpr):
    if FLAG:
        return b, a
    else:
        return a, b


@triton.jit
def tuples_kernel(out, n):
    r, q = parts(n)
    tl.store(out, r)
    tl.store(out + 1, q)
    both = parts(n, K=5)
    tl.store(out + 2, both[0] * 10 + both[1])
    a, b = swap_if(r, q, True)
    c = 4
    tl.store(out + 3, a * 100 + b * 10 + c)
    d = swap_if(*parts(n), FLAG=False)
    tl.store(out + 4, d[0] - d[1])
    t = (1, 2) + (n,)
    tl.store(out + 5, len(t) * 10 + t[2])
    tl.store(out + 6, t[-1] + t[0:2][1])


def test_tuples_and_defaults(device):
    assert run(tuples_kernel, device, 17)[:7] == [2, 5, 23, 524, -3, 47, 19]


@triton.jit
def annotated_kernel(out, n):
    m = n * 2
    if m > 10:
        tl.store(out, m)
    x: tl.constexpr = 4
    y: tl.constexpr = x * 2 + 1
    z = tl.zeros((y - 1,), tl.int32) + y
    tl.store(out + tl.arange(0, 8), z, mask=tl.arange(0, 8) > 0)
    i: tl.int32 = 3
    i += 1
    tl.store(out + 7, i)


def test_annotated_names(device):
    assert run(annotated_kernel, device, 6) == [12, 9, 9, 9, 9, 9, 9, 4]


@triton.jit
def wrapped_bits(WIDTH: tl.constexpr):
    bits = tl.full((1,), 12, tl.int32)
    if WIDTH > 4:
        bits += 1
    bits = tl.constexpr(bits)
    return bits


@triton.jit
def wrapped_kernel(out, n, WIDTH: tl.constexpr):
    stride = tl.constexpr(n)
    bits = wrapped_bits(WIDTH)
    i = tl.arange(0, 4)
    tl.store(out + i * stride, (i + 9) & bits)


def test_constexpr_of_a_run_time_value_is_that_value(device):
    assert run(wrapped_kernel, device, 2, WIDTH=8) == [9, -1, 8, -1, 9, -1, 12, -1]


@triton.jit
def parameters_kernel(out, n, scale):
    out += 2
    n = n * 3
    scale = scale.to(tl.int32)
    tl.store(out, n + scale)


def test_parameters_are_variables(device):
    assert run(parameters_kernel, device, 5, 2.75)[:3] == [-1, -1, 17]


@triton.jit
def logic_kernel(out, a, b, FLAG: tl.constexpr):
    x = 0
    if a > 0 and b > 0:
        x += 1
    if a > 0 or b > 0:
        x += 2
    if not a > 0:
        x += 4
    if FLAG and a > 0:
        x += 8
    if not FLAG or b > 0:
        x += 16
    if FLAG is None:
        x += 32
    tl.store(out, x)


@pytest.mark.parametrize("flag", [True, False, None])
@pytest.mark.parametrize("a, b", [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_logic_of_scalars(device, a, b, flag):
    right = (a > 0 and b > 0) + 2 * (a > 0 or b > 0) + 4 * (not a > 0) + 8 * bool(flag and a > 0) + 16 * (not flag or b > 0) + 32 * (flag is None)
    assert run(logic_kernel, device, a, b, FLAG=flag)[0] == right


@triton.jit
def types_of_argument(x):
    if x.dtype == tl.float32:
        return x + 0.5
    elif x.dtype.is_int():
        return x + 1
    else:
        return x


@triton.jit
def dispatch_kernel(out, x_ptr, y_ptr):
    tl.store(out, types_of_argument(tl.load(x_ptr)))
    tl.store(out + 1, types_of_argument(tl.load(y_ptr)))


def test_branches_on_types(device):
    x, y = torch.tensor([1.0], device=device), torch.tensor([1], device=device)
    assert run(dispatch_kernel, device, x, y, dtype=torch.float32)[:2] == [1.5, 2.0]


@triton.jit
def twice(f, x):
    return f(f(x))


@triton.jit
def plus_three(x):
    return x + 3


@triton.jit
def apply_kernel(out, n, F: tl.constexpr):
    tl.store(out, F(n))
    tl.store(out + 1, twice(F, n))


def test_functions_are_values(device):
    assert run(apply_kernel, device, 4, F=plus_three)[:2] == [7, 10]


@triton.jit
def unrolled_kernel(out, n):
    x = 0
    for i in tl.range(0, n, loop_unroll_factor=2):
        x = x * 2 + i
    for i in tl.range(0, n, num_stages=3, flatten=True):
        x = x + i
    for i in tl.range(n, disallow_acc_multi_buffer=True):
        x = x + i
    tl.store(out, x)


def test_hints_of_loops_change_nothing(device):
    x = 0
    for i in range(7):
        x = x * 2 + i
    assert run(unrolled_kernel, device, 7)[0] == x + 42


GLOBAL_ANNOTATED: tl.constexpr = tl.constexpr(11)
GLOBAL = tl.constexpr(13)


@triton.jit
def globals_kernel(out):
    tl.store(out, GLOBAL_ANNOTATED + GLOBAL)
    x = tl.zeros((GLOBAL_ANNOTATED - 3,), tl.int32) + GLOBAL
    tl.store(out + tl.arange(0, 8), x, mask=tl.arange(0, 8) > 4)


def test_globals_are_constants(device):
    assert run(globals_kernel, device) == [24, -1, -1, -1, -1, 13, 13, 13]


@triton.jit
def strings_kernel(out, MODE: tl.constexpr, DTYPE: tl.constexpr):
    tl.static_assert(MODE in ("a", "b") if False else True, f"mode {MODE}")
    if MODE == "a":
        tl.store(out, 1)
    elif MODE != "b":
        tl.store(out, 3)
    else:
        tl.store(out, 2)
    x = tl.full((8,), 2.5, DTYPE)
    tl.store(out + tl.arange(0, 8), x.to(tl.int32), mask=tl.arange(0, 8) > 0)


@pytest.mark.parametrize("mode, first", [("a", 1), ("b", 2), ("c", 3)])
def test_texts_and_types_as_arguments(device, mode, first):
    assert run(strings_kernel, device, MODE=mode, DTYPE=tl.float32) == [first] + [2] * 7


@triton.jit
def min_max_kernel(out, a, b, N: tl.constexpr):
    tl.store(out, min(a, b))
    tl.store(out + 1, max(a, b, N))
    M: tl.constexpr = min(N, 4)
    tl.static_assert(M <= 4)
    tl.store(out + 2, tl.sum(tl.arange(0, M)))
    tl.store(out + 3, tl.cdiv(a, 4) + triton.cdiv(N, 3))
    P: tl.constexpr = triton.next_power_of_2(N - 1)
    tl.store(out + 4, tl.sum(tl.full((P,), 1, tl.int32)))


def test_pythons_functions_in_kernels(device):
    assert run(min_max_kernel, device, 9, 7, N=8)[:5] == [7, 9, 6, 6, 8]


@triton.jit
def tuple_equality_kernel(out, n):
    tl.store(out + 0, tl.tuple((1, 2)) == (1, 2))
    tl.store(out + 1, tl.tuple((1, 2)) == (1, 3))
    tl.store(out + 2, tl.tuple((1, 2)) == (1, 2, 3))
    tl.static_assert(tl.tuple((1, 2)) == (1, 2))


def test_tuples_are_equal_by_their_elements(device):
    out = torch.full((3, ), 7, dtype=torch.int32, device=device)
    tuple_equality_kernel[(1, )](out, 3)
    assert out.tolist() == [1, 0, 0]
