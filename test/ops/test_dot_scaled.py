"""tl.dot_scaled: every pair of formats, scale and packing, beside a float64 product of the decoded values."""
import itertools

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl

FORMATS = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)
DTYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "bf16": torch.bfloat16, "fp16": torch.float16}
FINEST = {"e4m3": 0x7F, "e5m2": 0x7C}  # from here on bits are not finite


@triton.jit
def scaled_kernel(a_ptr, as_ptr, b_ptr, bs_ptr, c_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                  A: tl.constexpr, B: tl.constexpr, A_DIV_M: tl.constexpr, A_DIV_K: tl.constexpr,
                  B_DIV_K: tl.constexpr, B_DIV_N: tl.constexpr, AS: tl.constexpr, BS: tl.constexpr,
                  FAST: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    a = tl.load(a_ptr + tl.arange(0, M // A_DIV_M)[:, None] * (K // A_DIV_K) + tl.arange(0, K // A_DIV_K)[None, :])
    b = tl.load(b_ptr + tl.arange(0, K // B_DIV_K)[:, None] * (N // B_DIV_N) + tl.arange(0, N // B_DIV_N)[None, :])
    a_scale = None
    b_scale = None
    if AS != 0:
        a_scale = tl.load(as_ptr + m[:, None] * (K // AS) + tl.arange(0, K // AS)[None, :])
    if BS != 0:
        b_scale = tl.load(bs_ptr + n[:, None] * (K // BS) + tl.arange(0, K // BS)[None, :])
    at = m[:, None] * N + n[None, :]
    if c_ptr is None:
        out = tl.dot_scaled(a, a_scale, A, b, b_scale, B, fast_math=FAST, lhs_k_pack=A_DIV_M == 1, rhs_k_pack=B_DIV_N == 1,
                            out_dtype=out_ptr.dtype.element_ty)
    else:
        out = tl.dot_scaled(a, a_scale, A, b, b_scale, B, tl.load(c_ptr + at), FAST, A_DIV_M == 1, B_DIV_N == 1,
                            out_dtype=out_ptr.dtype.element_ty)
    tl.store(out_ptr + at, out)


def operand(rng, shape, format, along):
    """Random finite values of a format: as an argument, packed in pairs along a dimension, and in float64."""
    if format == "e2m1":
        code = torch.from_numpy(rng.integers(0, 16, shape, dtype=np.uint8))
        pairs = code.unflatten(along, (-1, 2))
        packed = pairs.select(along + 1, 0) | pairs.select(along + 1, 1) << 4
        return packed.contiguous(), FP4[code.long()]
    if format in FINEST:
        bits = rng.integers(0, 256, shape).astype(np.uint8)
        bits = np.where(bits & 0x7F >= FINEST[format], bits & 0x83, bits)
        value = torch.from_numpy(bits).view(DTYPES[format])
    else:
        value = torch.from_numpy(rng.normal(size=shape)).to(DTYPES[format])
    return value, value.double()


def scale_of(rng, rows, k, group):
    """e8m0 for groups of 32, e4m3 for groups of 16: as an argument, and spread over K in float64."""
    if group == 0:
        return torch.zeros(1, dtype=torch.uint8), torch.ones((), dtype=torch.float64)
    if group == 32:
        code = torch.from_numpy(rng.integers(115, 140, (rows, k // 32), dtype=np.uint8))
        return code, (2.0 ** (code.double() - 127)).repeat_interleave(32, 1)
    code = torch.from_numpy(rng.integers(1, 0x7F, (rows, k // 16), dtype=np.uint8)).view(torch.float8_e4m3fn)
    return code, code.double().repeat_interleave(16, 1)


def check(A, B, M=16, N=24, K=64, groups=(32, 32), packs=(True, True), acc=False, out=torch.float32, fast=False):
    rng = np.random.default_rng(M + N + K + len(A + B))
    a, a_value = operand(rng, (M, K), A, 1 if packs[0] else 0)
    b, b_value = operand(rng, (K, N), B, 0 if packs[1] else 1)
    a_scale, a_factor = scale_of(rng, M, K, groups[0])
    b_scale, b_factor = scale_of(rng, N, K, groups[1])
    a_value = a_value * a_factor
    b_value = b_value * (b_factor.T if groups[1] else b_factor)
    c = torch.from_numpy(rng.normal(size=(M, N))).to(out) if acc else None
    result = torch.zeros(M, N, dtype=out)
    scaled_kernel[(1,)](a, a_scale, b, b_scale, c, result, M=M, N=N, K=K, A=A, B=B,
                        A_DIV_M=1 if packs[0] or A != "e2m1" else 2, A_DIV_K=2 if packs[0] and A == "e2m1" else 1,
                        B_DIV_K=2 if packs[1] and B == "e2m1" else 1, B_DIV_N=1 if packs[1] or B != "e2m1" else 2,
                        AS=groups[0], BS=groups[1], FAST=fast)
    exact = a_value @ b_value + (c.double() if acc else 0)
    size = a_value.abs() @ b_value.abs() + (c.double().abs() if acc else 0)
    unit = {torch.float32: 0.0, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[out]
    off = (result.double() - exact).abs()
    bound = 2 * (K + 2) * 2.0**-24 * size + unit * exact.abs()
    if out == torch.float16:
        bound = torch.where(exact.abs() > 65504, torch.inf, bound)  # rounded to infinity
    assert (off <= bound).all(), float((off / bound).nan_to_num().max())


@pytest.mark.parametrize("B", FORMATS)
@pytest.mark.parametrize("A", FORMATS)
def test_products_are_exact_in_every_pair_of_formats(target, A, B):
    check(A, B)


@pytest.mark.parametrize("groups", [(0, 0), (32, 0), (0, 32), (16, 16), (16, 0), (0, 16)], ids=str)
@pytest.mark.parametrize("A, B", [("e2m1", "e2m1"), ("fp16", "e2m1"), ("e4m3", "bf16"), ("fp16", "fp16"), ("bf16", "fp16")])
def test_scales_of_both_kinds_or_none(target, A, B, groups):
    check(A, B, groups=groups)


@pytest.mark.parametrize("format, lowest, highest", [("e2m1", -26, 13), ("e4m3", -24, 7), ("e5m2", -32, 0)])
@pytest.mark.parametrize("half_is_left", [True, False], ids=["left", "right"])
def test_beside_f16_scaled_values_are_rounded_to_f16(target, half_is_left, format, lowest, highest):
    """Also below the smallest normal number, and where f16 does not hold the scale itself."""
    rng = np.random.default_rng(5)
    pack = 2 if format == "e2m1" else 1
    rows, groups = 16, highest - lowest + 1
    k = groups * 32
    scale = torch.from_numpy(np.tile(np.arange(lowest + 127, highest + 128, dtype=np.uint8), (rows, 1)))
    factor = (2.0 ** (scale.double() - 127)).repeat_interleave(32, 1)
    x, value = operand(rng, (rows, k), format, 1)
    rounded = (value * factor).half().double()
    assert rounded.isfinite().all()
    y = torch.zeros(rows, k, dtype=torch.float16)  # each group alone: the sum of all would hide the small ones
    y[:] = torch.eye(16).repeat(1, k // 16)
    out = torch.zeros(groups * 2, rows, rows)
    halves_kernel[(groups * 2,)](x, scale, y, out, K=k, GROUPS=groups, FORMAT=format, PACK=pack, ROWS=rows, LEFT=half_is_left)
    expected = rounded.reshape(rows, groups * 2, 16).permute(1, 2, 0)
    assert torch.equal(out.double(), expected if half_is_left else expected.transpose(1, 2))


@triton.jit
def halves_kernel(x_ptr, scale_ptr, y_ptr, out_ptr, K: tl.constexpr, GROUPS: tl.constexpr, FORMAT: tl.constexpr,
                  PACK: tl.constexpr, ROWS: tl.constexpr, LEFT: tl.constexpr):
    """One half of a group of K a program: its values, through the unit matrix."""
    part = tl.program_id(0)
    i, k = tl.arange(0, ROWS), tl.arange(0, 32)
    packed = tl.load(x_ptr + i[:, None] * (K // PACK) + part // 2 * (32 // PACK) + tl.arange(0, 32 // PACK)[None, :])
    scale = tl.load(scale_ptr + i[:, None] * GROUPS + part // 2 + tl.zeros((1, 1), tl.int32))
    unit = tl.load(y_ptr + i[:, None] * K + k[None, :])
    unit = tl.where(k[None, :] // 16 == part % 2, unit, 0.0).to(tl.float16)
    if LEFT:
        out = tl.dot_scaled(unit, None, "fp16", packed.T, scale, FORMAT)
    else:
        out = tl.dot_scaled(packed, scale, FORMAT, unit.T, None, "fp16")
    tl.store(out_ptr + (part * ROWS + i[:, None]) * ROWS + i[None, :], out)


@pytest.mark.parametrize("packs", list(itertools.product([True, False], repeat=2)), ids=str)
def test_four_bit_floats_are_packed_along_any_dimension(target, packs):
    check("e2m1", "e2m1", packs=packs)


@pytest.mark.parametrize("out", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("acc", [False, True], ids=["none", "acc"])
def test_accumulator_and_type_of_the_result(target, out, acc):
    check("e2m1", "e4m3", acc=acc, out=out)


def test_odd_extents_and_many_groups(target):
    check("e2m1", "bf16", M=5, N=7, K=96)
    check("e4m3", "e2m1", M=1, N=3, K=160)


def product_of(target, a, a_scale, A, b, b_scale, B, N=16, fast=False):
    """[16, K] x [K, N] of values that are not packed."""
    out = torch.zeros(16, N)
    none = torch.zeros(1, dtype=torch.uint8)
    scaled_kernel[(1,)](a, none if a_scale is None else a_scale, b, none if b_scale is None else b_scale, None, out, M=16, N=N, K=32,
                        A=A, B=B, A_DIV_M=1, A_DIV_K=1, B_DIV_K=1, B_DIV_N=1, AS=0 if a_scale is None else 32,
                        BS=0 if b_scale is None else 32, FAST=fast)
    return out


@pytest.mark.parametrize("format", ["e4m3", "fp16"])
def test_the_largest_scale_is_nan_and_the_smallest_a_number(target, format):
    a, b = torch.ones(16, 32).to(DTYPES[format]), torch.ones(32, 16).to(torch.bfloat16)
    scale = torch.full((16, 1), 127, dtype=torch.uint8)
    scale[3], scale[5], scale[7] = 255, 0, 254
    out = product_of(target, a, scale, format, b, None, "bf16")
    expected = torch.full((16, 16), 32.0)
    expected[3], expected[5], expected[7] = torch.nan, 32 * 2.0**-127, torch.inf
    torch.testing.assert_close(out, expected, rtol=0, atol=0, equal_nan=True)
    fast = product_of(target, a, scale, format, b, None, "bf16", fast=True)
    assert fast[3].isinf().all() and torch.equal(fast[:3], expected[:3])


@pytest.mark.parametrize("format", ["e5m2", "fp16"])
def test_infinities_meet_numbers_in_halves(target, format):
    """The second part of an f16, often 0, must not meet an infinity: that would be NaN."""
    a = torch.ones(16, 32, dtype=torch.float16)
    a[2, 5], a[4, 6], a[6, 0] = torch.inf, 0.0, 1.0009765625
    b = torch.ones(32, 16).to(DTYPES[format])
    b[6, 3] = torch.inf
    scale = torch.full((16, 1), 127, dtype=torch.uint8)
    out = product_of(target, a, None, "fp16", b, scale, format)
    torch.testing.assert_close(out, (a.double() @ b.double()).float(), rtol=0, atol=0, equal_nan=True)


def test_integers_stand_for_bits_and_batches_are_free(target):
    rng = np.random.default_rng(3)
    a, a_value = operand(rng, (2, 16, 64), "e4m3", 2)
    b, b_value = operand(rng, (2, 64, 16), "e2m1", 1)
    scale = torch.from_numpy(rng.integers(120, 135, (2, 16, 2), dtype=np.uint8))
    out = torch.zeros(2, 16, 16)
    batched_kernel[(1,)](a.view(torch.uint8), b, scale, out)
    exact = a_value @ (b_value * (2.0 ** (scale.double() - 127)).repeat_interleave(32, 2).transpose(1, 2))
    torch.testing.assert_close(out.double(), exact, rtol=1e-5, atol=1e-3)


@triton.jit
def batched_kernel(a_ptr, b_ptr, scale_ptr, out_ptr):
    z = tl.arange(0, 2)[:, None, None]
    m, k, half, group = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 2)
    a = tl.load(a_ptr + (z * 16 + m[None, :, None]) * 64 + k[None, None, :])
    b = tl.load(b_ptr + (z * 32 + half[None, :, None]) * 16 + m[None, None, :])
    scale = tl.load(scale_ptr + (z * 16 + m[None, :, None]) * 2 + group[None, None, :])
    out = tl.dot_scaled(a, None, "e4m3", b, scale, "e2m1")
    tl.store(out_ptr + (z * 16 + m[None, :, None]) * 16 + m[None, None, :], out)
