"""Early exits where they are hard: in loops within loops, beside tiles that are carried, in helpers, in unrolled loops.
Each kernel is a function of integers that Python runs too; programs differ in x."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

X = np.array([0, 1, 2, 3, 4, 5, 7, 8, 12, 23, -4], np.int32)


def agree(kernel, meaning, x=X, **kwargs):
    out = np.full(len(x), -999, np.int32)
    kernel[(len(x),)](x, out, **kwargs)
    np.testing.assert_array_equal(out, [meaning(int(v), **kwargs) for v in x])


@triton.jit
def breaks_in_both_kernel(x_ptr, out_ptr, n):
    x = tl.load(x_ptr + tl.program_id(0))
    total = 0
    j = 0
    for i in range(n):
        if i == 5:
            break
        for j in range(n):
            if j > i:
                break
            if i * j == x:
                total += 1000
                break
            total += j
        if j == 2 and x == 3:
            break
        total += 10 * j
    tl.store(out_ptr + tl.program_id(0), total * 100 + i * 10 + j)


def breaks_in_both(x, n):
    total = 0
    for i in range(n):
        if i == 5:
            break
        for j in range(n):
            if j > i:
                break
            if i * j == x:
                total += 1000
                break
            total += j
        if j == 2 and x == 3:
            break
        total += 10 * j
    return total * 100 + i * 10 + j


@pytest.mark.parametrize("n", [1, 3, 9])
def test_two_loops_that_break_apart(target, n):
    agree(breaks_in_both_kernel, breaks_in_both, n=n)


@triton.jit
def break_of_three_kernel(x_ptr, out_ptr, n):
    x = tl.load(x_ptr + tl.program_id(0))
    count = 0
    for i in range(n):
        found = 0
        j = 0
        while j < n:
            for k in range(n):
                count += 1
                if i + j + k == x:
                    found = 1
                    break
            if found == 1:
                break
            j += 1
        if found == 1:
            break
    tl.store(out_ptr + tl.program_id(0), count)


def break_of_three(x, n):
    count = 0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                count += 1
                if i + j + k == x:
                    return count
    return count


def test_a_break_by_a_flag_leaves_three_loops(target):
    agree(break_of_three_kernel, break_of_three, n=5)


@triton.jit
def return_of_while_in_for_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    steps = 0
    for i in range(n):
        left = i
        while left > 0:
            steps += 1
            if steps == x:
                tl.store(out_ptr + pid, i * 100 + left)
                return
            if left == x:
                break
            left -= 2
        else_value = left
        if else_value == -1 and i == x:
            tl.store(out_ptr + pid, 7777)
            return
    tl.store(out_ptr + pid, steps)


def return_of_while_in_for(x, n):
    steps = 0
    for i in range(n):
        left = i
        while left > 0:
            steps += 1
            if steps == x:
                return i * 100 + left
            if left == x:
                break
            left -= 2
        if left == -1 and i == x:
            return 7777
    return steps


@pytest.mark.parametrize("n", [0, 1, 6])
def test_return_within_a_while_within_a_for(target, n):
    agree(return_of_while_in_for_kernel, return_of_while_in_for, n=n)


@triton.jit
def for_in_while_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    round = 0
    while round < n:
        round += 1
        for i in range(round):
            if i == x:
                if round == 4:
                    tl.store(out_ptr + pid, 40)
                    return
                continue
            if i * round == x:
                tl.store(out_ptr + pid, 50 + round)
                return
        if round == x + 6:
            continue
        if round == 6:
            break
    tl.store(out_ptr + pid, round)


def for_in_while(x, n):
    round = 0
    while round < n:
        round += 1
        for i in range(round):
            if i == x:
                if round == 4:
                    return 40
                continue
            if i * round == x:
                return 50 + round
        if round == x + 6:
            continue
        if round == 6:
            break
    return round


def test_return_within_a_for_within_a_while(target):
    agree(for_in_while_kernel, for_in_while, n=9)


@triton.jit
def masked_loads_kernel(x_ptr, out_ptr, n, rows, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    last = tl.full([BLOCK], -1.0, tl.float32)
    skipped = 0
    for row in range(rows):
        inside = columns < n - row
        values = tl.load(x_ptr + row * n + columns, mask=inside, other=-2.0)
        if tl.max(values) < 0:
            skipped += 1
            continue
        if tl.sum(tl.where(inside, values, 0.0)) > 30:
            last = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.5)
            break
        total += tl.where(inside, values, 0.0)
    tl.store(out_ptr + columns, total)
    tl.store(out_ptr + BLOCK + columns, last)
    tl.store(out_ptr + 2 * BLOCK, skipped + 100 * row)


@pytest.mark.parametrize("block, n", [(16, 13), (64, 40), (5, 5)])
@pytest.mark.parametrize("stops", [3, 100])
def test_masked_loads_beside_continue_and_break(target, block, n, stops):
    x = np.random.default_rng(n).integers(-1, 2, (9, n)).astype(np.float32)
    x[1], x[4] = -1, -3
    if stops < len(x):
        x[stops + 2] = 40
    out = np.zeros(2 * block + 1, np.float32)
    masked_loads_kernel[(1,)](x, out, n, len(x), BLOCK=block)
    total, last, skipped = np.zeros(block, np.float32), np.full(block, -1, np.float32), 0
    for row, values in enumerate(x):
        inside = values[:max(n - row, 0)]
        if len(inside) == 0 or inside.max() < 0:
            skipped += 1
            continue
        if inside.sum() > 30:
            last = np.concatenate([values, np.full(block - n, 0.5, np.float32)])
            break
        total[:len(inside)] += inside
    np.testing.assert_array_equal(out, np.concatenate([total, last, [skipped + 100 * row]]))


@triton.jit
def tiles_in_branches_kernel(x_ptr, out_ptr, mode, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x_ptr + i)
    b = tl.zeros([BLOCK], tl.int32)
    for k in range(n):
        if mode > 2:
            a = a + k
            if k == mode:
                b = a * 2
                break
            else:
                b = b + a
        elif mode == 1:
            a, b = b + 1, a
            if k == 3:
                continue
        else:
            b = b - 1
            if tl.sum(b) < -3 * BLOCK:
                a = b
                break
        b = b + k
    tl.store(out_ptr + i, a)
    tl.store(out_ptr + BLOCK + i, b)


@pytest.mark.parametrize("mode", [0, 1, 2, 3, 5, 30])
@pytest.mark.parametrize("block", [8, 33])
def test_exits_in_branches_that_carry_tiles(target, mode, block):
    x = np.arange(block, dtype=np.int32)
    out = np.zeros((2, block), np.int32)
    tiles_in_branches_kernel[(1,)](x, out, mode, 7, BLOCK=block)
    a, b = x.copy(), np.zeros(block, np.int32)
    for k in range(7):
        if mode > 2:
            a = a + k
            if k == mode:
                b = a * 2
                break
            b = b + a
        elif mode == 1:
            a, b = b + 1, a
            if k == 3:
                continue
        else:
            b = b - 1
            if b.sum() < -3 * block:
                a = b
                break
        b = b + k
    np.testing.assert_array_equal(out, [a, b])


@triton.jit
def clamp_steps(x, most):
    if x < 0:
        return -1
    for i in range(most):
        if x <= i:
            return i
        x -= 1
    return most


@triton.jit
def deeper(x, most):
    steps = clamp_steps(x, most)
    if steps < 0:
        return 0, -x
    for i in range(steps):
        if clamp_steps(i, 3) == 2:
            continue
        if i * i > x:
            return i, steps
    return steps, i


@triton.jit
def helpers_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    total = 0
    for i in range(n):
        first, second = deeper(tl.load(x_ptr + pid) + i, 9)
        if first == 5:
            break
        total += first * 10 + second
    tl.store(out_ptr + pid, total)


def clamped(x, most):
    if x < 0:
        return -1
    for i in range(most):
        if x <= i:
            return i
        x -= 1
    return most


def helpers(x, n):
    total = 0
    for k in range(n):
        steps = clamped(x + k, 9)
        first, second = 0, -(x + k)
        if steps >= 0:
            i = 0
            for i in range(steps):
                if clamped(i, 3) == 2:
                    continue
                if i * i > x + k:
                    first, second = i, steps
                    break
            else:
                first, second = steps, i
        if first == 5:
            break
        total += first * 10 + second
    return total


def test_helpers_that_leave_their_loops_within_a_loop(target):
    agree(helpers_kernel, helpers, n=6)


@triton.jit
def beside_static_kernel(x_ptr, out_ptr, n, DEPTH: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    total = 0
    for i in range(n):
        for d in tl.static_range(DEPTH):
            if d == 3:
                break
            if i + d == x:
                continue
            if i * d > 6:
                break
            total += d + 1
        if total > 20:
            break
    for d in tl.static_range(DEPTH):
        for i in range(n):
            if i * (d + 1) > x:
                break
            if i + d == 9:
                tl.store(out_ptr + pid, -total)
                return
            total += 1
    tl.store(out_ptr + pid, total)


def beside_static(x, n, DEPTH):
    total = 0
    for i in range(n):
        for d in range(DEPTH):
            if d == 3:
                break
            if i + d == x:
                continue
            if i * d > 6:
                break
            total += d + 1
        if total > 20:
            break
    for d in range(DEPTH):
        for i in range(n):
            if i * (d + 1) > x:
                break
            if i + d == 9:
                return -total
            total += 1
    return total


@pytest.mark.parametrize("depth", [1, 4])
def test_unrolled_loops_within_and_around_others(target, depth):
    agree(beside_static_kernel, beside_static, n=8, DEPTH=depth)


@triton.jit
def no_trip_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    i = 50
    for i in range(x, n):
        if i == 3:
            break
    for j in range(n, x, -1):
        if j == 2:
            continue
        if j == 1:
            break
    k = x
    while k < n:
        if k == 4:
            break
        k += 1
    tl.store(out_ptr + pid, i * 10000 + j * 100 + k)


def no_trip(x, n):
    i, j, k = 50, n, x
    for i in range(x, n):
        if i == 3:
            break
    for j in range(n, x, -1):
        if j == 1:
            break
    while k < n:
        if k == 4:
            break
        k += 1
    return i * 10000 + j * 100 + k


@pytest.mark.parametrize("n", [-9, 0, 5, 9])
def test_the_variable_of_a_loop_without_a_trip(target, n):
    agree(no_trip_kernel, no_trip, n=n)


@triton.jit
def while_true_kernel(x_ptr, out_ptr, data_ptr, n):
    pid = tl.program_id(0)
    low = 0
    high = n
    x = tl.load(x_ptr + pid)
    while True:
        middle = (low + high) // 2
        if low >= high:
            break
        if tl.load(data_ptr + middle) < x:
            low = middle + 1
        else:
            high = middle
    while True:
        while True:
            if low % 3 == 0:
                break
            low += 1
        if low > 6:
            break
        low += 1
    tl.store(out_ptr + pid, low)


@pytest.mark.parametrize("n", [0, 1, 6])
def test_while_true_that_only_breaks(target, n):
    data = np.array([1, 3, 5, 7, 9, 20], np.int32)

    def expected(x, **_):
        low = int(np.searchsorted(data[:n], x))
        while low % 3 or low <= 6:
            low += 1
        return low

    agree(while_true_kernel, expected, data_ptr=data, n=n)


@triton.jit
def pointers_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    source = x_ptr + i
    target = out_ptr + i
    for k in range(n):
        values = tl.load(source)
        source += BLOCK
        if tl.min(values) < 0:
            continue
        tl.store(target, values * 2)
        target += BLOCK
        if tl.max(values) == 9:
            target = out_ptr + i
            break
    tl.store(target, k)


@pytest.mark.parametrize("stop", [2, 5, 99])
def test_pointers_that_move_on_some_paths(target, stop):
    x = np.random.default_rng(stop).integers(0, 8, (7, 16)).astype(np.int32)
    x[1, 3] = x[4, 0] = -1
    if stop < len(x):
        x[stop] = 9
    out = np.full((9, 16), -5, np.int32)
    pointers_kernel[(1,)](x, out, len(x), BLOCK=16)
    want, at = np.full((9, 16), -5, np.int32), 0
    for k, values in enumerate(x):
        if values.min() < 0:
            continue
        want[at] = values * 2
        at += 1
        if values.max() == 9:
            at = 0
            break
    want[at] = k
    np.testing.assert_array_equal(out, want)


@triton.jit
def products_kernel(a_ptr, b_ptr, out_ptr, K, most, B: tl.constexpr):
    r = tl.arange(0, B)
    acc = tl.zeros([B, B], tl.float32)
    for k in range(0, K, B):
        a = tl.load(a_ptr + r[:, None] * K + k + r[None, :])
        if tl.max(tl.max(a, axis=1), axis=0) > 100:
            continue
        b = tl.load(b_ptr + (k + r[:, None]) * B + r[None, :])
        acc = tl.dot(a, b, acc)
        if tl.sum(tl.sum(acc, axis=1), axis=0) > most:
            break
    tl.store(out_ptr + r[:, None] * B + r[None, :], acc)


@pytest.mark.parametrize("most", [-1, 700, 1e9])
def test_products_in_a_loop_that_leaves(target, most):
    rng, B, K = np.random.default_rng(1), 16, 80
    a, b = (rng.integers(0, 2, shape).astype(np.float16) for shape in ((B, K), (K, B)))
    a[3, 20] = 200
    out = np.zeros((B, B), np.float32)
    products_kernel[(1,)](a, b, out, K, float(most), B=B)
    acc = np.zeros((B, B), np.float32)
    for k in range(0, K, B):
        if a[:, k:k + B].max() > 100:
            continue
        acc += a[:, k:k + B].astype(np.float32) @ b[k:k + B].astype(np.float32)
        if acc.sum() > most:
            break
    np.testing.assert_array_equal(out, acc)


@triton.jit
def atomics_kernel(x_ptr, out_ptr, n):
    x = tl.load(x_ptr + tl.program_id(0))
    for i in range(n):
        if i == x:
            return
        if i % 2 == 1:
            continue
        tl.atomic_add(out_ptr + i, 1)


def test_effects_end_where_a_program_leaves(target):
    out = np.zeros(10, np.int32)
    atomics_kernel[(len(X),)](X, out, 10)
    want = np.zeros(10, np.int32)
    for x in X:
        for i in range(10):
            if i == x:
                break
            want[i] += i % 2 == 0
    np.testing.assert_array_equal(out, want)


@triton.jit
def dead_exits_kernel(x_ptr, out_ptr, n, EARLY: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    total = 0
    for i in range(n):
        if EARLY:
            total += 5
            break
            total += 1000
        total += i
        if not EARLY:
            continue
        return
    if x > 3:
        return
        tl.store(out_ptr + pid, -1)
    tl.store(out_ptr + pid, total)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("n", [0, 4])
def test_what_follows_an_exit_is_dead(target, early, n):
    agree(dead_exits_kernel, lambda x, n, EARLY: -999 if x > 3 else (5 if n else 0) if EARLY else sum(range(n)), n=n,
          EARLY=early)


@triton.jit
def walrus_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    i = 0
    y = 0
    while (y := x - i) > 0:
        i += 1
        if y == n:
            break
        if y % 2 == 1:
            continue
        x -= 1
    tl.store(out_ptr + pid, i * 100 + y)


def walrus(x, n):
    i = 0
    while (y := x - i) > 0:
        i += 1
        if y == n:
            break
        if y % 2 == 1:
            continue
        x -= 1
    return i * 100 + y


def test_a_condition_that_assigns(target):
    agree(walrus_kernel, walrus, n=2)


@triton.jit
def older_variable_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    total = 0
    j = 70
    for i in range(n):
        total += j
        for j in range(0, x - 2 * i):
            if j == 5:
                break
    rounds = 0
    while rounds < 3:
        rounds += 1
        total += j
        for j in range(total % 3):
            total += 1
    tl.store(out_ptr + pid, total * 100 + j)


def older_variable(x, n):
    total, j = 0, 70
    for i in range(n):
        total += j
        for j in range(0, x - 2 * i):
            if j == 5:
                break
    rounds = 0
    while rounds < 3:
        rounds += 1
        total += j
        for j in range(total % 3):
            total += 1
    return total * 100 + j


@pytest.mark.parametrize("n", [0, 1, 4])
def test_the_variable_of_an_inner_loop_keeps_its_value_of_the_trip_before(target, n):
    agree(older_variable_kernel, older_variable, n=n)


@triton.jit
def other_types_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    j = tl.load(x_ptr + pid).to(tl.int64)
    total = j.to(tl.int32)
    for i in range(n):
        for j in range(i):
            total += j
    tl.store(out_ptr + pid, total)


def test_the_variable_of_an_inner_loop_may_have_another_type_before(target):
    agree(other_types_kernel, lambda x, n: x + sum(j for i in range(n) for j in range(i)), n=4)


@triton.jit
def wider_variable_kernel(out_ptr, n, before, WIDE: tl.constexpr):
    i = before
    for i in range(tl.full((), 3, tl.int64), n):
        if WIDE and i == 5:
            break
    tl.store(out_ptr, i)


@triton.jit
def narrow_variable_kernel(out_ptr, n):
    i = 0.5
    for i in range(n):
        tl.store(out_ptr, i)
    tl.store(out_ptr, i)


@pytest.mark.parametrize("wide", [False, True])
def test_the_variable_without_a_trip_keeps_its_value_or_is_refused(target, wide):
    for n, expected in ((2, -9), (5, 4), (9, 5 if wide else 8)):
        out = np.zeros(1, np.int64)
        wider_variable_kernel[(1,)](out, n, -9, WIDE=wide)
        assert out[0] == expected
    with pytest.raises(triton.CompilationError) as caught:
        narrow_variable_kernel[(1,)](np.zeros(1, np.float32), 0)
    assert caught.value.kind == "LoopVariableGone"
