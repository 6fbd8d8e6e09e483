"""A number that a helper returns, or that a tuple with a name holds, is a run-time scalar of int32, int64 or float32 where it meets
tiles, as it is upstream; it stays a constant where one is asked for."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def two_hundred():
    return 200


@triton.jit
def tenth():
    return 0.1


@triton.jit
def large():
    return 1 << 40


@triton.jit
def extent(x):
    return x.shape[0]


@triton.jit
def passed_on():
    return two_hundred()


@triton.jit
def pair():
    return 200, 0.1


def stored(kernel, x, result):
    out = np.zeros(x.shape, result)
    kernel[(1,)](x, out)
    return out


@triton.jit
def add_returned(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) + two_hundred())


@triton.jit
def add_passed_on(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) + passed_on())


@triton.jit
def add_sum_of_returned(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) + (two_hundred() - 0))


@triton.jit
def add_of_named_tuple(x, o):
    i = tl.arange(0, 4)
    t = (200, 1)
    tl.store(o + i, tl.load(x + i) + t[0])


@triton.jit
def add_of_nested_tuple(x, o):
    i = tl.arange(0, 4)
    t = (1, (i, 200))
    tl.store(o + i, tl.load(x + i) + t[1][1])


@triton.jit
def add_of_returned_tuple(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) + pair()[0])


@triton.jit
def add_quotient(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) + tl.cdiv(400, 2))


ADDITIONS = [add_returned, add_passed_on, add_sum_of_returned, add_of_named_tuple, add_of_nested_tuple, add_of_returned_tuple,
             add_quotient]


@pytest.mark.parametrize("kernel", ADDITIONS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("narrow", [np.int8, np.uint8])
def test_narrow_integers_are_added_in_32_bits(kernel, narrow):
    x = np.array([1, 100, 120, 127], narrow)
    np.testing.assert_array_equal(stored(kernel, x, np.int32), x.astype(np.int32) + 200)


@triton.jit
def multiply_by_returned(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) * tenth())


@triton.jit
def multiply_by_element(x, o):
    i = tl.arange(0, 4)
    t = (1, 0.1)
    tl.store(o + i, tl.load(x + i) * t[1])


@triton.jit
def multiply_by_product(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) * (tenth() * 3))


@pytest.mark.parametrize("kernel", [multiply_by_returned, multiply_by_element])
@pytest.mark.parametrize("narrow, wide", [(np.float16, np.float32), (np.float64, np.float64)])
def test_floats_are_multiplied_by_a_float32(kernel, narrow, wide):
    x = np.array([0.5, 0.875, 3, -7], narrow)
    np.testing.assert_array_equal(stored(kernel, x, wide), x.astype(wide) * wide(np.float32(0.1)))


def test_floats_of_helpers_are_multiplied_in_float32():
    x = np.array([0.5, 0.875, 3, -7], np.float64)
    np.testing.assert_array_equal(stored(multiply_by_product, x, np.float64), x * np.float64(np.float32(0.1) * np.float32(3)))


@triton.jit
def add_wide(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) + large())


def test_a_wide_number_of_a_helper_is_an_int64():
    x = np.array([1, -2, 3, 4], np.int32)
    np.testing.assert_array_equal(stored(add_wide, x, np.int64), x.astype(np.int64) + (1 << 40))


@triton.jit
def divide_below_zero(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i) + (two_hundred() - 207) // 2)


def test_numbers_of_helpers_are_divided_as_scalars():
    x = np.zeros(4, np.int32)
    np.testing.assert_array_equal(stored(divide_below_zero, x, np.int32), -3)  # a run-time quotient is cut


@triton.jit
def choose(x, o):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    tl.store(o + i, tl.where(v > 100, v, two_hundred()))


def test_a_choice_has_the_wider_type():
    x = np.array([1, 101, 3, 127], np.int8)
    np.testing.assert_array_equal(stored(choose, x, np.int32), [200, 101, 200, 127])


@triton.jit
def ask_for_constants(x, o):
    i = tl.arange(0, extent(tl.zeros([4], tl.float32)))
    shape = (2, 2)
    y = tl.reshape(tl.load(x + i), shape)
    n: tl.constexpr = two_hundred()
    if extent(y) == 2:
        y += tl.full(shape, n, tl.int8).to(tl.int32)
    tl.store(o + i, tl.reshape(y, (4,)))


def test_they_are_constants_where_constants_are_asked_for():
    x = np.array([1, 2, 3, 4], np.int32)
    np.testing.assert_array_equal(stored(ask_for_constants, x, np.int32), x - 56)


@triton.jit
def ask_for_classes(x, o):
    i = tl.arange(0, 4)
    a: tl.constexpr = isinstance(two_hundred(), tl.tensor)
    b: tl.constexpr = isinstance(two_hundred(), int)
    tl.store(o + i, tl.load(x + i) * 0 + (2 if a else 0) + (1 if b else 0))


def test_a_number_of_a_helper_is_a_tensor():
    np.testing.assert_array_equal(stored(ask_for_classes, np.ones(4, np.int32), np.int32), 2)


@triton.jit
def fill(o, VALUE: tl.constexpr, TYPE: tl.constexpr):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.full([4], VALUE, TYPE).to(tl.int64))


@pytest.mark.parametrize("value, dtype, expected", [
    (0x80000000, tl.int32, -1 << 31), (0xFFFFFFFF, tl.int32, -1), (255, tl.int8, -1), (-129, tl.int8, 127), (300, tl.uint8, 44),
    (0xFFFF, tl.int16, -1), (2, tl.int1, 1), (1 << 63, tl.uint64, -1 << 63)])
def test_a_tile_is_filled_with_the_low_bits_of_a_number(value, dtype, expected):
    out = np.zeros(4, np.int64)
    fill[(1,)](out, value, dtype)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("value, dtype", [(-1, tl.uint8), (1 << 64, tl.int64), (1 << 63, tl.int32), (1 << 64, tl.uint8)])
def test_a_tile_is_not_filled_with_a_number_of_no_width(value, dtype):
    with pytest.raises(triton.CompilationError, match="is out of range for"):
        fill[(1,)](np.zeros(4, np.int64), value, dtype)
