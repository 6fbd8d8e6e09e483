"""Functions of libdevice beyond C's, beside mpmath: the Bessel functions, gamma, the inverses of the error function, and
arithmetic that rounds in a direction, beside exact fractions."""
import ctypes
import importlib.util
import platform
from fractions import Fraction

import mpmath
import numpy as np
import pytest

mpmath.mp.dps = 40
SOURCE = """
import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice


@triton.jit
def kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    z = tl.load(z_ptr + i, mask=i < n)
    tl.store(out_ptr + i, {expression}, mask=i < n)
"""
mp = mpmath.mp
ERFCINV = lambda c: -mpmath.erfinv(c - 1) if c > 0.5 else mpmath.findroot(  # noqa: E731
    lambda y: mpmath.log(mpmath.erfc(y)) - mpmath.log(c), mpmath.sqrt(-mpmath.log(c)))
EVEN = [0.0, 1e-30, 1e-3, 0.25, 1.0, 1.9999, 2.0, 2.4, 3.8317, 7.3, 13.1, 24.9, 25.0, 31.4, 100.25, 1234.5]
BOTH = EVEN + [-v for v in EVEN[1:]]
POSITIVE = EVEN[1:]
GAMMA = [1e-30, 1e-3, 0.3, 0.5, 0.999, 1.0, 1.0001, 1.4616321, 1.5, 1.999, 2.0, 2.001, 2.5, 3.0, 9.9, 10.0, 20.5, 33.3, -0.5, -1.5,
         -2.25, -7.7, -20.1, -1e-3]
# name -> (reference, arguments, f64 relative error in ulp, f64 absolute error in ulp of 1)
UNARY = {
    "j0": (lambda v: mp.besselj(0, v), BOTH, 32, 8), "j1": (lambda v: mp.besselj(1, v), BOTH, 32, 8),
    "y0": (lambda v: mp.bessely(0, v), POSITIVE, 32, 8), "y1": (lambda v: mp.bessely(1, v), POSITIVE, 32, 8),
    "cyl_bessel_i0": (lambda v: mp.besseli(0, v), [v for v in BOTH if abs(v) < 80] + [29.9, 30.1, 86.0], 32, 0),
    "cyl_bessel_i1": (lambda v: mp.besseli(1, v), [v for v in BOTH if abs(v) < 80] + [29.9, 30.1, 86.0], 32, 0),
    "lgamma": (lambda v: mp.re(mp.loggamma(v)), GAMMA + [100.0, 1e5, 1e30, -50.5], 64, 64),
    "tgamma": (mp.gamma, GAMMA, 64, 0),
    "erfcx": (lambda v: mp.exp(mp.mpf(v) ** 2) * mp.erfc(v), [-5.0, -1.0, 0.0, 1e-9, 0.5, 2.0, 9.0, 24.9, 25.0, 26.0, 1e4, 1e20], 32, 0),
    "erfinv": (mp.erfinv, [0.0, 1e-30, 1e-9, 1e-4, 0.3, 0.49, 0.5, 0.51, 0.9, 0.999, 1 - 2.0**-20, -0.25, -0.75, -0.9999], 32, 0),
    "erfcinv": (ERFCINV, [1e-30, 1e-9, 0.01, 0.3, 0.5, 0.7, 0.99, 1.5, 1.75, 1.99], 32, 4),
    "normcdf": (mp.ncdf, [-9.0, -5.5, -1.0, -1e-3, 0.0, 0.5, 2.0, 6.0, 9.0], 32, 0),
    "normcdfinv": (lambda p: -mp.sqrt(2) * ERFCINV(2 * mp.mpf(p)), [1e-30, 1e-5, 0.02, 0.3, 0.49, 0.6, 0.75, 0.999], 32, 4),
}
INF, NAN = np.inf, np.nan
SPECIAL = {
    "j0": [(INF, 0), (NAN, NAN)], "j1": [(INF, 0), (-INF, 0)], "y0": [(0, -INF), (-1, NAN), (INF, 0)],
    "y1": [(0, -INF), (-1, NAN), (NAN, NAN)], "cyl_bessel_i0": [(INF, INF), (-INF, INF), (NAN, NAN), (800, INF)],
    "cyl_bessel_i1": [(-INF, -INF), (0, 0)], "lgamma": [(0, INF), (-3, INF), (INF, INF), (-INF, INF), (NAN, NAN)],
    "tgamma": [(0, INF), (-0.0, -INF), (-2, NAN), (INF, INF), (-INF, NAN), (200, INF), (NAN, NAN)],
    "erfcx": [(INF, 0), (-40, INF), (NAN, NAN)], "erfinv": [(1, INF), (-1, -INF), (1.5, NAN), (NAN, NAN)],
    "erfcinv": [(0, INF), (2, -INF), (1, 0), (-0.5, NAN), (2.5, NAN), (NAN, NAN)],
    "normcdf": [(INF, 1), (-INF, 0), (NAN, NAN)], "normcdfinv": [(0, -INF), (1, INF), (0.5, 0), (1.5, NAN)],
}


@pytest.fixture
def kernel_of(tmp_path):
    def make(expression):
        path = tmp_path / "special_kernel.py"
        path.write_text(SOURCE.format(expression=expression))
        spec = importlib.util.spec_from_file_location("special_kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.kernel
    return make


def run(kernel, x, y=None, z=None, out=None):
    out = np.zeros_like(x) if out is None else out
    n = x.size
    kernel[(1,)](x, x if y is None else y, x if z is None else z, out, n, BLOCK=max(1, 1 << (n - 1).bit_length()), num_warps=1)
    return out


def exact_of(reference, x):
    return np.array([float(reference(mpmath.mpf(float(v)))) for v in x])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_function(target, kernel_of, name, dtype):
    reference, arguments, relative, absolute = UNARY[name]
    x = np.array(arguments).astype(dtype)
    x = x[np.isfinite(x)]
    out = run(kernel_of(f"libdevice.{name}(x)"), x).astype(np.float64)
    exact = exact_of(reference, x)
    if dtype == "float32":
        fits = (np.abs(exact) < 3e38) & ((np.abs(exact) > 1.2e-38) | (exact == 0))
        np.testing.assert_allclose(out[fits], exact[fits], rtol=2.0**-23, atol=0)
    else:
        np.testing.assert_allclose(out, exact, rtol=relative * 2.0**-52, atol=absolute * 2.0**-52)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_special_values(target, kernel_of, name, dtype):
    x, expected = (np.array(column, dtype) for column in zip(*SPECIAL[name]))
    out = run(kernel_of(f"libdevice.{name}(x)"), x)
    np.testing.assert_array_equal(np.where(np.isnan(out), NAN, out), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bessel_functions_of_any_order(target, kernel_of, dtype):
    orders = [0, 1, 2, 5, 12, 30]
    x = np.array([v for v in [0.5, 1.5, 5.0, 12.0, 30.5, 200.0] for _ in orders], dtype)
    n = np.array(orders * 6, np.int32)
    j = run(kernel_of("libdevice.jn(y, x)"), x, n)
    y = run(kernel_of("libdevice.yn(y, x)"), x, n)
    rtol = 2.0**-22 if dtype == "float32" else 2.0**-44
    for function, out in ((mp.besselj, j), (mp.bessely, y)):
        exact = np.array([float(function(int(k), mpmath.mpf(float(v)))) for k, v in zip(n, x)])
        fits = (np.abs(exact) > 1.2e-38) & (np.abs(exact) < 3e38)
        np.testing.assert_allclose(out[fits].astype(float), exact[fits], rtol=rtol, atol=2.0**-50)


# ---- rounding in a direction ----------------------------------------------------------------------------


def neighbours(dtype):
    bits, ends = np.dtype(dtype).itemsize * 8, np.finfo(dtype)
    return bits, ends


def rounded(exact, dtype, direction):
    """The fraction `exact`, which is not 0, as a float of the type."""
    ends = np.finfo(dtype)
    down = direction == "rd" or (direction == "rz" and exact > 0)
    if abs(exact) > Fraction(float(ends.max)):
        beyond = (exact < 0) == down
        return np.copysign(np.inf if beyond else ends.max, float(1 if exact > 0 else -1)).astype(dtype)
    with np.errstate(all="ignore"):
        near = dtype(exact.numerator / exact.denominator if dtype is np.float64 else float(exact))
    value = Fraction(float(near)) if np.isfinite(near) else None
    while value is None or (value > exact if down else value < exact):
        near = np.nextafter(near, dtype(-np.inf if down else np.inf))
        value = Fraction(float(near))
    other = np.nextafter(near, dtype(np.inf if down else -np.inf))
    while np.isfinite(other) and (Fraction(float(other)) <= exact if down else Fraction(float(other)) >= exact):
        near, other = other, np.nextafter(other, dtype(np.inf if down else -np.inf))
    return near


def operands(dtype):
    rng = np.random.default_rng(0)
    ends = np.finfo(dtype)
    edges = np.array([ends.max, ends.tiny, ends.smallest_subnormal, 1, 3, 1 + ends.eps, ends.max / 3, ends.tiny * 3], dtype)
    spread = dtype(2) ** rng.integers(np.log2(ends.tiny) // 2, np.log2(ends.max) // 2, 24).astype(dtype)
    values = np.concatenate([edges, -edges, rng.standard_normal(24).astype(dtype), rng.standard_normal(24).astype(dtype) * spread])
    return [rng.permutation(values).astype(dtype) for _ in range(3)]


def square_root(exact, dtype, direction):
    """The square root of a fraction above 0 in a direction: by integers, far below the last place."""
    scale = 2 ** 2400
    root = Fraction(int(mpmath.libmp.isqrt_fast(exact.numerator * scale * scale // exact.denominator)), scale)
    return rounded(root if root * root == exact else root + Fraction(1, 4 * scale), dtype, direction)


OPERATIONS = {
    "add": ("x, y", lambda x, y, z: x + y), "sub": ("x, y", lambda x, y, z: x - y), "mul": ("x, y", lambda x, y, z: x * y),
    "div": ("x, y", lambda x, y, z: x / y), "rcp": ("x", lambda x, y, z: 1 / x), "fma": ("x, y, z", lambda x, y, z: x * y + z),
}


@pytest.mark.parametrize("direction", ["rz", "rd", "ru"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", [*OPERATIONS, "sqrt"])
def test_rounding_in_a_direction(target, kernel_of, name, dtype, direction):
    x, y, z = operands(dtype)
    if name == "sqrt":
        x = np.abs(x)
        out = run(kernel_of(f"libdevice.sqrt_{direction}(x)"), x)
        expected = np.array([square_root(Fraction(float(a)), dtype, direction) for a in x])
    else:
        given, function = OPERATIONS[name]
        out = run(kernel_of(f"libdevice.{name}_{direction}({given})"), x, y, z)
        exact = [function(*(Fraction(float(v)) for v in row)) for row in zip(x, y, z)]
        expected = np.array([rounded(e, dtype, direction) if e else dtype(0) for e in exact])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_directed_zeros_and_infinities(target, kernel_of, dtype):
    x = np.array([1, -1, 0, -0.0, 0, INF, -INF, NAN, INF, 1], dtype)
    y = np.array([-1, 1, 0, -0.0, -0.0, 1, 1, 1, -INF, INF], dtype)
    down = run(kernel_of("libdevice.add_rd(x, y)"), x, y)
    np.testing.assert_array_equal(down, np.array([0, 0, 0, 0, 0, INF, -INF, NAN, NAN, INF], dtype))
    assert np.signbit(down[:5]).tolist() == [True, True, False, True, True]
    up = run(kernel_of("libdevice.add_ru(x, y)"), x, y)
    assert np.signbit(up[:5]).tolist() == [False, False, False, True, False]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(kernel_of("libdevice.div_rz(x, y)"), x, y), x / y)
        np.testing.assert_array_equal(run(kernel_of("libdevice.mul_ru(x, y)"), x, y), x * y)


# As <fenv.h> has them on x86-64.
HOST_ROUNDING = {"rz": 0xc00, "rd": 0x400, "ru": 0x800}
ON_HOST = {"add": ("x, y", np.add), "sub": ("x, y", np.subtract), "mul": ("x, y", np.multiply), "div": ("x, y", np.divide),
           "rcp": ("x", lambda x, y: np.divide(x.dtype.type(1), x)), "sqrt": ("x", lambda x, y: np.sqrt(x))}


def any_bits(dtype, random, count):
    """Any bits, numbers near 1, subnormals, and ends."""
    word, ends = np.dtype(f"i{np.dtype(dtype).itemsize}"), np.finfo(dtype)
    bits = random.integers(np.iinfo(word).min, np.iinfo(word).max, count, dtype=word).view(dtype)
    edges = np.array([0, INF, NAN, 1, ends.max, ends.tiny, ends.smallest_subnormal], dtype)[random.integers(0, 7, count)]
    small = (random.integers(0, 2**20, count) * float(ends.smallest_subnormal)).astype(dtype)
    values = np.choose(random.integers(0, 4, count), [bits, random.standard_normal(count).astype(dtype), small, edges])
    return np.copysign(values, random.standard_normal(count)).astype(dtype)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the host's rounding modes on x86-64 only")
@pytest.mark.parametrize("direction", HOST_ROUNDING)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", ON_HOST)
def test_any_bits_round_in_a_direction_as_the_host_rounds_them(target, kernel_of, name, dtype, direction):
    random = np.random.default_rng(3)
    x, y = any_bits(dtype, random, 512), any_bits(dtype, random, 512)
    arguments, function = ON_HOST[name]
    out = run(kernel_of(f"libdevice.{name}_{direction}({arguments})"), x, y)
    host = ctypes.CDLL(None)
    with np.errstate(all="ignore"):
        host.fesetround(HOST_ROUNDING[direction])
        expected = function(x, y)
        host.fesetround(0)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out[~np.isnan(out)]), np.signbit(expected[~np.isnan(out)]))


@pytest.mark.parametrize("direction", ["rz", "rd", "ru"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_sums_that_cancel_round_in_a_direction(target, kernel_of, dtype, direction):
    """Product and addend cancel but for a few places, so that what each of them lost is as large as the last place."""
    random = np.random.default_rng(4)
    x, y = random.standard_normal((2, 400)).astype(dtype)
    z = -x * y * (1 + random.uniform(-1, 1, 400) * 2.0 ** random.integers(-8, 3, 400)).astype(dtype)
    out = run(kernel_of(f"libdevice.fma_{direction}(x, y, z)"), x, y, z)
    exact = [Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in zip(x, y, z)]
    np.testing.assert_array_equal(out, [rounded(e, dtype, direction) if e else dtype(0) for e in exact])


@pytest.mark.parametrize("direction", ["rz", "rd", "ru"])
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", ["float16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats_round_in_a_direction_once(target, kernel_of, dtype, name, direction):
    """Those of 8 bits saturate where those of 16 overflow."""
    import torch

    torch_type, width = getattr(torch, dtype), 16 if dtype == "float16" else 8
    word = torch.int16 if width == 16 else torch.int8
    values = torch.arange(-2**(width - 1), 2**(width - 1)).to(word).view(torch_type).double().numpy()
    values = np.unique(values[np.isfinite(values)]) + 0.0
    x, y, z = (torch.tensor(np.random.default_rng(5).choice(values, (3, 500)))).to(torch_type)
    out = torch.zeros(500, dtype=torch_type)
    given, function = OPERATIONS[name]
    kernel_of(f"libdevice.{name}_{direction}({given})")[(1,)](x, y, z, out, 500, BLOCK=512)
    for *row, got in zip(x.tolist(), y.tolist(), z.tolist(), out.tolist()):
        if name in ("div", "rcp") and row[given == "x, y"] == 0:
            continue
        exact = function(*map(Fraction, row))
        down = direction == "rd" or (direction == "rz" and exact > 0)
        top = Fraction(values[-1])
        nearest = np.searchsorted(values, float(exact))
        near = [Fraction(v) for v in values[max(nearest - 2, 0):nearest + 2]]
        beside = [v for v in near if (v <= exact if down else v >= exact)]
        expected = float(max(beside) if down else min(beside)) if beside else (-1 if down else 1) * float("inf")
        if width == 8:
            expected = float(np.clip(expected, -float(top), float(top)))
        assert got == expected, (row, got, expected)


def test_byte_perm(target, kernel_of):
    rng = np.random.default_rng(1)
    x, y, s = (rng.integers(-2**31, 2**31, 64).astype(np.int32) for _ in range(3))
    out = run(kernel_of("libdevice.byte_perm(x, y, z)"), x, y, s)
    for a, b, c, got in zip(*(v.view(np.uint32).tolist() for v in (x, y, s, out))):
        both = b << 32 | a
        assert got == sum((both >> 8 * (c >> 4 * i & 7) & 255) << 8 * i for i in range(4))


def test_rcp64h(target, kernel_of):
    x = np.array([1.0, 3.0, -7.5, 1e300])
    out = run(kernel_of("libdevice.rcp64h(x)"), x)
    np.testing.assert_allclose(out, 1 / x, rtol=2.0**-20)
    assert not (out.view(np.uint64) & 0xFFFFFFFF).any()

WIDENED = {"rcp_rn": "x", "exp10": "x", "fast_exp10f": "x", "hypot": "x, y", "rhypot": "x, y", "norm3d": "x, y, z",
           "norm4d": "x, y, z, x", "rnorm3d": "x, y, z", "rnorm4d": "x, y, z, x", "sinpi": "x", "cospi": "x", "rcbrt": "x",
           "ldexp": "x, i - 3", "scalbn": "x, i - 3", "logb": "x", "remainder": "x, y", **{name: "x" for name in UNARY},
           "jn": "2, x", "yn": "2, x"}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", sorted(WIDENED))
def test_narrow_floats_are_computed_in_f32_and_rounded_once(target, kernel_of, name, dtype):
    """N25: the value is that of the f32 function, rounded to the type."""
    import torch

    x, y, z = (torch.tensor(values).to(getattr(torch, dtype)) for values in
               ([0.25, 0.75, 0.9, 0.5, 0.125, 0.3], [3.0, 2.5, 7.0, 1.0, 0.5, 9.0], [1.0, 2.0, 0.5, 4.0, 3.0, 1.5]))
    out, wide = torch.zeros_like(x), torch.zeros(6)
    run_on = lambda kernel, *tensors: kernel[(1,)](*tensors, 6, BLOCK=8, num_warps=1)  # noqa: E731
    run_on(kernel_of(f"libdevice.{name}({WIDENED[name]})"), x, y, z, out)
    run_on(kernel_of(f"libdevice.{name}({WIDENED[name]})"), x.float(), y.float(), z.float(), wide)
    assert torch.equal(out, wide.to(out.dtype)) and out.isfinite().all() and (out != 0).any()


def test_ilogb_of_narrow_floats(target, kernel_of):
    x = np.array([0.3, 1, 6, 2.0**-14], np.float16)
    np.testing.assert_array_equal(run(kernel_of("libdevice.ilogb(x)"), x, out=np.zeros(4, np.int32)), [-2, 0, 2, -14])


@pytest.mark.parametrize("call, x, zero", [("sinpi", -0.0, -0.0), ("sinpi", 1.0, 0.0), ("sinpi", -2.0, -0.0), ("j1", -0.0, -0.0),
                                           ("cyl_bessel_i1", -0.0, -0.0), ("lgamma", 1.0, 0.0), ("lgamma", 2.0, 0.0)])
def test_signs_of_zeros(target, kernel_of, call, x, zero):
    """CUDA Math API, sinpi, j1 and cyl_bessel_i1 of +-0; C99, F.10.5.3."""
    out = run(kernel_of(f"libdevice.{call}(x)"), np.array([x], np.float32))
    assert out[0] == 0 and np.signbit(out[0]) == np.signbit(zero)
