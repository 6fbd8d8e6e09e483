"""Calls that repeat take a short way to their kernel: it must lead to the kernel that the long way finds, once a call. Bound
launches look nothing up."""
import itertools

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def record(out_ptr, n, f, FLAG: tl.constexpr = 0, WORD: tl.constexpr = "a"):
    tl.static_assert(WORD == "a" or WORD == "b")
    is_constant: tl.constexpr = 1 if isinstance(n, tl.constexpr) else 0
    kind: tl.constexpr = (2 if WORD == "b" else 0) + is_constant + 4 * FLAG
    count = tl.load(out_ptr)
    tl.store(out_ptr, count + 1)
    tl.store(out_ptr + 1, kind)
    tl.store(out_ptr + 2, n)
    tl.store(out_ptr + 3, f)


def expected(n, f, FLAG, WORD):
    return [(2 if WORD == "b" else 0) + 4 * FLAG, n, f]


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_each_call_runs_once_and_with_its_own_values(target):
    record.target = target
    memory = np.zeros(72, np.float64)
    count = 0
    values = itertools.product([0, 1, 16, 17, -5, 2**40], [0.5, 2.0, 3], [0, 3], ["a", "b"])
    cases = [(16, 0.5, 0, "a")] * 3 + list(values)
    try:
        for n, f, flag, word in cases + cases[::-1] + cases[:40:2]:
            out = memory[2 * (count % 3):]  # addresses that are and are not divisible by 16
            before = out[0]
            record[(1,)](out, n, f, FLAG=flag, WORD=word)
            count += 1
            is_constant = n == 1
            assert out[0] == before + 1
            assert out[1] in (expected(n, f, flag, word)[0], expected(n, f, flag, word)[0] + is_constant)
            assert out[2:4].tolist() == [n, f]
    finally:
        record.target = "cpu"


def test_a_read_only_array_is_refused_again():
    out = np.zeros(8)
    for _ in range(3):
        record[(1,)](out, 5, 1.0)
    frozen = np.zeros(8)
    frozen.flags.writeable = False
    with pytest.raises(triton.LaunchError, match="read-only"):
        record[(1,)](frozen, 5, 1.0)
    assert out[0] == 3 and frozen[0] == 0


def test_wrong_calls_are_refused_after_right_ones():
    out = np.zeros(8)
    for _ in range(3):
        record[(1,)](out, 5, 1.0, FLAG=0)
    for arguments, options in [((out, 5), {}), ((out, 5, 1.0), {"n": 3}), ((out, 5, 1.0), {"BLOG": 1}), ((out, 5, "x"), {}),
                               ((out, 5, 1.0), {"num_warps": 3})]:
        with pytest.raises(triton.TritonError):
            record[(1,)](*arguments, **options)
    with pytest.raises(triton.LaunchError):
        record[(-1,)](out, 5, 1.0, FLAG=0)
    record[(0,)](out, 5, 1.0, FLAG=0)
    assert out[0] == 3


def test_a_changed_constant_is_seen_by_a_repeated_call():
    global SCALE
    out = np.zeros(2)
    for SCALE in [tl.constexpr(2), tl.constexpr(2), tl.constexpr(3), tl.constexpr(3), tl.constexpr(2)]:
        scaled[(1,)](out, 5)
        assert out[0] == 5 * SCALE.value


SCALE = tl.constexpr(1)


@triton.jit
def scaled(out_ptr, n):
    tl.store(out_ptr, n * SCALE)


def test_names_and_places_of_arguments_are_told_apart():
    """Calls with as many values under other names, in another order, or with names that nobody interned."""
    out = np.zeros(8)
    for _ in range(5):
        record[(1,)](out, n=5, f=2.0)
        assert out[2:4].tolist() == [5, 2]
        record[(1,)](out, f=5.0, n=2)
        assert out[2:4].tolist() == [2, 5]
        record[(1,)](out, 7, 3.0)
        assert out[2:4].tolist() == [7, 3]
        fresh = "".join(["FL", "AG"])
        record[(1,)](out, 5, 1.0, **{fresh: 3})
        assert out[1] == 12
        record[(1,)](out, 5, 1.0, num_warps=2)
        assert out[1] == 0
    assert out[0] == 25


def test_grids_of_repeated_calls_are_their_own():
    out = np.zeros(8)
    for grid in [(1,), (3,), [2], lambda meta: (meta["n"] - 1,), (2, 2), (1,)]:
        counted[grid](out, 5)
    assert out[0] == 1 + 3 + 2 + 4 + 4 + 1
    with pytest.raises(triton.LaunchError, match="grid"):
        counted[5](out, 5)
    with pytest.raises(triton.LaunchError, match="negative|-1"):
        counted[(-1,)](out, 5)
    counted[(0,)](out, 5)
    assert out[0] == 15


@triton.jit
def counted(out_ptr, n):
    tl.atomic_add(out_ptr, 1.0)


def test_a_failing_repeated_call_runs_once_and_says_where():
    out = np.zeros(8)
    for _ in range(3):
        checked[(1,)](out, 5, debug=True)
    with pytest.raises(triton.DeviceAssertionError, match="too large") as caught:
        checked[(1,)](out, 7, debug=True)
    assert out[0] == 4 and __file__ in str(caught.value)
    checked[(1,)](out, 5, debug=True)
    assert out[0] == 5


@triton.jit
def checked(out_ptr, n):
    tl.store(out_ptr, tl.load(out_ptr) + 1)
    tl.device_assert(n < 6, "too large")


def test_a_repeated_call_has_the_object_of_its_kernel():
    out, other = np.zeros(8), np.zeros(8, np.float32)
    first, second = counted[(1,)](out, 5), counted[(1,)](other, 5)
    assert first is not second
    for _ in range(4):
        assert counted[(1,)](out, 7) is first and counted[(1,)](other, 9) is second
    before = triton.get_kernel_limit()
    triton.set_kernel_limit(1)
    try:
        again = scaled[(1,)](out, 5.5)
        third = counted[(1,)](out, 5)
        assert third is not first and again is not third
    finally:
        triton.set_kernel_limit(before)
    assert counted[(1,)](out, 5) is third


def test_threads_that_repeat_calls_each_get_their_own():
    import threading

    outs, failures = [np.zeros(4) for _ in range(4)], []

    def work(number):
        for _ in range(300):
            kernel = record[(1,)](outs[number], 5 + number, 1.0 + number, FLAG=number % 2)
            if outs[number][1:4].tolist() != [4 * (number % 2), 5 + number, 1 + number] or kernel is None:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures and all(out[0] == 300 for out in outs)


# ---- bound launches --------------------------------------------------------------------------------


def bound_record(out, n=5, f=1.0, **options):
    return record[(1,)].bind(out, n, f, **options)


def test_a_bound_call_runs_as_often_as_it_is_called():
    out = np.zeros(8)
    bound = bound_record(out, WORD="b")
    assert out[0] == 0
    for _ in range(3):
        bound()
    assert out[:4].tolist() == [3, 2, 5, 1]


def test_arguments_are_replaced_by_name_and_by_number():
    out, other = np.zeros(8), np.zeros(8)
    bound = record[(1,)].bind(out, 5, f=1.0, WORD="a")
    bound["n"] = 7
    bound["f"] = 2.5
    bound()
    bound[0] = other
    bound["n"] = 35
    bound()
    assert out[:4].tolist() == [1, 0, 7, 2.5] and other[:4].tolist() == [1, 0, 35, 2.5]


def test_what_is_bound_stays_alive():
    bound = bound_record(np.zeros(8))
    kept = [np.full(8, 7.0) for _ in range(100)]
    bound()
    assert all((array == 7).all() for array in kept)


@pytest.mark.parametrize("key, value, reason", [
    ("n", 16, "another kind"), ("n", 1, "another kind"), ("n", 2**40, "another kind"), ("n", 2.5, "another kind"),
    ("n", None, "another kind"), ("out_ptr", np.zeros(8, np.float32), "another kind"), ("out_ptr", 5, "another kind"),
    ("WORD", "b", "constant of the kernel"), ("n", "text", "another kind"), ("n", (1, 2), "another kind"),
])
def test_a_value_of_another_kind_is_refused(key, value, reason):
    out = np.zeros(8)
    bound = bound_record(out, WORD="a")
    with pytest.raises(triton.LaunchError, match=reason) as caught:
        bound[key] = value
    assert caught.value.kind == "BoundArgument" and "hint" in str(caught.value)
    bound()
    assert out[:4].tolist() == [1, 0, 5, 1]


def test_what_cannot_be_bound_is_refused():
    out = np.zeros(8)
    bound = bound_record(out)
    for key in ["m", 3, -1, None]:
        with pytest.raises(KeyError):
            bound[key] = 5
    with pytest.raises(triton.LaunchError, match="takes no arguments"):
        bound(5)
    with pytest.raises(TypeError, match="not taken away"):
        del bound["n"]
    with pytest.raises(triton.TritonError) as caught:
        takes_tuple[(1,)].bind(out, (3, 4))
    assert caught.value.kind == "BoundTuple"
    frozen = np.zeros(8)
    frozen.flags.writeable = False
    with pytest.raises(triton.LaunchError, match="read-only"):
        bound_record(frozen)


@triton.jit
def takes_tuple(out_ptr, pair):
    tl.store(out_ptr, pair[0] + pair[1])
