"""f32 that holds f16 or bf16 may be computed as such where the bits are the same (N8, N9, N16, N17)."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same, name_of

NARROW = [torch.float16, torch.bfloat16]
EDGES = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0, -1.0, 255.0, 256.0, 3.0e38, -3.0e38, 65504.0, 1e-38, -1e-38, 2.0**-133, 3 * 2.0**-133, 2.0**-24,
         -(2.0**-24)]


@triton.jit
def rounded_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < n), tl.load(y_ptr + i, mask=i < n)
    wide_x, wide_y = x.to(tl.float32), y.to(tl.float32)
    narrow = out_ptr.dtype.element_ty
    tl.store(out_ptr + i, (wide_x + wide_y).to(narrow), mask=i < n)
    tl.store(out_ptr + n + i, (wide_x - wide_y).to(narrow), mask=i < n)
    tl.store(out_ptr + 2 * n + i, (wide_x * wide_y).to(narrow), mask=i < n)
    tl.store(out_ptr + 3 * n + i, (-wide_x * 0.5).to(narrow), mask=i < n)
    tl.store(out_ptr + 4 * n + i, (wide_x * 0.1).to(narrow), mask=i < n)  # 0.1 is no narrow number
    tl.store(out_ptr + 5 * n + i, (wide_x * wide_y + wide_x).to(narrow), mask=i < n)


@triton.jit
def chosen_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < n), tl.load(y_ptr + i, mask=i < n)
    wide_x, wide_y = x.to(tl.float32), y.to(tl.float32)
    narrow = out_ptr.dtype.element_ty
    tl.store(out_ptr + i, tl.maximum(wide_x, wide_y).to(narrow), mask=i < n)
    tl.store(out_ptr + n + i, tl.minimum(wide_x, wide_y).to(narrow), mask=i < n)
    tl.store(out_ptr + 2 * n + i, tl.maximum(wide_x, wide_y, propagate_nan=tl.PropagateNan.ALL).to(narrow), mask=i < n)
    tl.store(out_ptr + 3 * n + i, tl.clamp(wide_x, -2.0, 2.0).to(narrow), mask=i < n)
    tl.store(out_ptr + 4 * n + i, tl.where(wide_x < wide_y, wide_x, -wide_y).to(narrow), mask=i < n)
    tl.store(out_ptr + 5 * n + i, tl.where(x > 0, x, 0.0), mask=i < n)
    tl.store(out_ptr + 6 * n + i, tl.where(x < 0, x, 0.0), mask=i < n)
    tl.store(out_ptr + 7 * n + i, tl.where(x >= 0, x, 0.0), mask=i < n)
    tl.store(out_ptr + 8 * n + i, tl.where(x > -0.0, x, -0.0), mask=i < n)
    tl.store(out_ptr + 9 * n + i, tl.where(0.0 > x, 0.0, x), mask=i < n)
    square = tl.maximum(x, 0.0)
    tl.store(out_ptr + 10 * n + i, (square * square).to(narrow), mask=i < n)
    tl.store(out_ptr + 11 * n + i, tl.where(wide_x > 0.1, wide_x, wide_y).to(narrow), mask=i < n)


@triton.jit
def compared_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < n), tl.load(y_ptr + i, mask=i < n)
    found = (x < y).to(tl.int32) + 2 * (x <= y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y)
    wide = x.to(tl.float32)
    found += 64 * (wide < y) + 128 * (wide == y) + 256 * (wide > 0.1) + 512 * (wide != 0.5)
    tl.store(out_ptr + i, found, mask=i < n)


@triton.jit
def scaled_kernel(w_ptr, scale_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w = tl.load(w_ptr + i, mask=i < n).to(tl.float32)
    scale = tl.load(scale_ptr + tl.program_id(0)).to(tl.float32)
    tl.store(out_ptr + i, (w * scale).to(out_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def largest_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + at)
    count: tl.constexpr = COLUMNS if AXIS == 0 else ROWS
    tl.store(out_ptr + tl.arange(0, count), tl.max(x, axis=AXIS))
    tl.store(out_ptr + count + tl.arange(0, count), tl.max(tl.abs(x.to(tl.float32)), axis=AXIS))
    tl.store(out_ptr + 2 * count + tl.arange(0, count), tl.min(x, axis=AXIS) * 0.5)


def operands(dtype, count=4096):
    """Every edge with every other, then random bits, of which half have products around the smallest numbers."""
    x, y = (grid.flatten() for grid in torch.meshgrid(torch.tensor(EDGES), torch.tensor(EDGES), indexing="ij"))
    generator = torch.Generator().manual_seed(3)
    random = torch.randint(-2**15, 2**15, (2, count), generator=generator).to(torch.int16).view(dtype)
    small = torch.ldexp(torch.randint(-255, 256, (2, count), generator=generator).float(), torch.randint(-76, -64, (2, count), generator=generator)).to(dtype)
    if dtype == torch.float16:
        small = torch.ldexp(torch.randint(-2047, 2048, (2, count), generator=generator).float(), torch.randint(-24, -16, (2, count), generator=generator)).to(dtype)
    both = [torch.cat([edge.to(dtype), more, little]) for edge, more, little in zip((x, y), random, small)]
    return [torch.where(torch.isnan(each), torch.tensor(float("nan"), dtype=dtype), each) for each in both]  # PyTorch's fmax gives NaN for some of them


def run(kernel, x, y, rows, dtype):
    n = x.numel()
    out = torch.zeros(rows, n, dtype=dtype)
    kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out


@pytest.mark.parametrize("dtype", NARROW, ids=name_of)
def test_sums_and_products_in_f32_that_become_narrow_are_rounded_twice_without_a_trace(target, dtype):
    x, y = operands(dtype)
    sums = run(rounded_kernel, x, y, 6, dtype)
    wide_x, wide_y = x.float(), y.float()
    assert_same(sums[:5], torch.stack([(wide_x + wide_y), (wide_x - wide_y), (wide_x * wide_y), (-wide_x * 0.5), (wide_x * 0.1)]).to(dtype))
    # One rounding or two in f32 (N10), never one of the product to the narrow type.
    twice, once = (wide_x * wide_y + wide_x).to(dtype), (wide_x.double() * wide_y.double() + wide_x.double()).float().to(dtype)
    same = (sums[5] == twice) | (sums[5] == once) | (torch.isnan(sums[5]) & torch.isnan(twice))
    assert same.all()


@pytest.mark.parametrize("dtype", NARROW, ids=name_of)
def test_choices_among_widened_numbers_keep_their_bits(target, dtype):
    x, y = operands(dtype)
    out = run(chosen_kernel, x, y, 12, dtype)
    zero = torch.zeros((), dtype=dtype)
    differ = ~((x == 0) & (y == 0))  # which zero is larger is open (N16)
    assert_same(out[0][differ], torch.fmax(x.float(), y.float()).to(dtype)[differ])
    assert_same(out[1][differ], torch.fmin(x.float(), y.float()).to(dtype)[differ])
    assert_same(out[2][differ], torch.maximum(x, y)[differ])
    assert_same(out[3], torch.fmin(torch.fmax(x.float(), torch.tensor(-2.0)), torch.tensor(2.0)).to(dtype))
    assert_same(out[4], torch.where(x < y, x, -y))
    assert_same(out[5], torch.where(x > 0, x, zero))
    assert_same(out[6], torch.where(x < 0, x, zero))
    assert_same(out[7], torch.where(x >= 0, x, zero))
    assert_same(out[8], torch.where(x > 0, x, -zero))
    assert_same(out[9], torch.where(x < 0, zero, x))
    largest = torch.fmax(x.float(), torch.tensor(0.0))
    assert_same(out[10], (largest * largest).to(dtype))
    assert_same(out[11], torch.where(x.float() > 0.1, x, y))


@pytest.mark.parametrize("dtype", NARROW, ids=name_of)
def test_comparisons_of_narrow_numbers_are_those_of_f32(target, dtype):
    x, y = operands(dtype)
    found = run(compared_kernel, x, y, 1, torch.int32)[0]
    a, b = x.float(), y.float()
    tests = [a < b, a <= b, a > b, a >= b, a == b, a != b, a < b, a == b, a > 0.1, a != 0.5]
    assert_same(found, sum(test.to(torch.int32) << place for place, test in enumerate(tests)).to(torch.int32))


@pytest.mark.parametrize("integer", [torch.int8, torch.uint8], ids=name_of)
@pytest.mark.parametrize("dtype", NARROW, ids=name_of)
def test_bytes_are_scaled_as_in_f32(target, dtype, integer):
    w = torch.arange(-128, 128).to(integer).repeat(8)
    scale = torch.tensor([0.0123, -3.0], dtype=dtype)
    out = torch.zeros(w.numel(), dtype=dtype)
    scaled_kernel[(2,)](w, scale, out, w.numel(), BLOCK=1024)
    assert_same(out, (w.float() * scale.repeat_interleave(1024).float()).to(dtype))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", NARROW, ids=name_of)
def test_extrema_of_rows_are_those_of_f32(target, dtype, axis):
    x = operands(dtype)[1][-2048 - 4096:-4096].reshape(32, 64)  # of random bits, NaN among them
    x[3] = float("nan")
    x[:, 5] = float("nan")
    count = x.shape[1 - axis]
    out = torch.zeros(3, count, dtype=dtype)
    largest_kernel[(1,)](x, out, ROWS=32, COLUMNS=64, AXIS=axis)
    wide = x.float()
    ignored = lambda value, other: torch.where(torch.isnan(value), torch.tensor(other), value)
    expected = torch.stack([ignored(wide, -float("inf")).amax(axis), ignored(wide.abs(), -float("inf")).amax(axis),
                            ignored(wide, float("inf")).amin(axis) * 0.5])
    expected = torch.where(torch.isnan(wide).all(axis), torch.tensor(float("nan")), expected)
    assert_same(out, expected.to(dtype))


@triton.jit
def thrice_kernel(x_ptr, y_ptr, DEPTH: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i).to(tl.float32)
    for _ in tl.static_range(DEPTH):
        x = tl.clamp(x, x, x)
    tl.store(y_ptr + i, x.to(tl.bfloat16))


@pytest.mark.parametrize("depth", [3, 60])
def test_an_op_that_reads_another_one_thrice_is_followed_for_a_few_steps_only(target, depth):
    x = torch.linspace(-4, 4, 128).bfloat16()
    y = torch.zeros_like(x)
    thrice_kernel[(1,)](x, y, DEPTH=depth, B=128)
    assert torch.equal(x, y)


@triton.jit
def product_kernel(a_ptr, b_ptr, out_ptr, K, ROWS: tl.constexpr, DEPTH: tl.constexpr, PRECISION: tl.constexpr):
    i, k = tl.arange(0, ROWS), tl.arange(0, DEPTH)
    acc = tl.zeros([ROWS, ROWS], tl.float32)
    for start in range(0, K, DEPTH):
        a = tl.load(a_ptr + i[:, None] * K + start + k[None, :]).to(tl.float32)
        b = tl.load(b_ptr + i[:, None] * K + start + k[None, :]).to(tl.float32)
        b = tl.trans(tl.where(i[:, None] <= start + k[None, :], b, -0.5))
        acc += tl.dot(a, b, input_precision=PRECISION) + tl.dot(-a, b, input_precision=PRECISION) * 0.25
    tl.store(out_ptr + i[:, None] * ROWS + i[None, :], acc)


@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "bf16x3", "ieee"])
@pytest.mark.parametrize("types", [(torch.bfloat16, torch.bfloat16), (torch.float16, torch.float16), (torch.bfloat16, torch.int8), (torch.float8_e5m2, torch.bfloat16),
                                   (torch.float8_e4m3fn, torch.float16), (torch.bfloat16, torch.float16)], ids=lambda types: "-".join(map(name_of, types)))
def test_products_of_widened_factors_are_exact(target, types, precision):
    generator = torch.Generator().manual_seed(5)
    a, b = (torch.randint(-7, 8, (32, 64), generator=generator).float().to(dtype) for dtype in types)
    out = torch.zeros(32, 32)
    product_kernel[(1,)](a, b, out, 64, ROWS=32, DEPTH=32, PRECISION=precision)
    chosen = torch.where(torch.arange(32)[:, None] <= torch.arange(64), b.float(), torch.tensor(-0.5))
    assert_same(out, 0.75 * (a.float() @ chosen.T))


@pytest.mark.parametrize("dtype", NARROW, ids=name_of)
def test_widened_factors_keep_all_their_bits(target, dtype):
    x = torch.zeros(32, 32, dtype=dtype)
    x[:, 3] = 1 + 2.0 ** (-10 if dtype == torch.float16 else -7)
    out = torch.zeros(32, 32)
    product_kernel[(1,)](x, x, out, 32, ROWS=32, DEPTH=32, PRECISION="tf32")
    chosen = torch.where(torch.arange(32)[:, None] <= torch.arange(32), x.float(), torch.tensor(-0.5))
    assert_same(out, 0.75 * (x.float() @ chosen.T))


@triton.jit
def beside_kernel(wide_ptr, narrow_ptr, out_ptr, K, ROWS: tl.constexpr, DEPTH: tl.constexpr, IS_FIRST: tl.constexpr):
    i, k = tl.arange(0, ROWS), tl.arange(0, DEPTH)
    acc = tl.zeros([ROWS, ROWS], tl.float32)
    for start in range(0, K, DEPTH):
        wide = tl.load(wide_ptr + i[:, None] * K + start + k[None, :]) * 1.5
        narrow = tl.load(narrow_ptr + (start + k[:, None]) * ROWS + i[None, :]).to(tl.float32)
        if IS_FIRST:
            acc += tl.dot(wide, narrow)
        else:
            acc += tl.trans(tl.dot(tl.trans(narrow), tl.trans(wide)))
    tl.store(out_ptr + i[:, None] * ROWS + i[None, :], acc)


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "second"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int8, torch.float8_e4m3fn], ids=name_of)
def test_factors_beside_widened_ones_lose_no_more_than_tf32_cuts(target, dtype, is_first):
    """Such a factor may be multiplied in two parts: what is infinite, NaN, or beyond the largest bf16 stays so."""
    generator = torch.Generator().manual_seed(6)
    wide = torch.randn(64, 96, generator=generator)
    narrow = (torch.randn(96, 64, generator=generator).abs() * 3 + 1).to(dtype)
    wide[3, 5], wide[7, 1], wide[9, 2], wide[11] = float("inf"), -float("inf"), float("nan"), 0
    wide[11, 4] = 2.26e38  # times 1.5 nearly the largest f32
    narrow[4] = torch.ones(64).to(dtype)
    out = torch.zeros(64, 64)
    beside_kernel[(1,)](wide, narrow, out, 96, ROWS=64, DEPTH=32, IS_FIRST=is_first)
    assert torch.all(out[3] == float("inf")) and torch.all(out[7] == -float("inf")) and torch.all(out[9].isnan())
    usual = torch.tensor([i for i in range(64) if i not in (3, 7, 9)])
    a, b = wide[usual].double() * 1.5, narrow.double()
    allowed = (97 * 2.0**-23 + 2.0**-9) * (a.abs() @ b.abs())
    assert torch.all((out[usual].double() - a @ b).abs() <= allowed)
