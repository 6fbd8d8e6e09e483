"""Bessel functions, the gamma function and its logarithm, of tl.extra.libdevice. All are computed in f64, where f32 is rounded
once at the end; docs/language/math-functions.md has the bounds."""
import triton
import triton.language as tl
from triton.language.extra import libdevice

# 1 + 1/2 + ... + 1/k from k = 0 on.
HARMONIC: tl.constexpr = (
    0.0, 1.0, 1.5, 1.8333333333333333, 2.0833333333333335, 2.283333333333333, 2.45, 2.592857142857143,
    2.717857142857143, 2.828968253968254, 2.9289682539682538, 3.019877344877345, 3.103210678210678,
    3.180133755133755, 3.2515623265623264, 3.3182289932289932, 3.3807289932289932, 3.4395525226407577,
    3.4951080781963135,
)
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


# ---- Bessel functions of the first and second kind ------------------------------------------


@triton.jit
def bessel_of_small(x):
    # J0, J1, Y0, Y1 for x below 2: the power series.
    t = -0.25 * x * x
    power = x * 0.0 + 1.0
    j0 = power
    j1 = power
    s0 = power * 0.0
    s1 = power * (1.0 - 2.0 * EULER)
    for k in tl.static_range(1, 18):
        power = power * t / (k * k)
        j0 += power
        j1 += power / (k + 1)
        s0 += power * HARMONIC[k]
        s1 += power / (k + 1) * (HARMONIC[k] + HARMONIC[k + 1] - 2.0 * EULER)
    j1 = 0.5 * x * j1
    logarithm = tl.log(0.5 * x)
    y0 = 2.0 / PI * ((logarithm + EULER) * j0 - s0)
    y1 = 2.0 / PI * (logarithm * j1 - 0.25 * x * s1 - 1.0 / x)
    return j0, j1, y0, y1


@triton.jit
def bessel_of_medium(x):
    # From 2 to 25: Miller's recurrence downwards gives all orders up to a factor, which J0 + 2 J2 + 2 J4 + ... = 1 tells;
    # Y0 and Y1 are Neumann's series in them.
    turned = 2.0 / x
    behind = x * 0.0
    j = behind + 1e-150
    total = behind
    j1 = behind
    s0 = behind
    s1 = behind
    for step in tl.static_range(64):
        k: tl.constexpr = 64 - step
        m: tl.constexpr = k // 2
        sign: tl.constexpr = 1.0 if m % 2 == 0 else -1.0
        if k % 2 == 0:
            total += j + j
            s0 += j * (sign / m)
        elif k == 1:
            j1 = j
        else:
            s1 += j * (sign * k / (m * (m + 1)))
        front = k * turned * j - behind
        behind = j
        j = front
    total += j
    j0 = j / total
    j1 = j1 / total
    logarithm = tl.log(0.5 * x) + EULER
    y0 = 2.0 / PI * (logarithm * j0 - 2.0 * (s0 / total))
    y1 = 2.0 / PI * ((logarithm - 1.0) * j1 - j0 / x - s1 / total)
    return j0, j1, y0, y1


@triton.jit
def hankel(inverse, order: tl.constexpr):
    # The two series of the asymptotic expansion, in 1 / x.
    p = inverse * 0.0 + 1.0
    q = inverse * 0.0
    term = p
    for k in tl.static_range(1, 26):
        factor: tl.constexpr = (4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8.0 * k)
        term = term * inverse * factor
        if k % 4 == 1:
            q += term
        elif k % 4 == 2:
            p -= term
        elif k % 4 == 3:
            q -= term
        else:
            p += term
    return p, q


@triton.jit
def bessel_of_large(x):
    # From 25 on: a wave, whose phase is put together of sin x and cos x.
    inverse = 1.0 / x
    p0, q0 = hankel(inverse, 0)
    p1, q1 = hankel(inverse, 1)
    sine = libdevice.sin(x)
    cosine = libdevice.cos(x)
    size = tl.sqrt(inverse * (1.0 / PI))
    with_phase = sine + cosine
    against = sine - cosine
    j0 = size * (p0 * with_phase - q0 * against)
    y0 = size * (p0 * against + q0 * with_phase)
    j1 = size * (p1 * against + q1 * with_phase)
    y1 = size * (q1 * against - p1 * with_phase)
    return j0, j1, y0, y1


@triton.jit
def bessel(x, which: tl.constexpr):
    check_float(x)
    size = tl.abs(x.to(tl.float64))
    small = bessel_of_small(tl.minimum(size, 2.0))
    medium = bessel_of_medium(tl.minimum(tl.maximum(size, 2.0), 25.0))
    large = bessel_of_large(tl.maximum(size, 25.0))
    value = tl.where(size < 2.0, small[which], tl.where(size < 25.0, medium[which], large[which]))
    value = tl.where(size == INFINITY, 0.0, value)
    if which >= 2:
        value = tl.where(x > 0, value, tl.where(x == 0, -INFINITY, float("nan")))
    return tl.where(x != x, x.to(tl.float64), value)


@triton.jit
def libdevice_j0(x: real):
    return bessel(x, 0).to(x.dtype)


@triton.jit
def libdevice_j1(x: real):
    value = bessel(x, 1)
    return tl.where(x == 0, x, tl.where(x < 0, -value, value).to(x.dtype))


@triton.jit
def libdevice_y0(x: real):
    return bessel(x, 2).to(x.dtype)


@triton.jit
def libdevice_y1(x: real):
    return bessel(x, 3).to(x.dtype)


@triton.jit
def largest_order(n):
    # The most steps that an element asks for; beyond, a result of f64 is 0 or infinite long before.
    bounded = tl.minimum(tl.maximum(n, 0), 10000)
    if len(bounded.shape) == 0:
        return bounded
    else:
        return tl.max(bounded)


@triton.jit
def libdevice_yn(n: integer, x: real):
    check_float(x)
    order = tl.to_tensor(n) + tl.zeros_like(x).to(tl.int32)
    wide = x.to(tl.float64) + order.to(tl.float64) * 0.0
    behind = bessel(wide, 2)
    y = bessel(wide, 3)
    result = tl.where(order == 0, behind, y)
    for k in range(1, largest_order(order)):
        front = (2.0 * k) / wide * y - behind
        behind = y
        y = tl.where(wide > 0, front, y)
        result = tl.where(order == k + 1, y, result)
    return tl.where(order < 0, float("nan"), result).to(x.dtype)


@triton.jit
def libdevice_jn(n: integer, x: real):
    check_float(x)
    order = tl.to_tensor(n) + tl.zeros_like(x).to(tl.int32)
    wide = x.to(tl.float64) + order.to(tl.float64) * 0.0
    size = tl.abs(wide)
    most = largest_order(order)
    j0 = bessel(size, 0)
    j1 = bessel(size, 1)
    # Upwards as far as the order is below the argument; downwards from far above the rest, in units of J0 or J1, whichever
    # is the larger one.
    behind = j0
    j = j1
    upwards = tl.where(order == 0, j0, j1)
    for k in range(1, most):
        front = (2.0 * k) / tl.maximum(size, 1e-300) * j - behind
        behind = j
        j = tl.where(k < size, front, j)
        upwards = tl.where(order == k + 1, j, upwards)
    safe = tl.minimum(tl.maximum(size, 1e-30), most.to(tl.float64) + 2.0)
    behind = size * 0.0
    j = behind + 1e-200
    found = behind
    start = most + 40 + most // 4
    for step in range(0, start):
        k = start - step
        found = tl.where(order == k, j, found)
        front = (2.0 * k) / safe * j - behind
        behind = j
        j = front
        # Kept within the range; what was found keeps its ratio to the rest.
        scale = tl.where(tl.abs(j) > 1e150, 1e-200, 1.0)
        j = j * scale
        behind = behind * scale
        found = found * scale
    downwards = tl.where(tl.abs(j0) > tl.abs(j1), found / j * j0, found / behind * j1)
    result = tl.where((order < size) | (order < 2), upwards, downwards)
    result = tl.where((size == 0) & (order > 0), 0.0, result)
    result = tl.where((wide < 0) & (order % 2 == 1), -result, result)
    return tl.where(order < 0, float("nan"), tl.where(wide != wide, wide, result)).to(x.dtype)


# ---- modified Bessel functions --------------------------------------------------------------


@triton.jit
def modified_bessel(x, order: tl.constexpr):
    # Up to 30 the power series, all of whose terms are positive; beyond, the asymptotic expansion.
    size = tl.abs(x)
    near = tl.minimum(size, 30.0)
    t = 0.25 * near * near
    term = near * 0.0 + 1.0
    total = term
    for k in tl.static_range(1, 60):
        term = term * t * (1.0 / (k * (k + order)))
        total += term
    if order == 1:
        total = 0.5 * near * total
    inverse = 1.0 / tl.maximum(size, 30.0)
    term = inverse * 0.0 + 1.0
    far = term
    for k in tl.static_range(1, 26):
        factor: tl.constexpr = -(4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8.0 * k)
        term = term * inverse * factor
        far += term
    root = tl.exp(0.5 * tl.minimum(size, 1500.0))
    far = root * (far * tl.sqrt(inverse * (0.5 / PI))) * root
    return tl.where(size < 30.0, total, tl.where(size == INFINITY, size, far))


@triton.jit
def libdevice_cyl_bessel_i0(x: real):
    check_float(x)
    value = modified_bessel(x.to(tl.float64), 0)
    return tl.where(x != x, x, value.to(x.dtype))


@triton.jit
def libdevice_cyl_bessel_i1(x: real):
    check_float(x)
    value = modified_bessel(x.to(tl.float64), 1)
    return tl.where((x != x) | (x == 0), x, tl.where(x < 0, -value, value).to(x.dtype))


# ---- the gamma function ---------------------------------------------------------------------


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
    # Gamma has poles at 0, -1, -2, ...; between them its reflection. 0 at 1 and 2 is no negative one.
    positive = log_gamma(size) + 0.0
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
