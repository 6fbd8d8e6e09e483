"""Functions of scalars that branch and loop: tl.map_elementwise, and combine functions of tl.reduce and associative_scan."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def collatz(n):
    # The number of steps to 1: it never ends for 0, which no element is, but what lies outside of a tile may be.
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@triton.jit
def selu(x, alpha):
    if x > 0:
        return x
    else:
        return alpha * (tl.exp(x) - 1)


@triton.jit
def power_and_parity(x, n):
    result = x * 0 + 1
    for _ in range(n):
        result = result * x
    return result, n % 2 == 1


@triton.jit
def divide_two(a0, a1, b0, b1):
    if b0 == 0:
        q0 = -1
    else:
        q0 = a0 // b0
    return q0, a1 // (b1 + 0), a0 + b0, a1 - b1


@triton.jit
def collatz_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + i, tl.map_elementwise(collatz, tl.load(x_ptr + i)))


@triton.jit
def selu_kernel(x_ptr, out_ptr, alpha, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.map_elementwise(selu, tl.load(x_ptr + i), alpha))


@triton.jit
def power_kernel(x_ptr, n_ptr, out_ptr, odd_ptr, R: tl.constexpr, C: tl.constexpr):
    # A column and a row: their common shape is the result's.
    x = tl.load(x_ptr + tl.arange(0, R))[:, None]
    n = tl.load(n_ptr + tl.arange(0, C))[None, :]
    power, odd = tl.map_elementwise(power_and_parity, x, n)
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + i, power)
    tl.store(odd_ptr + i, odd)


@triton.jit
def pack_kernel(a_ptr, b_ptr, q_ptr, s_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    q, s = tl.map_elementwise(divide_two, tl.load(a_ptr + i), tl.load(b_ptr + i), pack=2)
    tl.store(q_ptr + i, q)
    tl.store(s_ptr + i, s)


@triton.jit
def scalar_kernel(x_ptr, out_ptr):
    tl.store(out_ptr, tl.map_elementwise(collatz, tl.load(x_ptr)))


@triton.jit
def greatest_common_divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@triton.jit
def later_of_equal(key_a, place_a, key_b, place_b):
    if key_b > key_a:
        return key_b, place_b
    else:
        if key_b == key_a:
            return key_a, tl.maximum(place_a, place_b)
        else:
            return key_a, place_a


@triton.jit
def gcd_kernel(x_ptr, out_ptr, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr, KEPT: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + tl.arange(0, KEPT), tl.reduce(tl.load(x_ptr + i), AXIS, greatest_common_divisor))


@triton.jit
def total_gcd_kernel(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, N)), None, greatest_common_divisor))


@triton.jit
def place_kernel(x_ptr, key_ptr, place_ptr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    places = tl.broadcast_to(tl.arange(0, C)[None, :], (R, C))
    key, place = tl.reduce((tl.load(x_ptr + i), places), 1, later_of_equal)
    tl.store(key_ptr + tl.arange(0, R), key)
    tl.store(place_ptr + tl.arange(0, R), place)


@triton.jit
def gcd_scan_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.associative_scan(tl.load(x_ptr + i), 0, greatest_common_divisor))


def steps_of(n):
    steps = 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (3, 7), (16, 32)], ids=str)
def test_a_loop_for_each_element(target, shape):
    x = np.random.default_rng(0).integers(1, 500, shape).astype(np.int32)
    out = np.zeros_like(x)
    collatz_kernel[(1,)](x, out, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(out, np.vectorize(steps_of)(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_branch_with_a_scalar_beside_a_tile(target, dtype):
    x = np.linspace(-3, 3, 61).astype(dtype)
    out = np.zeros_like(x)
    selu_kernel[(1,)](x, out, 1.5, N=61)
    np.testing.assert_allclose(out, np.where(x > 0, x, 1.5 * (np.exp(x) - 1)), rtol=1e-5, atol=1e-6)


def test_two_results_in_the_common_shape(target):
    x, n = np.arange(-3, 4).astype(np.int32), np.arange(5).astype(np.int32)
    out, odd = np.zeros((7, 5), np.int32), np.zeros((7, 5), np.int8)
    power_kernel[(1,)](x, n, out, odd, R=7, C=5)
    np.testing.assert_array_equal(out, x[:, None]**n[None, :])
    np.testing.assert_array_equal(odd, np.broadcast_to(n % 2, (7, 5)))


@pytest.mark.parametrize("n", [2, 14, 256])
def test_two_elements_a_call(target, n):
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 99, n).astype(np.int32), rng.integers(1, 9, n).astype(np.int32)
    q, s = np.zeros_like(a), np.zeros_like(a)
    pack_kernel[(1,)](a, b, q, s, N=n)
    np.testing.assert_array_equal(q, a // b)
    np.testing.assert_array_equal(s, np.where(np.arange(n) % 2 == 0, a + b, a - b))


def test_a_scalar_is_a_call(target):
    out = np.zeros(1, np.int32)
    scalar_kernel[(1,)](np.array([27], np.int32), out)
    assert out[0] == 111


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(4, 8), (5, 11)], ids=str)
def test_a_reduction_that_loops(target, shape, axis):
    x = (np.random.default_rng(1).integers(1, 60, shape) * 12).astype(np.int32)
    expected = np.gcd.reduce(x, axis)
    out = np.zeros_like(expected)
    gcd_kernel[(1,)](x, out, AXIS=axis, R=shape[0], C=shape[1], KEPT=shape[1 - axis])
    np.testing.assert_array_equal(out, expected)


def test_a_reduction_of_all_that_loops(target):
    x, out = (np.arange(1, 101) * 6).astype(np.int32), np.zeros(1, np.int32)
    total_gcd_kernel[(1,)](x, out, N=100)
    assert out[0] == 6


def test_a_reduction_of_two_tiles_that_branches(target):
    x = np.random.default_rng(2).integers(0, 4, (6, 19)).astype(np.int32)
    key, place = np.zeros(6, np.int32), np.zeros(6, np.int32)
    place_kernel[(1,)](x, key, place, R=6, C=19)
    np.testing.assert_array_equal(key, x.max(1))
    np.testing.assert_array_equal(place, 18 - np.argmax(x[:, ::-1], 1))


def test_a_scan_that_loops(target):
    x = (np.random.default_rng(3).integers(1, 40, 64) * 36).astype(np.int32)
    out = np.zeros_like(x)
    gcd_scan_kernel[(1,)](x, out, N=64)
    np.testing.assert_array_equal(out, np.gcd.accumulate(x))


@triton.jit
def loads(p):
    return tl.load(p)


@triton.jit
def memory_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.map_elementwise(loads, x_ptr + i))


@pytest.mark.parametrize("kernel,options,text", [(memory_kernel, {}, "its scalars alone"), (pack_kernel, {}, "a divisor of the last extent")],
                         ids=["memory", "pack"])
def test_refusals(kernel, options, text):
    x = np.ones(7, np.int32)
    with pytest.raises(triton.CompilationError, match=text):
        kernel[(1,)](*[x] * (2 if kernel is memory_kernel else 4), N=7, **options)


@triton.jit
def own_parameter(a, n):
    if a <= 3:
        if a <= 0:
            return a
    i = 0
    while i < n:
        if i == a:
            return n
        i += 1
    return a + 5


@triton.jit
def hinted(a, n):
    a = tl.multiple_of(a, 1)
    tl.assume(n >= 0)
    return tl.max_constancy(tl.max_contiguous(a + n, 1), 1)


@triton.jit
def counting_programs(a, b):
    return a + b + (tl.program_id(0) + 1) // tl.num_programs(0) - 1


@triton.jit
def chosen_by_program(a, b):
    if a > b:
        return a + 10 * tl.program_id(0)
    return b + 10 * tl.program_id(0)


@triton.jit
def applied_kernel(x_ptr, out_ptr, F: tl.constexpr, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if HOW == "map":
        v = tl.map_elementwise(F, x, i)
    elif HOW == "reduce":
        v = tl.reduce(x, 0, F) + i * 0
    else:
        v = tl.associative_scan(x, 0, F)
    tl.store(out_ptr + tl.program_id(0) * N + i, v)


def test_a_parameter_is_returned_from_within_branches(target):
    x = (np.arange(64, dtype=np.int32) * 7) % 11 - 2
    out = np.zeros(64, np.int32)
    applied_kernel[(1,)](x, out, own_parameter, "map", 64)
    assert out.tolist() == [a if a <= 0 else n if a < n else a + 5 for a, n in zip(x.tolist(), range(64))]


def test_hints_within_a_function_of_elements(target):
    x = np.arange(64, dtype=np.int32)[::-1].copy()
    out = np.zeros(64, np.int32)
    applied_kernel[(1,)](x, out, hinted, "map", 64)
    assert out.tolist() == [63] * 64


@pytest.mark.parametrize("how", ["map", "reduce", "scan"])
def test_a_function_of_elements_asks_for_its_program(target, how):
    x = np.arange(64, dtype=np.int32)
    out = np.zeros((1, 64), np.int32)
    applied_kernel[(1,)](x, out, counting_programs, how, 64)
    i = np.arange(64)
    assert out[0].tolist() == {"map": x + i, "reduce": x.sum() + 0 * i, "scan": np.cumsum(x)}[how].tolist()


def test_a_function_that_branches_asks_for_its_program(target):
    x = (np.arange(64, dtype=np.int32) * 5) % 64
    out = np.zeros((3, 64), np.int32)
    applied_kernel[(3,)](x, out, chosen_by_program, "map", 64)
    assert np.array_equal(out, np.maximum(x, np.arange(64)) + 10 * np.arange(3)[:, None])


@triton.jit
def asking_its_type(a, b):
    # As Inductor's helpers do: a tile that only says its type.
    if (a + tl.zeros((1,), tl.int1)).dtype.is_floating():
        return a * b
    if a > 1000:
        tl.device_assert(b >= 0, "never")
    return a + b


@pytest.mark.parametrize("how", ["reduce", "scan"])
def test_a_tile_that_only_says_its_type_is_of_no_matter(target, how):
    x = np.arange(64, dtype=np.int32)
    out = np.zeros((1, 64), np.int32)
    applied_kernel[(1,)](x, out, asking_its_type, how, 64)
    assert out[0].tolist() == (np.full(64, x.sum()) if how == "reduce" else np.cumsum(x)).tolist()
