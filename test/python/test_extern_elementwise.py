"""tl.core.extern_elementwise: symbols of libdevice are our own functions; what cannot be called is refused with a reason."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.language import core
from tegula.language.extern import name_of_symbol

FP32, FP64, INT32 = core.dtype("fp32"), core.dtype("fp64"), core.dtype("int32")


@core.extern
def arc_sine(arg0, _semantic=None):
    return core.extern_elementwise("libdevice", "", [arg0], {
        (FP32,): ("__nv_asinf", FP32),
        (FP64,): ("__nv_asin", FP64),
    }, is_pure=True, _semantic=_semantic)


@core.extern
def arc_tangent(arg0, arg1, _semantic=None):
    return core.extern_elementwise("", "", [arg0, arg1], {
        (FP32, FP32): ("__nv_atan2f", FP32),
        (FP64, FP64): ("__nv_atan2", FP64),
    }, is_pure=True, _semantic=_semantic)


@core.extern
def is_nan(arg0, _semantic=None):
    return core.extern_elementwise("", "", [arg0], {(FP32,): ("__nv_isnanf", INT32)}, is_pure=True, _semantic=_semantic)


@core.extern
def scaled(arg0, power, _semantic=None):
    return core.extern_elementwise("", "", [arg0, power], {(FP32, INT32): ("__nv_ldexpf", FP32)}, is_pure=True, _semantic=_semantic)


@core.extern
def of_a_file(arg0, _semantic=None):
    return core.extern_elementwise("mine", "/nowhere/mine.bc", [arg0], {(FP32,): ("my_function", FP32)}, is_pure=True,
                                   _semantic=_semantic)


@core.extern
def unknown(arg0, _semantic=None):
    return core.extern_elementwise("", "", [arg0], {(FP32,): ("__nv_nonsense", FP32)}, is_pure=True, _semantic=_semantic)


@core.extern
def of_the_wrong_type(arg0, _semantic=None):
    return core.extern_elementwise("", "", [arg0], {(FP32,): ("__nv_asin", FP32)}, is_pure=True, _semantic=_semantic)


@core.extern
def passed_through(arg0, _semantic=None):
    return arg0


@triton.jit
def unary_kernel(x_ptr, out_ptr, N: tl.constexpr, FUNCTION: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, FUNCTION(tl.load(x_ptr + i)))


@triton.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr, FUNCTION: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, FUNCTION(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_type_chooses_the_symbol(target, dtype):
    x = np.linspace(-1, 1, 50).astype(dtype)
    out = np.zeros_like(x)
    unary_kernel[(1,)](x, out, N=50, FUNCTION=arc_sine)
    np.testing.assert_allclose(out, np.arcsin(x), rtol=4 * np.finfo(dtype).eps)


def test_arguments_take_the_type_that_they_have_together(target):
    x, y = np.linspace(-1, 1, 50).astype(np.float32), np.linspace(3, 1, 50)
    out = np.zeros(50)
    binary_kernel[(1,)](x, y, out, N=50, FUNCTION=arc_tangent)
    np.testing.assert_allclose(out, np.arctan2(x, y), rtol=1e-15)


def test_the_result_has_the_type_that_the_row_names(target):
    x, out = np.array([1, np.nan, 2, np.nan], np.float32), np.zeros(4, np.int32)
    unary_kernel[(1,)](x, out, N=4, FUNCTION=is_nan)
    np.testing.assert_array_equal(out, [0, 1, 0, 1])


def test_a_row_of_two_types(target):
    x, n = np.array([1, 3, 5, 7], np.float32), np.array([0, 1, -2, 3], np.int32)
    out = np.zeros_like(x)
    binary_kernel[(1,)](x, n, out, N=4, FUNCTION=scaled)
    np.testing.assert_array_equal(out, np.ldexp(x, n))


def test_a_marked_function_that_calls_nothing(target):
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    unary_kernel[(1,)](x, out, N=4, FUNCTION=passed_through)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("function,dtype,text", [
    (arc_sine, np.int32, r"input arg type does not match. Expect one of \(fp32\), \(fp64\)"),
    (of_a_file, np.float32, "`my_function` is of the library `mine`, which the launch does not bring"),
    (unknown, np.float32, "libdevice has no function `__nv_nonsense`"),
    (of_the_wrong_type, np.float32, "`__nv_asin` takes fp64, not fp32")], ids=["type", "file", "symbol", "row"])
def test_refusals(function, dtype, text):
    with pytest.raises(triton.CompilationError, match=text):
        unary_kernel[(1,)](np.zeros(4, dtype), np.zeros(4, np.float32), N=4, FUNCTION=function)


def test_names_of_symbols():
    for symbol, expected in {"__nv_sinf": ("sin", "fp32"), "__nv_sin": ("sin", "fp64"), "__nv_erf": ("erf", "fp64"),
                             "__nv_erff": ("erf", "fp32"), "__nv_fast_expf": ("fast_expf", "fp32"),
                             "__nv_dadd_rz": ("add_rz", "fp64"), "__nv_fmul_rn": ("mul_rn", "fp32"), "__nv_fmaf_ru": ("fma_ru", "fp32"),
                             "__nv_fma_rn": ("fma_rn", "fp64"), "__nv_exp2f": ("exp2", "fp32"), "__nv_log2": ("log2", "fp64"),
                             "__nv_float2int_rn": ("float2int_rn", None), "__nv_fmaxf": ("tl.maximum", "fp32"),
                             "__nv_float_as_int": ("float_as_int", None)}.items():
        assert name_of_symbol(symbol) == expected
    assert name_of_symbol("__nv_") is None
