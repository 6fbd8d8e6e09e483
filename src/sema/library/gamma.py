"""The gamma function of tl.extra.libdevice and its logarithm. All are computed in f64, where f32 is rounded
once at the end; docs/language/math-functions.md has the bounds."""
import triton
import triton.language as tl
from triton.language.extra import libdevice

# (-1)^k zeta(k) / k from k = 2 on: the series of log gamma around 1.
ZETA: tl.constexpr = (
    0.8224670334241132, -0.40068563438653143, 0.27058080842778454, -0.20738555102867398,
    0.1695571769974082, -0.1440498967688461, 0.12550966952474304, -0.11133426586956469, 0.1000994575127818,
    -0.09095401714582904, 0.083353840546109, -0.0769325164113522, 0.07143294629536133,
    -0.06666870588242046, 0.06250095514121304, -0.058823978658684585, 0.055555767627403614,
    -0.05263167937961666, 0.05000004769810169, -0.047619070330142226, 0.04545455629320467,
    -0.04347826605304026, 0.04166666915034121, -0.04000000119214014, 0.03846153903467518,
    -0.037037037312989324, 0.035714285847333355, -0.034482758684919304, 0.03333333336437758,
    -0.03225806453115042, 0.03125000000727597, -0.030303030306558044, 0.029411764707594344,
    -0.02857142857226011, 0.027777777778181998, -0.027027027027223673, 0.02631578947377995,
    -0.025641025641072283, 0.025000000000022737, -0.024390243902450117,
)
# Of Stirling's series, B(2k) / (2k (2k-1)) from k = 1 on.
STIRLING: tl.constexpr = (
    0.08333333333333333, -0.002777777777777778, 0.0007936507936507937, -0.0005952380952380953,
    0.0008417508417508417, -0.0019175269175269176, 0.00641025641025641, -0.029550653594771242,
    0.17964437236883057,
)
EULER: tl.constexpr = 0.5772156649015329
PI: tl.constexpr = 3.141592653589793
INFINITY: tl.constexpr = float("inf")


@triton.jit
def check_float(x):
    tl.static_assert(x.dtype == tl.float32 or x.dtype == tl.float64, "libdevice takes fp32 or fp64")


@triton.jit
def stirling(x):
    # The rest of log gamma beyond (x - 1/2) log x - x + log sqrt(2 pi), for x from 10 on.
    inverse = 1.0 / x
    square = inverse * inverse
    total = square * 0.0 + STIRLING[8]
    for k in tl.static_range(8):
        total = total * square + STIRLING[7 - k]
    return total * inverse


@triton.jit
def log_gamma_near_one(z):
    # log gamma(1 + z) for z from -1/2 to 1/2.
    total = z * 0.0 + ZETA[39]
    for k in tl.static_range(39):
        total = total * z + ZETA[38 - k]
    return (total * z - EULER) * z


@triton.jit
def rising_product(x):
    # x (x + 1) ... (x + 9)
    product = x
    for k in tl.static_range(1, 10):
        product = product * (x + k)
    return product


@triton.jit
def log_gamma(x):
    # For x above 0.
    small = tl.minimum(tl.maximum(x, 1e-310), 10.0)
    shifted = tl.where(x < 10.0, small + 10.0, x)
    value = (shifted - 0.5) * (tl.log(shifted) - 1.0) - 0.5 + 0.9189385332046727 + stirling(shifted)
    value = tl.where(x < 10.0, value - tl.log(rising_product(small)), value)
    # Near its zeros the difference would lose its digits.
    around_one = tl.minimum(tl.maximum(x - 1.0, -0.5), 0.5)
    around_two = tl.minimum(tl.maximum(x - 2.0, -0.5), 0.5)
    value = tl.where((x > 0.5) & (x < 1.5), log_gamma_near_one(around_one), value)
    near_two = libdevice.log1p(around_two) + log_gamma_near_one(around_two)
    return tl.where((x >= 1.5) & (x < 2.5), near_two, value)


@triton.jit
def libdevice_lgamma(x: real):
    check_float(x)
    wide = x.to(tl.float64)
    size = tl.abs(wide)
    # Gamma has poles at 0, -1, -2, ...; between them its reflection.
    positive = log_gamma(size)
    reflected = 1.1447298858494002 - tl.log(tl.abs(libdevice.sinpi(wide)) * tl.maximum(size, 1e-310)) - positive
    value = tl.where(wide > 0, positive, reflected)
    value = tl.where((size < 1e-300) & (wide != 0), -tl.log(size), value)
    value = tl.where((wide <= 0) & (wide == tl.floor(wide)), INFINITY, value)
    value = tl.where(size == INFINITY, INFINITY, value)
    return tl.where(x != x, x, value.to(x.dtype))


@triton.jit
def gamma(x):
    # For x above 0: Stirling's formula from 10 on, in two halves that do not overflow before their product does.
    small = tl.minimum(x, 10.0)
    shifted = tl.where(x < 10.0, small + 10.0, tl.minimum(x, 200.0))
    half = libdevice.pow(shifted, 0.5 * shifted - 0.25)
    value = half * (2.5066282746310002 * tl.exp(stirling(shifted) - shifted)) * half
    return tl.where(x < 10.0, value / rising_product(small), value)


@triton.jit
def libdevice_tgamma(x: real):
    check_float(x)
    wide = x.to(tl.float64)
    size = tl.abs(wide)
    positive = gamma(tl.maximum(wide, 1.0))
    between = gamma(tl.where(size < 1.0, 1.0 + wide, 1.0)) / tl.where(wide == 0, 1.0, wide)
    reflected = PI / (libdevice.sinpi(wide) * size) / gamma(tl.maximum(size, 1.0))
    value = tl.where(wide >= 1.0, positive, tl.where(wide > -1.0, between, reflected))
    value = tl.where(wide == 0, 1.0 / wide, value)
    value = tl.where((wide < 0) & (wide == tl.floor(wide)), float("nan"), value)
    value = tl.where(wide == INFINITY, wide, value)
    return tl.where(x != x, x, value.to(x.dtype))
