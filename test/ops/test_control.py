"""Branches and loops: what a program does, decided by scalars (P4, P5, P6, P10)."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def branch_kernel(x_ptr, out_ptr, mode, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if mode == 0:
        y = x + 1
    elif mode < 3:
        y = x * mode
    else:
        y = -x
    tl.store(out_ptr + i, y)


@triton.jit
def early_return_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid * BLOCK >= n:
        return
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1, mask=i < n)


@triton.jit
def loop_kernel(out_ptr, start, stop, STEP: tl.constexpr):
    count = 0
    total = 0
    for i in range(start, stop, STEP):
        total += i
        count += 1
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, count)


@triton.jit
def nested_loop_kernel(out_ptr, n, m, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.int32)
    lanes = tl.arange(0, BLOCK)
    for i in range(n):
        row = tl.zeros([BLOCK], tl.int32)
        for j in range(i, m):
            if j % 2 == 0:
                row += lanes * j
            else:
                row -= i
        acc = acc * 3 + row
    tl.store(out_ptr + lanes, acc)


@triton.jit
def carried_sums_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Tiles and pointers that a loop advances by its own index and by other values that it carries."""
    i = tl.arange(0, BLOCK)
    by_index = tl.load(x_ptr + i)
    by_carried = by_index * 3
    read = by_index * 0
    step = 1
    pointers = x_ptr + i
    for k in range(n):
        by_index += k
        by_carried += step
        step = step * 2 + k
        for j in range(k):
            by_carried += j
            by_index += step
        pointers += k
        read += tl.load(pointers)
    tl.store(out_ptr + i, by_index)
    tl.store(out_ptr + BLOCK + i, by_carried)
    tl.store(out_ptr + 2 * BLOCK + i, read)


@triton.jit
def while_kernel(out_ptr, n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    tl.store(out_ptr, steps)


@triton.jit
def static_kernel(out_ptr, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(out_ptr + i, i * i)


@triton.jit
def ternary_kernel(out_ptr, n, FLAG: tl.constexpr):
    tl.store(out_ptr, n if n > 10 else 10)
    tl.store(out_ptr + 1, 7 if FLAG else 8)
    tl.store(out_ptr + 2, 1 if (n > 5 and n < 20) or not FLAG else 0)


@triton.jit
def grid_kernel(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    nx, ny, nz = tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)
    where = (z * ny + y) * nx + x
    tl.store(out_ptr + where, x + 10 * y + 100 * z + 1000 * nz)


@pytest.mark.parametrize("mode", range(-1, 5))
def test_branches(target, mode):
    x, out = np.arange(20, dtype=np.int32), np.zeros(20, np.int32)
    branch_kernel[(1,)](x, out, mode, BLOCK=20)
    np.testing.assert_array_equal(out, x + 1 if mode == 0 else x * mode if mode < 3 else -x)


@pytest.mark.parametrize("n", [0, 1, 32, 40])
def test_early_return(target, n):
    x, out = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    early_return_kernel[(4,)](x, out, n, BLOCK=16)
    np.testing.assert_array_equal(out, x + 1)


@pytest.mark.parametrize("bounds", [(0, 0), (0, 10), (5, 5), (7, 3), (-4, 6), (0, 100)], ids=str)
@pytest.mark.parametrize("step", [1, 3, 7])
def test_for(target, bounds, step):
    """P10"""
    out = np.zeros(2, dtype=np.int32)
    loop_kernel[(1,)](out, *bounds, STEP=step)
    np.testing.assert_array_equal(out, [sum(range(*bounds, step)), len(range(*bounds, step))])


def test_for_downwards(target):
    out = np.zeros(2, dtype=np.int32)
    loop_kernel[(1,)](out, 10, -3, STEP=-4)
    np.testing.assert_array_equal(out, [sum(range(10, -3, -4)), len(range(10, -3, -4))])


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("m", [0, 3, 6])
def test_nested_loops_with_a_branch(target, n, m):
    lanes = np.arange(24, dtype=np.int32)
    acc = np.zeros(24, dtype=np.int32)
    for i in range(n):
        row = np.zeros(24, dtype=np.int32)
        for j in range(i, m):
            row = row + lanes * j if j % 2 == 0 else row - i
        acc = acc * 3 + row
    out = np.zeros(24, dtype=np.int32)
    nested_loop_kernel[(1,)](out, n, m, BLOCK=24)
    np.testing.assert_array_equal(out, acc)


@pytest.mark.parametrize("block", [1, 3, 48, 128])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_sums_of_indices_and_carried_values(target, n, block):
    x = np.arange(block + 16, dtype=np.int32) * 7 % 100
    out = np.zeros((3, block), np.int32)
    carried_sums_kernel[(1,)](x, out, n, BLOCK=block)
    by_index, by_carried, read, step, at = x[:block], x[:block] * 3, np.zeros(block, np.int32), 1, 0
    for k in range(n):
        by_index, by_carried, step, at = by_index + k, by_carried + step, step * 2 + k, at + k
        by_carried, by_index = by_carried + sum(range(k)), by_index + step * k
        read = read + x[at:at + block]
    np.testing.assert_array_equal(out, [by_index, by_carried, read])


@pytest.mark.parametrize("n", [1, 2, 7, 27])
def test_while(target, n):
    steps, value = 0, n
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    out = np.zeros(1, dtype=np.int32)
    while_kernel[(1,)](out, n)
    assert out[0] == steps


def test_static_range(target):
    out = np.zeros(6, dtype=np.int32)
    static_kernel[(1,)](out, N=6)
    np.testing.assert_array_equal(out, np.arange(6) ** 2)


@pytest.mark.parametrize("n", [2, 8, 15, 30])
@pytest.mark.parametrize("flag", [True, False])
def test_conditional_expressions(target, n, flag):
    out = np.zeros(3, dtype=np.int32)
    ternary_kernel[(1,)](out, n, FLAG=flag)
    np.testing.assert_array_equal(out, [max(n, 10), 7 if flag else 8, int(5 < n < 20 or not flag)])


@pytest.mark.parametrize("grid", [(1,), (5,), (3, 4), (2, 3, 4), (1, 1, 7), (64, 5, 3)], ids=str)
def test_every_program_runs_once(target, grid):
    """P6"""
    extents = (*grid, 1, 1)[:3]
    out = np.zeros(extents[::-1], dtype=np.int32)
    grid_kernel[grid](out)
    z, y, x = np.indices(out.shape)
    np.testing.assert_array_equal(out, x + 10 * y + 100 * z + 1000 * extents[2])


@pytest.mark.parametrize("grid", [(0,), (3, 0), (0, 2, 2)], ids=str)
def test_an_empty_axis_runs_nothing(target, grid):
    """P6"""
    out = np.full(4, 5, dtype=np.int32)
    grid_kernel[grid](out)
    assert (out == 5).all()


@triton.jit
def optional_kernel(x_ptr, bias_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if bias_ptr:
        x += tl.load(bias_ptr + i)
    x = x * 2 if bias_ptr else x
    tl.store(out_ptr + i, x)


def test_a_pointer_is_true_unless_it_is_null(target):
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    optional_kernel[(1,)](x, np.full(8, 3, np.float32), out, N=8)
    np.testing.assert_array_equal(out, (x + 3) * 2)
    optional_kernel[(1,)](x, None, out, N=8)
    np.testing.assert_array_equal(out, x)


@triton.jit
def address_kernel(address, out_ptr):
    p = address.to(tl.int64).to(tl.pointer_type(tl.float32))
    value = 1
    if p:
        value = 2
    tl.store(out_ptr, value)


@pytest.mark.parametrize("address, expected", [(0, 1), (1 << 40, 2)])
def test_an_address_from_memory_may_be_null(target, address, expected):
    out = np.zeros(1, np.int32)
    address_kernel[(1,)](address, out)
    assert out[0] == expected


# ---- names that expressions assign -------------------------------------------------------------


@triton.jit
def walrus_on_a_side_kernel(q, n):
    y = 7
    x = (y := n) if n > 10 else 3
    tl.store(q, x)
    tl.store(q + 1, y)
    z = 5
    w = 3 if n < 10 else (z := n + 1)
    tl.store(q + 2, w)
    tl.store(q + 3, z)
    a = 1
    for i in range(n):
        b = (a := i) if i == 1 else (a := a + 1) + (c := 2) if i == 2 else 3
        tl.store(q + 4, b)
    tl.store(q + 5, a)
    t = (u := tl.arange(0, 4) + n) if n > 4 else tl.arange(0, 4)
    tl.store(q + 6, tl.sum(t))
    if n > ((v := 5) if n > 2 else 3):
        tl.store(q + 7, 1)


def walrus_on_a_side(n):
    y = 7
    x = (y := n) if n > 10 else 3
    z = 5
    w = 3 if n < 10 else (z := n + 1)
    a, b = 1, 0
    for i in range(n):
        b = (a := i) if i == 1 else (a := a + 1) + 2 if i == 2 else 3
    total = sum(k + n for k in range(4)) if n > 4 else 6
    return [x, y, w, z, b, a, total, int(n > 5)]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 9, 10, 11, 12])
def test_what_one_side_of_a_conditional_assigns_is_assigned_there_only(target, n):
    q = np.zeros(8, np.int32)
    walrus_on_a_side_kernel[(1,)](q, n)
    assert q.tolist() == walrus_on_a_side(n)


@triton.jit
def comprehension_kernel(q, n):
    xs = [(y := i) * n for i in (1, 2, 3)]
    i = 9
    zs = [i + 1 for i in (4, 5)]
    tl.store(q, xs[0] + xs[1] + xs[2])
    tl.store(q + 1, y)
    tl.store(q + 2, i)
    tl.store(q + 3, zs[1])


def test_a_comprehension_assigns_outside_but_for_its_target(target):
    q = np.zeros(4, np.int32)
    comprehension_kernel[(1,)](q, 2)
    assert q.tolist() == [12, 3, 9, 6]


# ---- the variable of a loop behind it ---------------------------------------------------------


@triton.jit
def lost_kernel(q, n):
    for i in tl.static_range(3):
        tl.store(q, i)
    for j in range(n - 3):
        for i in range(2):
            tl.store(q + 1, i)
    for i in range(0, n):
        tl.store(q + 2, i)
    tl.store(q + 3, i)


@pytest.mark.compiled
def test_a_variable_whose_value_without_a_trip_is_not_known_is_refused(target):
    with pytest.raises(triton.CompilationError, match="LoopVariableGone"):
        lost_kernel[(1,)](np.zeros(4, np.int32), 5)


@triton.jit
def other_type_before_kernel(q, n):
    i = n.to(tl.int64)
    for i in range(2):
        tl.store(q, i)
    tl.store(q + 1, i)
    f = 1.5
    for f in range(3, 9, 4):
        tl.store(q, f)
    tl.store(q + 2, f)


def test_behind_a_loop_that_surely_has_a_trip_the_variable_is_its_last_value(target):
    q = np.zeros(3, np.int32)
    other_type_before_kernel[(1,)](q, 5)
    assert q[1:].tolist() == [1, 7]


# ---- assertions in branches ------------------------------------------------------------------


@triton.jit
def unreachable_kernel(q, m):
    if m == 0:
        r = 1
    else:
        r = 0
        assert False, "bad m"
    tl.store(q, r)


@pytest.mark.compiled
def test_an_assertion_that_is_false_ends_the_compile_only_where_it_is_reached(target):
    q = np.zeros(1, np.int32)
    unreachable_kernel[(1,)](q, 0)
    assert q[0] == 1
    unreachable_kernel[(1,)](q, 2)
    assert q[0] == 0
