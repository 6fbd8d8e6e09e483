"""tl.dot_scaled: operands decoded and scaled, then multiplied by tl.dot. The left operand is [M, K], scales are [M, K/group];
the right one is prepared as its transpose. What arrives here has been checked (builtins/DotScaled.cpp)."""
import triton
import triton.language as tl


@triton.jit
def scaled_fp4_as_bf16(code):
    # s ee m with bias 1: in the places of bf16 the same number times 2^-126, where 0.5 is a subnormal.
    bits = ((code & 7).to(tl.uint16) << 6) | ((code & 8).to(tl.uint16) << 12)
    return bits.to(tl.bfloat16, bitcast=True) * tl.full((), 2.0**126, tl.bfloat16)


@triton.jit
def scaled_fp4_pairs(packed, half: tl.constexpr):
    # Both elements of a byte, the lower one first, in bf16 times 2^-126 or in f16 times 2^-14: `s ee m` in their places, where
    # 0.5 is a subnormal. The product puts each in its half of a word.
    spread = (packed.to(tl.uint32) * 0x1001) & 0x000F000F
    if half:
        words = ((spread << 9) & 0x0E000E00) | ((spread << 12) & 0x80008000)
    else:
        words = (spread * 0x1040) & 0x81C081C0
    pairs = tl.join(words.to(tl.uint16), (words >> 16).to(tl.uint16))
    return pairs.to(tl.float16 if half else tl.bfloat16, bitcast=True)


@triton.jit
def scaled_unpack(packed, along_k: tl.constexpr, half: tl.constexpr):
    # As scaled_fp4_pairs has them.
    pairs = scaled_fp4_pairs(packed, half)
    rank: tl.constexpr = len(packed.shape)
    rows: tl.constexpr = packed.shape[rank - 2]
    columns: tl.constexpr = packed.shape[rank - 1]
    if along_k:
        if rank == 2:
            return tl.reshape(pairs, (rows, columns * 2))
        else:
            return tl.reshape(pairs, (packed.shape[0], rows, columns * 2))
    else:
        if rank == 2:
            return tl.reshape(tl.permute(pairs, (0, 2, 1)), (rows * 2, columns))
        else:
            return tl.reshape(tl.permute(pairs, (0, 1, 3, 2)), (packed.shape[0], rows * 2, columns))


@triton.jit
def scaled_scale_as_bf16(scale, fast_math: tl.constexpr):
    if scale.dtype == tl.float8e4nv:
        return scale.to(tl.bfloat16)
    else:
        # An exponent of bias 127, as in bf16: 0 is 2^-127, a subnormal there; 255 is NaN.
        bits = tl.where(scale == 0, 0x40, scale.to(tl.uint16) << 7)
        if not fast_math:
            bits = tl.where(scale == 255, 0x7FC0, bits)
        return bits.to(tl.uint16).to(tl.bfloat16, bitcast=True)


@triton.jit
def scaled_spread(scale, group: tl.constexpr):
    # [M, K/group] -> [M, K]
    rank: tl.constexpr = len(scale.shape)
    rows: tl.constexpr = scale.shape[rank - 2]
    groups: tl.constexpr = scale.shape[rank - 1]
    if rank == 2:
        return tl.reshape(tl.broadcast_to(scale[:, :, None], (rows, groups, group)), (rows, groups * group))
    else:
        batch: tl.constexpr = scale.shape[0]
        return tl.reshape(tl.broadcast_to(scale[:, :, :, None], (batch, rows, groups, group)),
                          (batch, rows, groups * group))


@triton.jit
def scaled_operand(x, scale, format: tl.constexpr, along_k: tl.constexpr, wide: tl.constexpr, fast_math: tl.constexpr):
    # In bf16 or, where its digits do not hold the scaled values, in f32: exact but for the ends of the range.
    if format == "e2m1":
        value = scaled_unpack(x, along_k, False) * tl.full((), 2.0**126, tl.bfloat16)
    else:
        value = x
    if wide:
        value = value.to(tl.float32)
    else:
        value = value.to(tl.bfloat16)
    if scale is None:
        return value
    else:
        group: tl.constexpr = 16 if scale.dtype == tl.float8e4nv else 32
        return value * scaled_spread(scaled_scale_as_bf16(scale, fast_math), group).to(value.dtype)


@triton.jit
def scaled_in_half(x, scale, format: tl.constexpr, along_k: tl.constexpr, fast_math: tl.constexpr):
    # In f16, for products with f16: rounded where the scaled value is no such number.
    shift: tl.constexpr = 14 if format == "e2m1" else 0  # the value arrives times 2^-shift
    if format == "e2m1":
        value = scaled_unpack(x, along_k, True)
    else:
        value = x.to(tl.float16)
    if scale is None:
        return value * tl.full((), 2.0**shift, tl.float16) if shift else value
    elif scale.dtype == tl.float8e4nv:
        value = value * tl.full((), 2.0**shift, tl.float16) if shift else value
        return value * scaled_spread(scale.to(tl.float16), 16)
    else:
        exponent = scale.to(tl.int32) - 127
        if format == "e4m3":
            first = tl.zeros_like(exponent)  # f16 holds the scale of every number that it holds but the very small ones
        else:
            # Two factors. The first one leaves each value exact: of e5m2 the smallest, 2^-16, times 2^-8 is 2^-24.
            first = tl.minimum(tl.maximum(exponent, -8), 15 - shift)
            factor = ((first + shift + 15) << 10).to(tl.uint16).to(tl.float16, bitcast=True)
            value = value * scaled_spread(factor, 32)
        rest = ((exponent - first + 127) << 23).to(tl.float32, bitcast=True)
        if not fast_math:
            rest = tl.where(scale == 255, float("nan"), rest)
        return value * scaled_spread(rest.to(tl.float16), 32)


@triton.jit
def scaled_rest(value, high):
    # The digits of a f32 (16 at most) that its bf16 does not hold; infinity leaves nothing.
    return tl.where(tl.abs(value) == float("inf"), 0.0, value - high.to(tl.float32)).to(tl.bfloat16)


@triton.jit
def scaled_finite(value, format: tl.constexpr):
    # The rest of a number must not meet infinity: the larger part has met it already. Formats without infinity
    # have only what is beyond the range of bf16, of which nothing is promised, and NaN, which stays so: a factor
    # of its own for that would cost as much as the first one.
    if format == "e2m1" or format == "e4m3":
        return value
    else:
        return tl.where(tl.abs(value.to(tl.float32)) < float("inf"), value, 0.0)


@triton.jit
def scaled_product(a, a_format: tl.constexpr, b, b_format: tl.constexpr, acc):
    # Operands in f32 go in two parts of bf16, so that their products are exact on tensor cores.
    a_high = a.to(tl.bfloat16)
    b_high = b.to(tl.bfloat16)
    if a.dtype == tl.float32:
        a_rest = scaled_rest(a, a_high)
        acc = tl.dot(a_rest, scaled_finite(b_high, b_format), acc)
        if b.dtype == tl.float32:
            b_rest = scaled_rest(b, b_high)
            acc = tl.dot(a_rest, b_rest, acc)
            acc = tl.dot(scaled_finite(a_high, a_format), b_rest, acc)
    elif b.dtype == tl.float32:
        acc = tl.dot(scaled_finite(a_high, a_format), scaled_rest(b, b_high), acc)
    return tl.dot(a_high, b_high, acc)


@triton.jit
def scaled_is_in_half(format: tl.constexpr, scale):
    # Beside an f16 that is not scaled, f16 holds a value of four or eight bits.
    return format != "bf16" and (format != "fp16" or scale is None)


@triton.jit
def scaled_is_wide(format: tl.constexpr, scale):
    if scale is None:
        return format == "fp16"
    else:
        return format == "fp16" or (format == "bf16" and scale.dtype == tl.float8e4nv)


@triton.jit
def dot_scaled(lhs, lhs_scale, lhs_format: tl.constexpr, rhs, rhs_scale, rhs_format: tl.constexpr, acc,
               fast_math: tl.constexpr, lhs_k_pack: tl.constexpr, rhs_k_pack: tl.constexpr):
    has_half: tl.constexpr = lhs_format == "fp16" or rhs_format == "fp16"
    if has_half and scaled_is_in_half(lhs_format, lhs_scale) and scaled_is_in_half(rhs_format, rhs_scale):
        a = scaled_in_half(lhs, lhs_scale, lhs_format, lhs_k_pack, fast_math)
        b = scaled_in_half(tl.trans(rhs), rhs_scale, rhs_format, rhs_k_pack, fast_math)
        return tl.dot(a, tl.trans(b), acc)
    else:
        lhs_wide: tl.constexpr = scaled_is_wide(lhs_format, lhs_scale)
        rhs_wide: tl.constexpr = scaled_is_wide(rhs_format, rhs_scale)
        a = scaled_operand(lhs, lhs_scale, lhs_format, lhs_k_pack, lhs_wide, fast_math)
        b = scaled_operand(tl.trans(rhs), rhs_scale, rhs_format, rhs_k_pack, rhs_wide, fast_math)
        return scaled_product(a, lhs_format, tl.trans(b), rhs_format, acc)
