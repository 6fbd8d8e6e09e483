"""tl.extra.libdevice: each function beside NumPy in f64, f32 and f64."""
import importlib.util
import math

import numpy as np
import pytest

import tegula

SOURCE = """
import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, {expression}, mask=i < n)
"""
ROUND = {"round": lambda x: np.trunc(x + np.copysign(0.5, x)), "rint": np.rint, "nearbyint": np.rint, "trunc": np.trunc,
         "floor": np.floor, "ceil": np.ceil}
ERFC = np.vectorize(math.erfc)
ERF = np.vectorize(math.erf)
# name -> (reference, lowest, highest argument)
UNARY = {
    "acos": (np.arccos, -1, 1), "asin": (np.arcsin, -1, 1), "atan": (np.arctan, -50, 50), "acosh": (np.arccosh, 1, 50),
    "asinh": (np.arcsinh, -50, 50), "atanh": (np.arctanh, -0.99, 0.99), "cbrt": (np.cbrt, -50, 50),
    "cosh": (np.cosh, -20, 20), "sinh": (np.sinh, -20, 20), "tanh": (np.tanh, -10, 10), "tan": (np.tan, -1.5, 1.5),
    "erf": (ERF, -4, 4), "erfc": (ERFC, -4, 4), "exp": (np.exp, -20, 20), "exp2": (np.exp2, -20, 20),
    "expm1": (np.expm1, -5, 5), "log": (np.log, 0.01, 100), "log10": (np.log10, 0.01, 100), "log1p": (np.log1p, -0.9, 50),
    "log2": (np.log2, 0.01, 100), "rsqrt": (lambda x: 1 / np.sqrt(x), 0.01, 100), "sqrt": (np.sqrt, 0, 100),
    "sin": (np.sin, -50, 50), "cos": (np.cos, -50, 50), "abs": (np.abs, -50, 50),
    **{name: (function, -50, 50) for name, function in ROUND.items()},
}
BINARY = {
    "atan2": np.arctan2, "copysign": np.copysign, "fmod": np.fmod, "pow": lambda x, y: np.power(np.abs(x), y),
    "fdim": lambda x, y: np.maximum(x - y, 0), "div_rn": np.divide, "add_rn": np.add, "mul_rn": np.multiply,
}
# No code for these on the CPU yet: refused by name.
REFUSED = {"cpu": {"acosh", "asinh", "atanh", "cbrt", "erfc", "atan2"}}
EXACT = {*ROUND, "abs", "copysign", "fmod"}
PREDICATES = {"isnan": np.isnan, "isinf": np.isinf, "signbit": np.signbit}


@pytest.fixture
def kernel_of(tmp_path):
    def make(expression):
        path = tmp_path / "libdevice_kernel.py"
        path.write_text(SOURCE.format(expression=expression))
        spec = importlib.util.spec_from_file_location("libdevice_kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.kernel
    return make


def run(kernel, x, y=None, out=None):
    out = np.zeros_like(x) if out is None else out
    kernel[(1,)](x, x if y is None else y, out, x.size, BLOCK=512)
    return out


def check(name, out, exact, dtype):
    if name in EXACT:
        np.testing.assert_array_equal(out, exact.astype(dtype))
    else:
        # four units in the last place, and as much of 1 where functions cross zero
        unit = 2.0**-23 if dtype == np.float32 else 2.0**-52
        np.testing.assert_allclose(out, exact, rtol=4 * unit, atol=unit * 2.0**-4)


def refused(target, kernel_of, name, call):
    """Checks the refusal where there is one; tells whether there was."""
    if name not in REFUSED.get(target, ()):
        return False
    with pytest.raises(tegula.CompilationError, match=f"has no `{name}`"):
        run(kernel_of(call), np.ones(4, np.float32))
    return True


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", list(UNARY))
def test_unary(target, kernel_of, name, dtype):
    if refused(target, kernel_of, name, f"libdevice.{name}(x)"):
        return
    function, low, high = UNARY[name]
    x = np.random.default_rng(1).uniform(low, high, 400).astype(dtype)
    if name in ROUND:
        x[:6] = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5]
    check(name, run(kernel_of(f"libdevice.{name}(x)"), x), function(x.astype(np.float64)), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", list(BINARY))
def test_binary(target, kernel_of, name, dtype):
    if refused(target, kernel_of, name, f"libdevice.{name}(x, y)"):
        return
    rng = np.random.default_rng(2)
    x, y = rng.uniform(-9, 9, 400).astype(dtype), rng.uniform(-6, 6, 400).astype(dtype)
    first = "libdevice.abs(x)" if name == "pow" else "x"
    check(name, run(kernel_of(f"libdevice.{name}({first}, y)"), x, y),
          BINARY[name](x.astype(np.float64), y.astype(np.float64)), dtype)


@pytest.mark.parametrize("name", list(PREDICATES))
def test_predicates(target, kernel_of, name):
    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40], dtype=np.float32)
    out = run(kernel_of(f"libdevice.{name}(x) != 0"), x, out=np.zeros(8, np.int32))
    np.testing.assert_array_equal(out, PREDICATES[name](x).astype(np.int32))


def test_bits(target, kernel_of):
    x = np.array([0, 1, -1, 5, -8, 2**31 - 1, -2**31, 1 << 20], dtype=np.int32)
    bits = [int(v) & 0xFFFFFFFF for v in x]
    out = run(kernel_of("libdevice.clz(x)"), x)
    np.testing.assert_array_equal(out, [32 - v.bit_length() for v in bits])
    out = run(kernel_of("libdevice.popc(x)"), x)
    np.testing.assert_array_equal(out, [v.bit_count() for v in bits])


def test_bit_casts(target, kernel_of):
    x = np.array([0.0, -1.5, np.inf, 1e-40], dtype=np.float32)
    out = run(kernel_of("libdevice.float_as_int(x)"), x, out=np.zeros(4, np.int32))
    np.testing.assert_array_equal(out, x.view(np.int32))
