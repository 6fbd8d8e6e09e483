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


# (relative, absolute) in units of the last place of 1, where GPUs have instructions of their own
# (docs/language/math-functions.md, "On GPUs").
ON_GPUS = {"exp": (2 + 1.18 * 20, 0), "log": (4, 4), "log2": (4, 2), "log10": (4, 2)}


def check(name, out, exact, dtype, target="cpu"):
    if name in EXACT:
        np.testing.assert_array_equal(out, exact.astype(dtype))
    elif target in ("cuda", "sim") and dtype == np.float32 and name in ON_GPUS:
        relative, absolute = ON_GPUS[name]
        np.testing.assert_allclose(out, exact, rtol=relative * 2.0**-23, atol=absolute * 2.0**-23)
    else:
        # four units in the last place, and as much of 1 where functions cross zero
        unit = 2.0**-23 if dtype == np.float32 else 2.0**-52
        np.testing.assert_allclose(out, exact, rtol=4 * unit, atol=unit * 2.0**-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", list(UNARY))
def test_unary(target, kernel_of, name, dtype):
    function, low, high = UNARY[name]
    x = np.random.default_rng(1).uniform(low, high, 400).astype(dtype)
    if name in ROUND:
        x[:6] = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5]
    check(name, run(kernel_of(f"libdevice.{name}(x)"), x), function(x.astype(np.float64)), dtype, target)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", list(BINARY))
def test_binary(target, kernel_of, name, dtype):
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


def test_cube_roots_of_all_magnitudes(target, kernel_of):
    """Within 1 ulp, subnormals too; zeros and infinities are their own roots."""
    random = np.random.default_rng(3)
    bits = (np.arange(256, dtype=np.uint32) << 23) + random.integers(0, 2**23, 256, dtype=np.uint32)
    x = np.concatenate([bits.view(np.float32)[:255], np.array([0, 1e-45, 8, 27, np.inf, np.nan], np.float32)])
    x = np.copysign(x, random.standard_normal(len(x))).astype(np.float32)
    out = run(kernel_of("libdevice.cbrt(x)"), x)
    exact = np.cbrt(x.astype(np.float64))
    np.testing.assert_array_equal(np.signbit(out[:-1]), np.signbit(x[:-1]))
    np.testing.assert_array_equal(out[~np.isfinite(exact)], exact[~np.isfinite(exact)])
    finite = np.isfinite(exact)
    assert np.all(np.abs(out[finite] - exact[finite]) <= np.spacing(np.abs(exact[finite]).astype(np.float32)))


# name -> (reference, lowest, highest argument, relative and absolute error in f32, as math-functions.md has them)
FAST = {
    "fast_sinf(x)": (np.sin, -np.pi, np.pi, 0, 2.0**-21.4), "fast_cosf(x)": (np.cos, -np.pi, np.pi, 0, 2.0**-21.1),
    "fast_tanf(x)": (np.tan, -1, 1, 2.0**-19, 2.0**-19), "fast_tanhf(x)": (np.tanh, -9, 9, 2.0**-10.9, 0),
    "fast_expf(x)": (np.exp, -20, 20, 26 * 2.0**-23, 0), "fast_exp10f(x)": (lambda x: 10.0**x, -9, 9, 30 * 2.0**-23, 0),
    "fast_logf(x)": (np.log, 0.01, 100, 3 * 2.0**-23, 2.0**-21.4), "fast_log2f(x)": (np.log2, 0.01, 100, 2 * 2.0**-23, 2.0**-21.9),
    "fast_log10f(x)": (np.log10, 0.01, 100, 3 * 2.0**-23, 2.0**-22),
    "fast_powf(x, 2.5)": (lambda x: x**2.5, 0.01, 100, 2.0**-17, 0), "fast_powf(7.0, x)": (lambda x: 7.0**x, -9, 9, 40 * 2.0**-23, 0),
    "fast_dividef(1.75, x)": (lambda x: 1.75 / x, 0.01, 100, 2 * 2.0**-23, 0),
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=["f16", "f32", "f64"])
@pytest.mark.parametrize("call", list(FAST))
def test_fast_functions(target, kernel_of, call, dtype):
    """Of f64 they are the others; of f16 those of f32, rounded."""
    function, low, high, relative, absolute = FAST[call]
    x = np.random.default_rng(1).uniform(low, high, 400).astype(dtype)
    if dtype == np.float16:
        relative, absolute = relative + 2.0**-11, absolute + 2.0**-25
        x = x[np.abs(function(x.astype(np.float64))) < 60000]
    elif dtype == np.float64:
        relative = absolute = 8 * 2.0**-52
    out = run(kernel_of(f"libdevice.{call}"), x)
    np.testing.assert_allclose(out, function(x.astype(np.float64)), rtol=relative, atol=absolute)


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


# ---- compositions ---------------------------------------------------------------------------

SIXTEEN_BITS = np.array([0, 1, -1, 2, -2, 100, -100, 32767, -32768, 12345, -12345, 77, 65535, -65536, 8388607, -8388608], np.int32)
EXTREMES = np.array([0, 1, -1, 2**31 - 1, -2**31, 1 << 20, -(1 << 20) + 1, 0x55555555], dtype=np.int32)
SPECIALS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, -5e-324, 1.7e308, 3e-45, 0.75, -2.5, 1e-40, 3e38]


def reversed_bits(v, width):
    return int(format(int(v) % 2**width, f"0{width}b")[::-1], 2)


@pytest.mark.parametrize("name, reference", [
    ("mulhi", lambda x, y: (x.astype(np.int64) * y) >> 32), ("mul24", lambda x, y: ((x << 8) >> 8) * ((y << 8) >> 8)),
    ("hadd", lambda x, y: (x.astype(np.int64) + y) >> 1), ("rhadd", lambda x, y: (x.astype(np.int64) + y + 1) >> 1)])
def test_integer_pairs(target, kernel_of, name, reference):
    x, y = np.meshgrid(EXTREMES, np.concatenate([EXTREMES, SIXTEEN_BITS]))
    x, y = x.ravel().copy(), y.ravel().copy()
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run(kernel_of(f"libdevice.{name}(x, y)"), x, y), reference(x, y).astype(np.int32))


def test_unsigned_upper_half(target, kernel_of):
    x, y = np.random.default_rng(3).integers(0, 2**32, (2, 100)).astype(np.uint32)
    np.testing.assert_array_equal(run(kernel_of("libdevice.mulhi(x, y)"), x, y), (x.astype(np.uint64) * y) >> np.uint64(32))


@pytest.mark.parametrize("dtype, width", [(np.int32, 32), (np.uint32, 32), (np.int64, 64)])
def test_reversed_bits(target, kernel_of, dtype, width):
    x = np.random.default_rng(4).integers(0, 2**(width - 1), 50).astype(dtype)
    out = run(kernel_of("libdevice.brev(x)"), x)
    assert [int(v) % 2**width for v in out] == [reversed_bits(v, width) for v in x]


def test_first_bit_and_sum_of_differences(target, kernel_of):
    x = EXTREMES
    np.testing.assert_array_equal(run(kernel_of("libdevice.ffs(x)"), x), [(int(v) & -int(v)).bit_length() for v in x])
    small = SIXTEEN_BITS
    np.testing.assert_array_equal(run(kernel_of("libdevice.sad(x, y, 5)"), small, small[::-1].copy()),
                                  np.abs(small - small[::-1]) + 5)


@pytest.mark.parametrize("name, reference", [("rn", np.rint), ("rz", np.trunc), ("rd", np.floor), ("ru", np.ceil)])
def test_float_to_int(target, kernel_of, name, reference):
    x = np.array([0.5, -0.5, 1.5, -1.5, 2.5, 1e20, -1e20, 7.9, -7.9, 0.0], np.float32)
    out = run(kernel_of(f"libdevice.float2int_{name}(x)"), x, out=np.zeros(len(x), np.int32))
    np.testing.assert_array_equal(out, np.clip(reference(x.astype(np.float64)), -2**31, 2**31 - 1).astype(np.int64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name, reference", [("hypot", np.hypot), ("rhypot", lambda x, y: 1 / np.hypot(x, y))])
def test_lengths(target, kernel_of, name, reference, dtype):
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-9, 9, 400).astype(dtype), rng.uniform(-9, 9, 400).astype(dtype)
    check(name, run(kernel_of(f"libdevice.{name}(x, y)"), x, y), reference(x.astype(np.float64), y.astype(np.float64)), dtype)
    big = np.finfo(dtype).max / 2
    x, y = np.array([big, np.inf, np.nan, 0, 3, np.nan], dtype), np.array([big, np.nan, np.inf, 0, 4, 1], dtype)
    out = run(kernel_of("libdevice.hypot(x, y)"), x, y)
    np.testing.assert_allclose(out, np.array([np.hypot(big, big), np.inf, np.inf, 0, 5, np.nan]), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_turns(target, kernel_of, dtype):
    x = np.concatenate([np.random.default_rng(6).uniform(-20, 20, 300), np.arange(-8, 8.5, 0.5), [1e7 + 1]]).astype(dtype)
    exact = x.astype(np.float64)
    nearest = np.rint(exact)
    sign = np.where(nearest % 2 == 0, 1, -1)
    check("sinpi", run(kernel_of("libdevice.sinpi(x)"), x), sign * np.sin(np.pi * (exact - nearest)), dtype)
    check("cospi", run(kernel_of("libdevice.cospi(x)"), x), sign * np.sin(np.pi * (0.5 - np.abs(exact - nearest))), dtype)


@pytest.mark.parametrize("name, reference", [("exp10", lambda x: 10.0**x), ("rcp_rn", lambda x: 1 / x),
                                             ("saturatef", lambda x: np.clip(x, 0, 1))])
def test_small_functions(target, kernel_of, name, reference):
    x = np.random.default_rng(7).uniform(-20, 20, 300).astype(np.float32)
    check(name, run(kernel_of(f"libdevice.{name}(x)"), x), reference(x.astype(np.float64)), np.float32)
    assert run(kernel_of("libdevice.saturatef(x)"), np.array([np.nan], np.float32))[0] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("shift", [0, 3, -3, 126, -130, -149, -1000, -1022, -1070, 1023, 5000, -5000])
def test_scaling_rounds_once(target, kernel_of, shift, dtype):
    x = np.concatenate([SPECIALS, np.random.default_rng(8).standard_normal(80)]).astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(run(kernel_of(f"libdevice.ldexp(x, tl.full((512,), {shift}, tl.int32))"), x), np.ldexp(x, shift))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", ["round", "llround"])
def test_halves_are_rounded_away_from_zero(target, kernel_of, name, dtype):
    """Numbers of all magnitudes, and the neighbours of halves and of the numbers from which on all are integers."""
    word, digits, width = (np.int32, 23, 8) if dtype == np.float32 else (np.int64, 52, 11)
    random = np.random.default_rng(9)
    bits = (np.arange(2**width, dtype=word) << digits) + random.integers(0, 2**digits, 2**width, dtype=word)
    near = np.concatenate([np.array([0, 0.5, 1, 1.5, 2.5, 0.25], dtype), 2.0 ** np.arange(digits - 2, digits + 3), random.integers(0, 2**20, 40) + 0.5]).astype(dtype)
    near = np.concatenate([np.nextafter(near, dtype(-np.inf)), near, np.nextafter(near, dtype(np.inf))])
    x = np.concatenate([bits.view(dtype), near, np.array([np.inf, np.nan], dtype)])
    x = np.concatenate([x, -x])
    if name == "llround":
        x = x[np.abs(x) < 2.0**62]
    kernel = kernel_of(f"libdevice.{name}(x)")
    for part in np.split(x, range(512, len(x), 512)):
        size = np.abs(part)
        whole = np.floor(size)
        with np.errstate(invalid="ignore"):  # inf - inf
            exact = np.copysign(np.where(size - whole >= 0.5, whole + 1, whole), part)
        if name == "round":
            out = run(kernel, part)
            np.testing.assert_array_equal(out, exact)
            np.testing.assert_array_equal(np.signbit(out[~np.isnan(part)]), np.signbit(part[~np.isnan(part)]))
        else:
            np.testing.assert_array_equal(run(kernel, part, out=np.zeros(len(part), np.int64)), exact.astype(np.int64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_exponents(target, kernel_of, dtype):
    x = np.array(SPECIALS, dtype)
    ilogb = [np.frexp(v)[1] - 1 if v and np.isfinite(v) else 2**31 - 1 if np.isinf(v) else -2**31 for v in x]
    np.testing.assert_array_equal(run(kernel_of("libdevice.ilogb(x)"), x, out=np.zeros(len(x), np.int32)), ilogb)
    with np.errstate(divide="ignore"):
        logb = [np.frexp(v)[1] - 1.0 if v and np.isfinite(v) else -np.inf if v == 0 else v * v for v in x]
    np.testing.assert_array_equal(run(kernel_of("libdevice.logb(x)"), x), np.array(logb, dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name, reference", [("nextafter", np.nextafter), ("remainder", np.vectorize(
    lambda x, y: math.remainder(x, y) if np.isfinite(x) and y != 0 and not np.isnan(y) else np.nan))])
def test_pairs_of_special_numbers(target, kernel_of, name, reference, dtype):
    values = np.concatenate([SPECIALS, np.random.default_rng(9).standard_normal(6)]).astype(dtype)
    x, y = (grid.ravel().copy() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = np.array(reference(x, y), dtype)
    out = run(kernel_of(f"libdevice.{name}(x, y)"), x, y)
    np.testing.assert_array_equal(out, expected)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(out[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("expression", ["libdevice.mul_rn(x, x) - y", "y - libdevice.mul_rn(x, x)", "libdevice.add_rn(x * x, -y)",
                                        "libdevice.sub_rn(x * x, y)", "libdevice.sub_rn(libdevice.mul_rn(x, x), y)"])
def test_products_and_sums_that_round_are_never_fused(target, kernel_of, expression, dtype):
    """The square is rounded before the rounded square is taken from it: one operation would leave the rest of it."""
    x = np.random.default_rng(5).uniform(1, 2, 300).astype(dtype)
    np.testing.assert_array_equal(run(kernel_of(expression), x, x * x), np.zeros_like(x))
