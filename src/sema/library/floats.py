"""8-bit floats that are bytes below sema (float8e4b8, float8e5b16, float8e4b15): from and to float32. `mantissa`, `bias`,
`largest` are the format's; `has_nan` says that 0x80 is NaN, and no negative zero."""
import triton
import triton.language as tl


@triton.jit
def decode_byte_float(byte, mantissa: tl.constexpr, bias: tl.constexpr, has_nan: tl.constexpr):
    # The fields moved to their places in f32 are off by a power of two; the product is exact, also of subnormals.
    word = byte.to(tl.uint32)
    moved = ((word & 0x7F) << (23 - mantissa)).to(tl.float32, bitcast=True)
    factor: tl.constexpr = 2.0 ** (127 - bias)
    bits = (moved * factor).to(tl.uint32, bitcast=True) | ((word & 0x80) << 24)
    if has_nan:
        bits = tl.where(word == 0x80, 0x7FC00000, bits).to(tl.uint32)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def encode_byte_float(x, mantissa: tl.constexpr, bias: tl.constexpr, largest: tl.constexpr, has_nan: tl.constexpr,
                      toward_zero: tl.constexpr):
    shift: tl.constexpr = 23 - mantissa
    step: tl.constexpr = 2.0 ** (1 - bias - mantissa)  # the distance of subnormals
    limited = tl.minimum(tl.abs(x), largest)  # NaN gives `largest`
    bits = limited.to(tl.uint32, bitcast=True)
    if toward_zero:
        normal = bits >> shift
        steps = (limited * (1.0 / step)).to(tl.uint32)
    else:
        normal = (bits + ((bits >> shift) & 1) + ((1 << (shift - 1)) - 1)) >> shift
        # The last place of the sum is one step, so that it rounds the subnormals.
        unit: tl.constexpr = step * 8388608.0
        unit_bits: tl.constexpr = (127 + 1 - bias - mantissa + 23) << 23
        steps = (limited + unit).to(tl.uint32, bitcast=True) - unit_bits
    normal = normal - ((127 - bias) << mantissa)
    code = tl.where(limited < 2.0 ** (1 - bias), steps, normal)
    sign = (x.to(tl.uint32, bitcast=True) >> 24) & 0x80
    if has_nan:
        code = tl.where(code == 0, 0, code | sign)
        code = tl.where(x != x, 0x80, code)
    else:
        code = code | sign
    return code.to(tl.uint8)


@triton.jit
def to_odd_float(x):
    # f64 cut to f32, its last digit set where digits were lost: rounding that again rounds as if once.
    cut = x.to(tl.float32, fp_downcast_rounding="rtz")
    lost = tl.where(cut.to(tl.float64) != x, 1, 0).to(tl.uint32)
    return (cut.to(tl.uint32, bitcast=True) | lost).to(tl.float32, bitcast=True)
