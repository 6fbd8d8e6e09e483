"""With `debug=True` sums, differences and products of integers are asserted to fit their type, unless `sanitize_overflow` is
False: upstream's checks. Integers of 64 bits, and what the library of the language computes, wrap."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.errors import DeviceAssertionError


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) + tl.load(y_ptr + i))


@triton.jit
def sub_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) - tl.load(y_ptr + i))


@triton.jit
def mul_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    x *= tl.load(y_ptr + i)
    tl.store(out_ptr + i, x)


@triton.jit
def cdiv_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.cdiv(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@triton.jit
def functions_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr, SANITIZE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, tl.add(x, y, sanitize_overflow=SANITIZE))


@triton.jit
def summed(a, b):
    return a + b


@triton.jit
def reduction_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, BLOCK)), 0, summed))


@triton.jit
def library_kernel(out_ptr, seed, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.randint(seed, i))


def overflows(kernel, x, y, **options):
    x, y = np.array([1, x], x.dtype), np.array([1, y], y.dtype)
    out = np.zeros(2, np.result_type(x, y))
    try:
        kernel[(1,)](x, y, out, BLOCK=2, **options)
    except DeviceAssertionError as error:
        return str(error)
    return ""


CASES = [
    (add_kernel, np.int32(2**31 - 1), np.int32(1), "int32 overflow in `+`"),
    (add_kernel, np.int32(-2**31), np.int32(-1), "int32 overflow in `+`"),
    (add_kernel, np.int32(2**31 - 1), np.int32(-1), ""),
    (add_kernel, np.int8(127), np.int8(1), "int8 overflow in `+`"),
    (add_kernel, np.uint8(255), np.uint8(1), "uint8 overflow in `+`"),
    (add_kernel, np.uint32(2**32 - 1), np.uint32(0), ""),
    (add_kernel, np.int8(127), np.int32(1), ""),
    (add_kernel, np.int64(2**63 - 1), np.int64(1), ""),
    (sub_kernel, np.int16(-2**15), np.int16(1), "int16 overflow in `-`"),
    (sub_kernel, np.uint32(0), np.uint32(1), "uint32 overflow in `-`"),
    (sub_kernel, np.int32(-2**31), np.int32(-1), ""),
    (mul_kernel, np.int32(2**30), np.int32(2), "int32 overflow in `*`"),
    (mul_kernel, np.uint32(2**32 - 1), np.uint32(2**32 - 1), "uint32 overflow in `*`"),
    (mul_kernel, np.int32(-2**30), np.int32(2), ""),
    (cdiv_kernel, np.int32(2**31 - 1), np.int32(4), "int32 overflow in `+`"),  # of the dividend and the divisor, less 1
    (cdiv_kernel, np.int32(2**31 - 5), np.int32(4), ""),
]


@pytest.mark.parametrize("kernel, x, y, said", CASES)
def test_an_overflow_is_told_with_debug(target, kernel, x, y, said):
    if target == "cuda":
        pytest.skip("a failed assertion ends the process's use of the device")
    told = overflows(kernel, x, y, debug=True)
    assert said in told and bool(said) == bool(told)
    assert not overflows(kernel, x, y) and not overflows(kernel, x, y, debug=True, sanitize_overflow=False)


def test_a_function_says_for_itself(target):
    if target == "cuda":
        pytest.skip("a failed assertion ends the process's use of the device")
    x, y = np.int32(2**31 - 1), np.int32(1)
    assert overflows(functions_kernel, x, y, debug=True, SANITIZE=True)
    assert not overflows(functions_kernel, x, y, debug=True, SANITIZE=False)


def test_the_library_wraps(target):
    checked, plain = np.zeros(64, np.int32), np.zeros(64, np.int32)
    library_kernel[(1,)](checked, 12345, BLOCK=64, debug=True)
    library_kernel[(1,)](plain, 12345, BLOCK=64)
    np.testing.assert_array_equal(checked, plain)


def test_the_function_of_a_reduction_wraps(target):
    out = np.zeros(1, np.int32)
    reduction_kernel[(1,)](np.full(4, 2**30, np.int32), out, BLOCK=4, debug=True)
    assert out[0] == 0
