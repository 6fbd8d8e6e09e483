"""`break`, `continue` and `return` wherever Python allows them, against the same loops in Python: each kernel runs
once for each element of x, as a program of its own."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

X = np.array([0, 1, 2, 3, 5, 7, 8, 12, -4], np.int32)


def run(kernel, expected, x=X, **kwargs):
    out = np.full(len(x), -999, np.int32)
    kernel[(len(x),)](x, out, **kwargs)
    np.testing.assert_array_equal(out, [expected(int(v)) for v in x])


@triton.jit
def break_kernel(x_ptr, out_ptr, n):
    x = tl.load(x_ptr + tl.program_id(0))
    total = 0
    for i in range(n):
        if i == x:
            break
        total += i + 1
    tl.store(out_ptr + tl.program_id(0), total * 100 + i)


@pytest.mark.parametrize("n", [1, 6, 20])
def test_break_leaves_a_for_loop_with_its_values(target, n):
    def expected(x):
        total = 0
        for i in range(n):
            if i == x:
                break
            total += i + 1
        return total * 100 + i

    run(break_kernel, expected, n=n)


@triton.jit
def continue_kernel(x_ptr, out_ptr, n):
    x = tl.load(x_ptr + tl.program_id(0))
    total = 0
    for i in range(n):
        if i == x:
            continue
        double = i * 2
        if double > 12:
            continue
        total += double
    tl.store(out_ptr + tl.program_id(0), total)


def test_continue_skips_the_rest_of_a_trip(target):
    def expected(x):
        return sum(2 * i for i in range(9) if i != x and 2 * i <= 12)

    run(continue_kernel, expected, n=9)


@triton.jit
def return_in_loop_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    for i in range(n):
        for j in range(i, n):
            if i * j == x:
                tl.store(out_ptr + pid, i * 10 + j)
                return
    tl.store(out_ptr + pid, -1)


def test_return_leaves_all_loops_of_a_kernel(target):
    def expected(x):
        for i in range(4):
            for j in range(i, 4):
                if i * j == x:
                    return i * 10 + j
        return -1

    run(return_in_loop_kernel, expected, n=4)


@triton.jit
def first_divisor(x, most):
    for d in range(2, most):
        if d * d > x:
            break
        if x % d == 0:
            return d, d * 1.5
    return x, 0.0


@triton.jit
def helper_kernel(x_ptr, out_ptr, n):
    d, half = first_divisor(tl.load(x_ptr + tl.program_id(0)), n)
    tl.store(out_ptr + tl.program_id(0), d * 100 + half.to(tl.int32))


def test_a_helper_returns_a_tuple_out_of_its_loop(target):
    def expected(x):
        for d in range(2, 50):
            if d * d > x:
                break
            if x % d == 0:
                return d * 100 + int(d * 1.5)
        return x * 100

    run(helper_kernel, expected, n=50)


@triton.jit
def while_true_kernel(x_ptr, out_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    steps = 0
    while True:
        if x <= 1:
            break
        steps += 1
        if x % 2 == 0:
            x = x // 2
            continue
        x = 3 * x + 1
    tl.store(out_ptr + pid, steps)


def collatz(x):
    steps = 0
    while x > 1:
        steps, x = steps + 1, x // 2 if x % 2 == 0 else 3 * x + 1
    return steps


def test_while_true_ends_by_break(target):
    run(while_true_kernel, collatz)


@triton.jit
def collatz_steps(x):
    steps = 0
    while True:
        if x <= 1:
            return steps
        steps += 1
        x = x // 2 if x % 2 == 0 else 3 * x + 1


@triton.jit
def while_return_kernel(x_ptr, out_ptr):
    tl.store(out_ptr + tl.program_id(0), collatz_steps(tl.load(x_ptr + tl.program_id(0))))


def test_while_true_ends_by_return(target):
    run(while_return_kernel, collatz)


@triton.jit
def guarded_condition_kernel(x_ptr, out_ptr, data_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    i = 0
    # Behind the break the condition must not be asked again: it would read outside of the data.
    while tl.load(data_ptr + i) < 100:
        if i == n - 1:
            break
        if i == x:
            break
        i += 1
    tl.store(out_ptr + pid, i)


def test_the_condition_of_a_while_is_not_asked_behind_a_break(target):
    data = np.array([1, 2, 3, 200, 5, 6], np.int32)
    run(guarded_condition_kernel, lambda x: min(x, 3) if x >= 0 else 3, data_ptr=data, n=6)
    run(guarded_condition_kernel, lambda x: x if 0 <= x < 2 else 2, data_ptr=data[:3].copy(), n=3)


@triton.jit
def nested_ifs_kernel(x_ptr, out_ptr, EXTRA: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    kind = 0
    if x > 2:
        if x > 6:
            if x == 7:
                tl.store(out_ptr + pid, 70)
                return
            kind = 1
        else:
            kind = 2
            if EXTRA:
                if x == 5:
                    tl.store(out_ptr + pid, 50)
                    return
        kind += 10
    y = kind * 2.0
    if x < 0:
        tl.store(out_ptr + pid, -7)
        return
    tl.store(out_ptr + pid, y.to(tl.int32))


@pytest.mark.parametrize("extra", [False, True])
def test_return_within_nested_ifs_goes_on_after_them(target, extra):
    def expected(x):
        kind = 0
        if x > 2:
            if x == 7:
                return 70
            kind = 11 if x > 6 else 12
            if extra and x == 5:
                return 50
        return -7 if x < 0 else kind * 2

    run(nested_ifs_kernel, expected, EXTRA=extra)


@triton.jit
def unrolled_kernel(x_ptr, out_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    total = 0
    for i in tl.static_range(6):
        if i == 4:
            break
        if x == i:
            continue
        if x == i + 10:
            total += 1000
            break
        if x + i == 0:
            tl.store(out_ptr + pid, -100 - i)
            return
        total += i + 1
    tl.store(out_ptr + pid, total)


def test_exits_of_an_unrolled_loop(target):
    def expected(x):
        total = 0
        for i in range(4):
            if x == i:
                continue
            if x == i + 10:
                return total + 1000
            if x + i == 0:
                return -100 - i
            total += i + 1
        return total

    run(unrolled_kernel, expected, x=np.array([0, 1, 2, 3, 5, 10, 12, 13, -1, -3, -5], np.int32))


@triton.jit
def tiles_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    best = tl.full([BLOCK], -1.0, tl.float32)
    for k in range(n):
        row = tl.load(x_ptr + k * BLOCK + i)
        if tl.max(row) < 0:
            continue
        if tl.sum(row) > 40:
            best = row
            break
        acc += row
    tl.store(out_ptr + i, acc)
    tl.store(out_ptr + BLOCK + i, best)


@pytest.mark.parametrize("block", [3, 16, 48])
def test_tiles_are_carried_through_exits(target, block):
    x = np.random.default_rng(block).integers(-1, 2, (12, block)).astype(np.float32)
    x[2], x[7] = -1, 50
    out = np.zeros((2, block), np.float32)
    tiles_kernel[(1,)](x, out, 12, BLOCK=block)
    acc, best = np.zeros(block, np.float32), np.full(block, -1, np.float32)
    for row in x:
        if row.max() < 0:
            continue
        if row.sum() > 40:
            best = row
            break
        acc += row
    np.testing.assert_array_equal(out, [acc, best])


@triton.jit
def narrow_range_kernel(out_ptr, start, stop, step, wanted):
    count = 0
    last = 0
    for i in range(start.to(tl.int8), stop.to(tl.int8), step.to(tl.int8)):
        count += 1
        last = i.to(tl.int32)
        if i == wanted:
            break
    tl.store(out_ptr, count)
    tl.store(out_ptr + 1, last)
    tl.store(out_ptr + 2, i)


@pytest.mark.parametrize("start, stop, step", [(-128, 127, 100), (100, 127, 9), (-128, 127, 1), (5, 5, 1), (120, 127, 127)])
@pytest.mark.parametrize("wanted", [-128, 109, 1000])
def test_a_loop_that_may_break_does_not_run_past_the_end_of_its_type(target, start, stop, step, wanted):
    out = np.zeros(3, np.int32)
    narrow_range_kernel[(1,)](out, start, stop, step, wanted)
    count, last, i = 0, 0, start
    for i in range(start, stop, step):
        count, last = count + 1, i
        if i == wanted:
            break
    assert out.tolist() == [count, last, i]


@triton.jit
def variable_kernel(out_ptr, n, BEFORE: tl.constexpr):
    if BEFORE:
        i = -5
    for i in range(3, n, 4):
        tl.store(out_ptr + 2, i)
    tl.store(out_ptr, i)
    for j in range(n, 3, -4):
        tl.store(out_ptr + 3, j)
    tl.store(out_ptr + 1, j)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("n", [0, 3, 4, 7, 8, 30])
def test_the_variable_of_a_loop_has_its_last_value_behind_it(target, n, before):
    out = np.full(4, -1, np.int32)
    variable_kernel[(1,)](out, n, BEFORE=before)
    i, j = -5 if before else 3, n
    for i in range(3, n, 4):
        pass
    for j in range(n, 3, -4):
        pass
    assert out[:2].tolist() == [i, j]


@triton.jit
def chained_kernel(x_ptr, out_ptr, low, high, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    inside = low < x <= high
    tl.store(out_ptr + i, inside.to(tl.int32))
    tl.static_assert(1 < BLOCK < 100 != 5)
    if low < tl.sum(x) < 1000 > high:
        tl.store(out_ptr + BLOCK, 1)
    if 3 < 2 < x:
        tl.static_assert(False)


def test_comparisons_chain(target):
    x = np.arange(16, dtype=np.int32)
    out = np.zeros(17, np.int32)
    chained_kernel[(1,)](x, out, 3, 9, BLOCK=16)
    assert out.tolist() == [int(3 < v <= 9) for v in x] + [1]


@triton.jit
def defined_where_it_goes_on_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    total = 0
    for i in range(n):
        if i == x:
            if i > 3:
                break
            else:
                step = 1
        else:
            step = 10
        total += step
    tl.store(out_ptr + pid, total)


def test_a_name_of_the_paths_that_go_on_is_defined_there(target):
    def expected(x):
        total = 0
        for i in range(9):
            if i == x and i > 3:
                break
            total += 1 if i == x else 10
        return total

    run(defined_where_it_goes_on_kernel, expected, n=9)


@triton.jit
def undefined_behind_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    for i in tl.static_range(4):
        if x == i:
            break
        y = x + i
    tl.store(out_ptr, y)


def test_a_name_that_a_break_may_skip_is_not_defined_behind_the_loop():
    with pytest.raises(triton.CompilationError) as error:
        undefined_behind_kernel[(1,)](X, np.zeros(1, np.int32))
    assert error.value.kind == "PartiallyDefined"


@triton.jit
def many_returns_kernel(x_ptr, out_ptr, N: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    for i in tl.static_range(N):
        if x > i:
            if x == i + 1:
                tl.store(out_ptr + pid, i)
                return
    tl.store(out_ptr + pid, -1)


def test_what_follows_an_exit_is_compiled_once():
    many_returns_kernel.target = "interp"
    run(many_returns_kernel, lambda x: x - 1 if 0 < x <= 60 else -1, N=60)


@triton.jit
def equal_leaves_kernel(out_ptr, a, n, inside, FORM: tl.constexpr):
    count = 0
    if inside:
        for j in range(n):
            count += 1
            if FORM == 0:
                if a == 3:
                    break
            elif FORM == 1:
                if not (a != 3):
                    break
            else:
                if FORM == 2 and a == 3:
                    break
    left = n
    while left > 0:
        left -= 1
        if a == 3:
            break
    tl.store(out_ptr, count * 100 + left)


@pytest.mark.parametrize("form", [0, 1, 2])
@pytest.mark.parametrize("a", [2, 3])
def test_an_equality_of_the_run_time_leaves_a_loop(target, form, a):
    """`a == 3` was decided when compiling, as no value of the run time is the constant 3: the loop was not left."""
    out = np.zeros(1, np.int32)
    equal_leaves_kernel[(1,)](out, a, 5, 1, FORM=form)
    assert out.item() == (104 if a == 3 else 500)
