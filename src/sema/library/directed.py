"""Narrow floats of arithmetic that rounds in a direction: rz to 0, rd down, ru up."""
import triton
import triton.language as tl


@triton.jit
def step_towards(result, side, direction: tl.constexpr):
    # The neighbour of a result that was rounded to nearest, where the exact value lies on the other side of it.
    bits: tl.constexpr = result.dtype.primitive_bitwidth
    as_bits: tl.constexpr = tl.core.get_int_dtype(bits, signed=True)
    word = result.to(as_bits, bitcast=True)
    smallest: tl.constexpr = -(2 ** (bits - 1))
    is_negative = word < 0
    above = tl.where(is_negative, word - 1, word + 1)
    below = tl.where(is_negative, word + 1, word - 1)
    if direction == "rz":
        moves = tl.where(is_negative, side > 0, side < 0) & (result != 0)
        word = tl.where(moves, word - 1, word)
    elif direction == "ru":
        word = tl.where(side > 0, tl.where(result == 0, 1, above), word)
    else:
        word = tl.where(side < 0, tl.where(result == 0, smallest + 1, below), word)
    moved = word.to(result.dtype, bitcast=True)
    return tl.where(result != result, result, moved)


@triton.jit
def narrowed_in_direction(x, like, direction: tl.constexpr):
    # x in the type of `like`. An infinity that a finite x became lies beyond it.
    result = x.to(like.dtype)
    back = result.to(tl.float32)
    moved = step_towards(result, tl.where(x > back, 1, tl.where(x < back, -1, 0)), direction)
    if like.dtype.primitive_bitwidth == 8:
        # These saturate, and some have NaN in the place of -0.
        otherwise = tl.where(tl.abs(x) < tl.abs(back), 0.0, back).to(like.dtype)
        moved = tl.where(tl.abs(moved.to(tl.float32)) < float("inf"), moved, tl.where(x != x, result, otherwise))
    return moved
