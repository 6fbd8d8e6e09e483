"""Functions of tl.extra.libdevice that are compositions of others: `libdevice_NAME` is libdevice.NAME."""
import triton
import triton.language as tl
from triton.language.extra import libdevice


# ---- integers -------------------------------------------------------------------------------


@triton.jit
def libdevice_mulhi(x: integer, y: integer):
    # The upper half of the signed product, from the unsigned one: each negative operand was 2^width too large.
    tl.static_assert(x.dtype == y.dtype and x.dtype.is_int(), "mulhi takes two integers of one type")
    high = tl.umulhi(x, y)
    if x.dtype.is_int_signed():
        high = high - tl.where(x < 0, y, 0) - tl.where(y < 0, x, 0)
    return high


@triton.jit
def libdevice_mul24(x: integer, y: integer):
    return ((x << 8) >> 8) * ((y << 8) >> 8)


@triton.jit
def swap_bits(x, distance: tl.constexpr, mask: tl.constexpr):
    return ((x >> distance) & mask) | ((x & mask) << distance)


@triton.jit
def libdevice_brev(x: integer):
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    tl.static_assert(x.dtype.is_int() and bits >= 32, "brev takes integers of 32 or 64 bits")
    all_ones: tl.constexpr = 2**bits - 1
    y = x.to(tl.core.get_int_dtype(bits, signed=False), bitcast=True)
    y = swap_bits(y, 1, all_ones // 3)
    y = swap_bits(y, 2, all_ones // 5)
    y = swap_bits(y, 4, all_ones // 17)
    y = swap_bits(y, 8, all_ones // 257)
    y = swap_bits(y, 16, all_ones // 65537)
    if bits == 64:
        y = (y >> 32) | (y << 32)
    return y.to(x.dtype, bitcast=True)


@triton.jit
def libdevice_ffs(x: integer):
    return tl.where(x == 0, 0, libdevice.popc(x ^ (x - 1)))


@triton.jit
def libdevice_sad(x: integer, y: integer, z: integer):
    return (tl.maximum(x, y) - tl.minimum(x, y) + z).to(x.dtype)


@triton.jit
def libdevice_hadd(x: integer, y: integer):
    return (x & y) + ((x ^ y) >> 1)


@triton.jit
def libdevice_rhadd(x: integer, y: integer):
    return (x | y) - ((x ^ y) >> 1)


@triton.jit
def libdevice_byte_perm(x: integer, y: integer, s: integer):
    # Eight bytes, x the lower four; each of four digits of s names one by its lower three bits.
    both = (y.to(tl.uint32, bitcast=True).to(tl.uint64) << 32) | x.to(tl.uint32, bitcast=True).to(tl.uint64)
    result = tl.zeros_like(both)
    for i in tl.static_range(4):
        shift = ((tl.to_tensor(s).to(tl.uint32) >> (4 * i)) & 7).to(tl.uint64) * 8
        result = result | (((both >> shift) & 255) << (8 * i))
    return result.to(tl.uint32).to(x.dtype, bitcast=True)


@triton.jit
def libdevice_rcp64h(x: real):
    # The upper half of the reciprocal; the lower one is 0.
    tl.static_assert(x.dtype == tl.float64, "rcp64h takes fp64")
    bits = (1.0 / x).to(tl.int64, bitcast=True)
    return (bits & -4294967296).to(tl.float64, bitcast=True)


# ---- floats ---------------------------------------------------------------------------------


@triton.jit
def check_real(x):
    tl.static_assert(x.dtype == tl.float32 or x.dtype == tl.float64, "libdevice takes fp32 or fp64")


@triton.jit
def libdevice_rsqrt_rn(x: real):
    # In f64 no result of an f32 lies so near to the middle of two that rounding twice differs: all mantissas were tried.
    tl.static_assert(x.dtype == tl.float32, "rsqrt_rn takes fp32")
    return (1.0 / tl.sqrt(x.to(tl.float64))).to(tl.float32)


@triton.jit
def libdevice_rcp_rn(x: real):
    check_real(x)
    return libdevice.div_rn(1.0, x)


@triton.jit
def libdevice_saturatef(x: real):
    return tl.clamp(x, 0.0, 1.0)


@triton.jit
def libdevice_exp10(x: real):
    check_real(x)
    return libdevice.pow(tl.full((), 10.0, x.dtype), x)


@triton.jit
def libdevice_hypot(x: real, y: number):
    check_real(x)
    if x.dtype == tl.float32 and y.dtype == tl.float32:
        # Squares of f32 are exact in f64 and stay in its range.
        wide_x = x.to(tl.float64)
        wide_y = y.to(tl.float64)
        length = tl.sqrt(wide_x * wide_x + wide_y * wide_y).to(tl.float32)
    else:
        larger = tl.maximum(tl.abs(x), tl.abs(y))
        ratio = tl.minimum(tl.abs(x), tl.abs(y)) / tl.where(larger == 0, 1.0, larger)
        length = tl.where(larger == 0, 0.0, larger * tl.sqrt(1.0 + ratio * ratio))
        length = tl.where((x != x) | (y != y), float("nan"), length)
    # An infinity wins, also over NaN.
    return tl.where((tl.abs(x) == float("inf")) | (tl.abs(y) == float("inf")), float("inf"), length)


@triton.jit
def libdevice_rhypot(x: real, y: number):
    return 1.0 / libdevice_hypot(x, y)


@triton.jit
def libdevice_norm3d(x: real, y: number, z: number):
    return libdevice_hypot(libdevice_hypot(x, y), z)


@triton.jit
def libdevice_norm4d(x: real, y: number, z: number, w: number):
    return libdevice_hypot(libdevice_hypot(x, y), libdevice_hypot(z, w))


@triton.jit
def libdevice_rnorm3d(x: real, y: number, z: number):
    return 1.0 / libdevice_norm3d(x, y, z)


@triton.jit
def libdevice_rnorm4d(x: real, y: number, z: number, w: number):
    return 1.0 / libdevice_norm4d(x, y, z, w)


@triton.jit
def libdevice_sinpi(x: real):
    check_real(x)
    # x - nearest is exact, within half a turn; every odd turn changes the sign.
    nearest = libdevice.rint(x)
    value = libdevice.sin(3.141592653589793 * (x - nearest))
    odd = nearest - 2.0 * tl.floor(nearest * 0.5) != 0
    return tl.where(x == nearest, x * 0.0, tl.where(odd, -value, value))  # zeros have the sign of x


@triton.jit
def libdevice_cospi(x: real):
    check_real(x)
    nearest = libdevice.rint(x)
    value = libdevice.sin(3.141592653589793 * (0.5 - tl.abs(x - nearest)))
    odd = nearest - 2.0 * tl.floor(nearest * 0.5) != 0
    return tl.where(odd, -value, value)


@triton.jit
def libdevice_rcbrt(x: real):
    check_real(x)
    return 1.0 / libdevice.cbrt(x)


@triton.jit
def power_of_two(n):
    # 2^n in f64, n from -1022 to 1023.
    return ((n.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)


@triton.jit
def libdevice_ldexp(x: real, n: integer):
    check_real(x)
    # An f32 times a power is exact in f64. Of an f64 a step that rounds is the last, or the rest is below 2^-53 and
    # the result 0: so it rounds once.
    value = x.to(tl.float64)
    left = tl.minimum(tl.maximum(n, -2200), 2200)
    for _ in tl.static_range(3):
        up = tl.where(left < -1022, -969, tl.minimum(left, 1023))
        value = value * power_of_two(up)
        left = left - up
    return value.to(x.dtype)


@triton.jit
def libdevice_scalbn(x: real, n: integer):
    return libdevice_ldexp(x, n)


@triton.jit
def exponent_of(x):
    # floor(log2 |x|) of finite numbers but 0; f32 denormals are normal in f64, those of f64 become so.
    value = tl.abs(x.to(tl.float64))
    tiny = value < 2.2250738585072014e-308
    value = tl.where(tiny, value * 18014398509481984.0, value)
    exponent = ((value.to(tl.int64, bitcast=True) >> 52) & 2047).to(tl.int32) - 1023
    return tl.where(tiny, exponent - 54, exponent)


@triton.jit
def libdevice_ilogb(x: real):
    check_real(x)
    special = tl.where(x == 0, -2147483648, 2147483647)
    special = tl.where(x != x, -2147483648, special)
    return tl.where((x == 0) | (x != x) | (tl.abs(x) == float("inf")), special, exponent_of(x))


@triton.jit
def libdevice_logb(x: real):
    check_real(x)
    exponent = exponent_of(x).to(x.dtype)
    result = tl.where(x == 0, float("-inf"), exponent)
    return tl.where((x != x) | (tl.abs(x) == float("inf")), x * x, result)


@triton.jit
def libdevice_nextafter(x: real, y: number):
    check_real(x)
    tl.static_assert(x.dtype == y.dtype, "nextafter takes two floats of one type")
    as_bits: tl.constexpr = tl.core.get_int_dtype(x.dtype.primitive_bitwidth, signed=True)
    bits = x.to(as_bits, bitcast=True)
    away = (x < y) == (x > 0)
    step = (bits + tl.where(away, 1, -1)).to(x.dtype, bitcast=True)
    smallest = tl.full((), 1, as_bits).to(x.dtype, bitcast=True)
    step = tl.where(x == 0, libdevice.copysign(smallest, y), step)
    return tl.where((x != x) | (y != y), x + y, tl.where(x == y, y, step))


@triton.jit
def libdevice_remainder(x: real, y: number):
    check_real(x)
    # fmod to within two divisors is exact; then at most two subtractions that are exact, too. Halving the
    # divisor would lose bits of tiny ones and doubling it overflow on huge ones: each where it is safe.
    divisor = tl.abs(y)
    rest = tl.abs(x)
    doubled = divisor + divisor
    rest = tl.where(doubled < float("inf"), libdevice.fmod(rest, tl.where(doubled < float("inf"), doubled, 1.0)), rest)
    small = divisor < 1.0
    over = tl.where(small, rest + rest > divisor, rest > 0.5 * divisor)
    rest = tl.where(over, rest - divisor, rest)
    over_again = tl.where(small, rest + rest >= divisor, rest >= 0.5 * divisor)
    rest = tl.where(over & over_again, rest - divisor, rest)
    negative = x.to(tl.core.get_int_dtype(x.dtype.primitive_bitwidth, signed=True), bitcast=True) < 0
    result = tl.where(negative, -rest, rest)
    undefined = (y == 0) | (x != x) | (y != y) | (tl.abs(x) == float("inf"))
    return tl.where(undefined, float("nan"), tl.where(divisor == float("inf"), x, result))
