"""tl.dot of single tiles, of any extent and type (N15)."""
import re

import ml_dtypes
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import rounding_of_factors, assert_close, assert_same, name_of, random


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n)
    if FORM == "plain":
        out = tl.dot(a, b)
    elif FORM == "accumulate":
        out = tl.dot(a, b, tl.load(c_ptr + m * N + n))
    elif FORM == "transposed":
        out = tl.trans(tl.dot(tl.trans(b), tl.trans(a)))
    else:
        tl.static_assert(FORM == "epilogue")
        out = tl.maximum(tl.dot(a, b) * 0.5 + tl.sum(a, axis=1)[:, None], 0.0)
    tl.store(out_ptr + m * N + n, out)


@triton.jit
def integer_dot_kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n)
    tl.store(out_ptr + m * N + n, tl.dot(a, b))


SHAPES = [(1, 1, 1), (1, 5, 3), (16, 16, 16), (24, 40, 16), (80, 48, 32), (17, 31, 13), (32, 64, 8), (6, 64, 33), (3, 100, 48)]


@pytest.mark.parametrize("form", ["plain", "accumulate", "transposed", "epilogue"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floats(target, shape, dtype, form):
    M, N, K = shape
    a, b, c = random(M, K, dtype=dtype, seed=1), random(K, N, dtype=dtype, seed=2), random(M, N, seed=3)
    out = torch.zeros(M, N)
    dot_kernel[(1,)](a, b, c, out, M=M, N=N, K=K, FORM=form)
    exact = a.double() @ b.double()
    error = (K + 2) * 2.0**-24 * (a.double().abs() @ b.double().abs() + c.double().abs()) * 2
    error = error + rounding_of_factors(dtype) * (a.double().abs() @ b.double().abs())
    if form == "accumulate":
        exact = exact + c.double()
    if form == "epilogue":
        # the sum of a row is in the type of a
        unit = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
        error = error + K * unit * a.double().abs().sum(dim=1, keepdim=True)
        exact = torch.clamp(exact * 0.5 + a.double().sum(dim=1, keepdim=True), min=0)
    assert_close(out, exact, error=error)


# Instructions that multiply pairs of bf16 take subnormal factors for zero and give zero for subnormal sums. Rows of
# a are scaled one by one: a single small element must not be lost beside large ones.
@pytest.mark.parametrize("a_exponents, b_exponent, c_exponent",
                         [((-130,), 0, 0), ((-130,), 20, -130), ((0,), -131, -140), ((-70,), -60, -126), ((-63,), -63, -140),
                          ((-48,), -64, -110), ((0,) * 31 + (-128,), 5, -120), ((-60,) * 31 + (-110,), -20, -130),
                          ((0,), 0, -140)], ids=str)
@pytest.mark.parametrize("form", ["plain", "accumulate"])
def test_subnormal_factors_products_and_sums_of_bf16_are_kept(target, form, a_exponents, b_exponent, c_exponent):
    M, N, K = 32, 48, 64
    scale = torch.tensor([2.0**e for e in a_exponents], dtype=torch.float64)
    a = random(M, K, seed=1).double() * (scale if len(scale) == 1 else scale[:, None])
    a[:, ::7] = 0.0
    a = a.to(torch.bfloat16)
    b = (random(K, N, seed=2).double() * 2.0**b_exponent).to(torch.bfloat16)
    b[:, 5] = 0.0
    c = (random(M, N, seed=3).double() * 2.0**c_exponent).float()
    out = torch.zeros(M, N)
    dot_kernel[(1,)](a, b, c, out, M=M, N=N, K=K, FORM=form)
    exact, magnitude = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    if form == "accumulate":
        exact, magnitude = exact + c.double(), magnitude + c.double().abs()
    error = (K + 2) * (2.0**-24 * magnitude + 2.0**-150)
    assert_close(out, exact, error=error)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 3e38], ids=str)
def test_products_of_bf16_keep_what_is_not_finite(target, value):
    M, N, K = 32, 32, 32
    a, b = random(M, K, dtype=torch.bfloat16, seed=1).abs() + 1, random(K, N, dtype=torch.bfloat16, seed=2).abs() + 1
    a[3, 4] = value
    out = torch.zeros(M, N)
    dot_kernel[(1,)](a, b, torch.zeros(M, N), out, M=M, N=N, K=K, FORM="plain")
    exact = a.double() @ b.double()
    assert_same(out[3].isfinite(), (exact[3].abs() < 3.4028e38) & exact[3].isfinite())
    assert_same(out[3].isnan(), exact[3].isnan())
    rest = torch.arange(M) != 3
    assert_close(out[rest], exact[rest], error=(K + 2) * 2.0**-24 * exact[rest])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_int8_is_exact(target, shape):
    M, N, K = shape
    rng = np.random.default_rng(4)
    a, b = rng.integers(-128, 128, (M, K), dtype=np.int8), rng.integers(-128, 128, (K, N), dtype=np.int8)
    out = np.zeros((M, N), dtype=np.int32)
    integer_dot_kernel[(1,)](a, b, out, M=M, N=N, K=K)
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("shape", [(1, 16, 4), (9, 20, 4), (8, 33, 12), (17, 70, 6), (3, 3, 34), (16, 128, 64), (5, 1, 128)], ids=str)
def test_bytes_at_their_ends_sum_up_and_wrap(target, shape):
    """Instructions for bytes saturate, or take one factor as unsigned; sums begin at the ends of i32."""
    M, N, K = shape
    rng = np.random.default_rng(5)
    a, b = rng.choice([-128, -127, -1, 127], (M, K)).astype(np.int8), rng.choice([-128, 127], (K, N)).astype(np.int8)
    c = rng.choice([-2**31, 2**31 - 1], (M, N)).astype(np.int32)
    out = np.zeros((M, N), dtype=np.int32)
    dot_kernel[(1,)](a, b, c, out, M=M, N=N, K=K, FORM="accumulate")
    exact = a.astype(np.int64) @ b.astype(np.int64) + c
    np.testing.assert_array_equal(out, exact.astype(np.int32))


def test_f64(target):
    a, b = random(9, 10, dtype=torch.float64, seed=5), random(10, 11, dtype=torch.float64, seed=6)
    out = torch.zeros(9, 11, dtype=torch.float64)
    integer_dot_kernel[(1,)](a, b, out, M=9, N=11, K=10)
    torch.testing.assert_close(out, a @ b, rtol=1e-14, atol=1e-14)


def test_zero_times_infinity_is_nan(target):
    """No element outside of the tile may reach the sum, none inside may be left out."""
    a, b = torch.zeros(3, 5), torch.full((5, 7), float("inf"))
    out = torch.zeros(3, 7)
    integer_dot_kernel[(1,)](a, b, out, M=3, N=7, K=5)
    assert out.isnan().all()


@triton.jit
def batched_dot_kernel(a_ptr, b_ptr, out_ptr, Z: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z, m, n = tl.arange(0, Z)[:, None, None], tl.arange(0, M)[None, :, None], tl.arange(0, N)[None, None, :]
    a = tl.load(a_ptr + (z * M + m) * K + tl.arange(0, K)[None, None, :])
    b = tl.load(b_ptr + (z * K + tl.arange(0, K)[None, :, None]) * N + n)
    product = tl.dot(a, b)
    square = tl.dot(product.to(a.dtype), tl.trans(product, (0, 2, 1)).to(a.dtype))
    tl.store(out_ptr + (z * M + m) * M + tl.arange(0, M)[None, None, :], square)


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32], ids=["int8", "float16", "float32"])
@pytest.mark.parametrize("shape", [(1, 16, 16, 16), (2, 16, 32, 16), (3, 5, 7, 3), (3, 16, 16, 16), (5, 1, 1, 1), (6, 3, 48, 2)], ids=str)
def test_batches_of_any_number(target, shape, dtype):
    Z, M, N, K = shape
    rng = np.random.default_rng(8)
    a, b = rng.integers(-1, 2, (Z, M, K)).astype(dtype), rng.integers(-1, 2, (Z, K, N)).astype(dtype)
    out = np.zeros((Z, M, M), np.int32 if dtype == np.int8 else np.float32)
    batched_dot_kernel[(1,)](a, b, out, Z=Z, M=M, N=N, K=K)
    product = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(out, product @ product.transpose(0, 2, 1))


# --- operands and accumulators that lie in memory of the program -----------------------------

N = 16
EYE = np.eye(N)
SMALL_TYPES = {"int8": np.int8, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float8e4nv": ml_dtypes.float8_e4m3fn,
               "float8e5": ml_dtypes.float8_e5m2, "float32": np.float32, "float64": np.float64}


def as_argument(array):
    """Types that NumPy has not, as PyTorch has them."""
    names = {"bfloat16": torch.bfloat16, "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}
    if array.dtype.name not in names:
        return array
    bits = torch.from_numpy(array.view(np.int16 if array.itemsize == 2 else np.uint8))
    return bits.view(names[array.dtype.name])


@triton.jit
def use_of_product_kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, USE: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    k = tl.arange(0, K)
    x = tl.dot(tl.load(a_ptr + m * K + k[None, :]), tl.load(b_ptr + k[:, None] * N + n)).to(tl.int32)
    if USE == "sum of rows":
        x = x * 0 + tl.sum(x, axis=1)[:, None]
    elif USE == "sum of columns":
        x = x * 0 + tl.sum(x, axis=0)[None, :]
    elif USE == "xor of rows":
        x = x * 0 + tl.xor_sum(x, axis=1)[:, None]
    elif USE == "sum of pieces":
        x = tl.reshape(x, [M * N // 2, 2])
        x = tl.reshape(x * 0 + tl.sum(x, axis=1)[:, None], [M, N])
    elif USE == "scan of rows":
        x = tl.cumsum(x, axis=1)
    elif USE == "scan of columns":
        x = tl.cumsum(x, axis=0, reverse=True)
    elif USE == "histogram":
        x = tl.reshape(tl.histogram(tl.ravel(x) & (M * N - 1), M * N), [M, N])
    elif USE == "atomics":
        tl.atomic_add(out_ptr + m * N + n, x)
    else:
        tl.static_assert(USE == "sort")
        x = tl.sort(x)
    tl.atomic_add(out_ptr + m * N + n, x)


@pytest.mark.parametrize("use", ["sum of rows", "sum of columns", "xor of rows", "sum of pieces", "scan of rows",
                                 "scan of columns", "histogram", "atomics", "sort"])
@pytest.mark.parametrize("M, N, K", [(1, 8, 16), (1, 64, 32), (2, 16, 16), (4, 32, 64), (8, 8, 8), (64, 1, 16), (32, 4, 16)])
def test_each_element_of_a_product_takes_part_once(target, M, N, K, use):
    """Matrix instructions hold small products more than once in the registers of a thread."""
    rng = np.random.default_rng(M * N)
    a, b = rng.integers(-3, 4, (M, K)).astype(np.float16), rng.integers(-3, 4, (K, N)).astype(np.float16)
    out = np.zeros((M, N), np.int32)
    use_of_product_kernel[(1,)](a, b, out, M=M, N=N, K=K, USE=use)
    x = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int32)
    pieces = x.reshape(-1, 2).sum(1, keepdims=True).repeat(2, 1).reshape(M, N)
    expected = {
        "sum of rows": x.sum(1, keepdims=True), "sum of columns": x.sum(0)[None, :],
        "xor of rows": np.bitwise_xor.reduce(x, 1)[:, None], "sum of pieces": pieces, "scan of rows": x.cumsum(1),
        "scan of columns": x[::-1].cumsum(0)[::-1], "atomics": 2 * x, "sort": np.sort(x, 1),
        "histogram": np.bincount(x.ravel() & (M * N - 1), minlength=M * N).reshape(M, N)}[use]
    np.testing.assert_array_equal(out, np.broadcast_to(expected, (M, N)))


@triton.jit
def accumulate_in_halves_kernel(x_ptr, y_ptr, out_ptr, trips, N: tl.constexpr, OUT: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), OUT)
    for k in range(trips):
        acc = tl.dot(tl.load(x_ptr + k * N * N + i), tl.load(y_ptr + k * N * N + i), acc, out_dtype=OUT)
    tl.store(out_ptr + i, acc)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("out", [tl.float16, tl.float32], ids=["float16", "float32"])
def test_accumulator_is_a_product_of_the_round_before(target, out, trips):
    rng = np.random.default_rng(trips)
    x, y = rng.integers(-2, 3, (2, 5, N, N)).astype(np.float16)
    result = np.full((N, N), 99, np.float16 if out == tl.float16 else np.float32)
    accumulate_in_halves_kernel[(1,)](x, y, result, trips, N=N, OUT=out)
    np.testing.assert_array_equal(result, (x[:trips].astype(np.float64) @ y[:trips].astype(np.float64)).sum(0))


@triton.jit
def chained_products_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    """Products as accumulators and as operands of others, all in f16, without a loop."""
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    first = tl.dot(x, y, out_dtype=tl.float16)
    second = tl.dot(y, x, first, out_dtype=tl.float16)
    third = tl.dot(second, y, second, out_dtype=tl.float16)
    tl.store(out_ptr + i, tl.dot(first, second, third, out_dtype=tl.float16))


def test_products_of_products_in_halves(target):
    x, y = (EYE[[(3 * i + 1) % N for i in range(N)]] * 2).astype(np.float16), EYE[::-1].astype(np.float16)
    out = np.zeros((N, N), np.float16)
    chained_products_kernel[(1,)](x, y, out, N=N)
    first = x @ y
    second = y @ x + first
    np.testing.assert_array_equal(out, first @ second + second @ y + second)


@triton.jit
def held_operand_kernel(x_ptr, y_ptr, out_ptr, scratch_ptr, trips, N: tl.constexpr, HOW: tl.constexpr, RESULT: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    out = tl.zeros((N, N), RESULT)
    if HOW == "carried":
        for k in range(trips):
            out = tl.dot(x, y, out)
            x = tl.load(x_ptr + (k + 1) * N * N + i)
            y = tl.load(y_ptr + (k + 1) * N * N + i)
    elif HOW == "while":
        k = 0
        while k < trips:
            out = tl.dot(x, y, out)
            k += 1
            x = tl.load(x_ptr + k * N * N + i)
            y = tl.load(y_ptr + k * N * N + i)
    elif HOW == "branch":
        if trips > 1:
            x = tl.trans(x)
            y = tl.load(y_ptr + N * N + i)
        out = tl.dot(x, y)
    elif HOW == "product":
        out = tl.dot(tl.dot(x, y).to(x.dtype), y)
    elif HOW == "scan":
        out = tl.dot(tl.associative_scan(x, 0, smaller), tl.associative_scan(y, 1, smaller))
    elif HOW == "moved":
        out = tl.dot(tl.flip(x), tl.gather(y, (i // N + 3) % N, 0))
    elif HOW == "joined":
        left, right = tl.split(tl.join(x, y))
        out = tl.dot(left, tl.split(tl.reshape(tl.cat(right, x, dim=1), (N, N, 2)))[0])
    elif HOW == "overwritten":
        tl.debug_barrier()
        tl.store(x_ptr + i, y)
        tl.store(y_ptr + i, x)
        tl.debug_barrier()
        out = tl.dot(x, y)
    elif HOW == "volatile":
        out = tl.dot(tl.load(x_ptr + i, volatile=True), y)
    else:
        tl.static_assert(HOW == "read twice")
        out = tl.dot(x, y)
        for k in range(trips):
            out += tl.dot(x, y)
        tl.store(scratch_ptr + i, x)
    tl.store(out_ptr + i, out)


@triton.jit
def smaller(a, b):
    return tl.where(b < a, b, a)


def product_of(how, x, y, trips):
    x, y = x.astype(np.float64), y.astype(np.float64)
    if how in ("carried", "while"):
        return (x[:trips] @ y[:trips]).sum(0)
    if how == "branch":
        return x[0].T @ y[1] if trips > 1 else x[0] @ y[0]
    x, y = x[0], y[0]
    if how == "product":
        return x @ y @ y
    if how == "scan":
        return np.minimum.accumulate(x, 0) @ np.minimum.accumulate(y, 1)
    if how == "moved":
        return x[:, ::-1] @ np.roll(y, -3, 0)
    if how == "joined":
        return x @ np.concatenate([y, x], 1)[:, ::2]
    return (x @ y) * (1 + trips) if how == "read twice" else x @ y


HELD = ["carried", "while", "branch", "product", "scan", "moved", "joined", "overwritten", "volatile", "read twice"]


@pytest.mark.parametrize("how", HELD)
@pytest.mark.parametrize("name", SMALL_TYPES)
def test_operand_lies_in_memory_of_the_program(target, name, how):
    dtype = SMALL_TYPES[name]
    result = {"int8": np.int32, "float64": np.float64}.get(name, np.float32)
    for trips in (0, 1, 3):
        rng = np.random.default_rng(trips)
        x, y = rng.integers(-1, 2, (2, 4, N, N)).astype(dtype)
        out, scratch = np.full((N, N), 99, result), np.zeros((N, N), dtype)
        expected = product_of(how, x, y, trips)
        arguments = as_argument(x), as_argument(y), out, as_argument(scratch), trips
        constants = {"N": N, "HOW": how, "RESULT": {np.int32: tl.int32, np.float64: tl.float64}.get(result, tl.float32)}
        held_operand_kernel[(1,)](*arguments, **constants)
        np.testing.assert_array_equal(out, expected)


def test_small_integers_in_f32_are_exact(target):
    generator = torch.Generator().manual_seed(7)
    a = torch.randint(-9, 10, (20, 30), generator=generator).float()
    b = torch.randint(-9, 10, (30, 40), generator=generator).float()
    out = torch.zeros(20, 40)
    integer_dot_kernel[(1,)](a, b, out, M=20, N=40, K=30)
    assert_same(out, a @ b)


@triton.jit
def precise_dot_kernel(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n)
    tl.store(out_ptr + m * N + n, tl.dot(a, b, input_precision=PRECISION))


@pytest.mark.parametrize("M, N, K, warps", [(32, 32, 64, 4), (64, 64, 32, 4), (16, 24, 40, 1)])
@pytest.mark.parametrize("precision, unit", [("ieee", 0.0), ("tf32x3", 2.0**-20), ("tf32", 2.0**-9), ("bf16x3", 2.0**-16), ("bf16x6", 2.0**-22)])
def test_f32_factors_are_rounded_as_asked(target, precision, unit, M, N, K, warps):
    a, b = random(M, K, seed=11), random(K, N, seed=12)
    out = torch.zeros(M, N)
    precise_dot_kernel[(1,)](a, b, out, M=M, N=N, K=K, PRECISION=precision, num_warps=warps)
    magnitude = a.double().abs() @ b.double().abs()
    assert_close(out, a.double() @ b.double(), error=((K + 2) * 2.0**-23 + unit) * magnitude)


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3", "bf16x6"])
def test_infinite_factors_stay_infinite(target, precision):
    """The rests of an infinite factor are NaN, and do not count."""
    M, N, K = 64, 64, 32
    a, b = random(M, K, seed=13), random(K, N, seed=14).abs() + 1
    a[3, 5], a[7, 1], a[9, 2] = float("inf"), float("-inf"), float("nan")
    out = torch.zeros(M, N)
    precise_dot_kernel[(1,)](a, b, out, M=M, N=N, K=K, PRECISION=precision)
    assert torch.all(out[3] == float("inf")) and torch.all(out[7] == float("-inf")) and torch.all(out[9].isnan())
    assert torch.isfinite(out[[0, 1, 2, 4, 5, 6, 8]]).all()


@pytest.mark.sim
def test_what_tf32x3_leaves_out_of_a_factor_is_not_rounded(monkeypatch):
    """The instruction looks at as many bits of it as it has; a rounding takes four instructions."""
    monkeypatch.setattr(precise_dot_kernel, "target", "ptxvm")
    f32 = torch.zeros(64, 64)
    ptx = precise_dot_kernel.warmup(f32, f32, f32, M=64, N=64, K=64, PRECISION="tf32x3", arch="sm90a", grid=(1,)).asm["ptx"]
    rests = set(re.findall(r"sub\.(?:rn\.)?f32\s+(%\w+),", ptx))
    rounded = set(re.findall(r"cvt\.rna\.tf32\.f32\s+%\w+, (%\w+);", ptx))
    assert rests and rounded and not rests & rounded


@triton.jit
def long_dot_kernel(a_ptr, b_ptr, out_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + m * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n)
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(out_ptr + m * N + n, acc)


@pytest.mark.parametrize("precision, allowed", [("tf32x3", 1e-6), ("bf16x3", 2e-5), ("bf16x6", 1e-6)])
def test_long_sums_keep_what_was_asked(target, precision, allowed):
    """The instruction cuts sums off: over 1,024 trips tf32x3 was off by 1e-5, 70 times of what upstream is."""
    M, N, K = 32, 32, 2048 if target in ("cuda", "cpu") else 256
    a, b = random(M, K, seed=15), random(K, N, seed=16)
    out = torch.zeros(M, N)
    long_dot_kernel[(1,)](a, b, out, K, M=M, N=N, BK=32, PRECISION=precision, num_stages=2)
    exact = a.double() @ b.double()
    assert ((out.double() - exact).norm() / exact.norm()).item() <= allowed


@triton.jit
def halves_added_up_kernel(a_ptr, b_ptr, out_ptr, trips, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for trip in range(trips):
        a, b = tl.load(a_ptr + trip * B * B + at), tl.load(b_ptr + trip * B * B + at)
        acc = acc * 0.5 + tl.dot(a, b, out_dtype=tl.float16)
    tl.store(out_ptr + at, acc)


@pytest.mark.parametrize("size, stages, warps", [(16, 1, 1), (32, 2, 4), (64, 3, 4), (128, 2, 8)])
def test_products_in_halves_that_are_added_to_wider_sums(target, size, stages, warps):
    trips = 5
    a, b = (random(trips, size, size, dtype=torch.float16, seed=seed) for seed in (1, 2))
    out = torch.full((size, size), float("nan"))
    halves_added_up_kernel[(1,)](a, b, out, trips, B=size, num_stages=stages, num_warps=warps)
    exact, error = torch.zeros(size, size, dtype=torch.float64), torch.zeros(size, size, dtype=torch.float64)
    for trip in range(trips):
        product = a[trip].double() @ b[trip].double()
        exact = exact * 0.5 + product
        error = error * 0.5 + product.abs() * 2.0**-11 + (a[trip].double().abs() @ b[trip].double().abs()) * (size + 4) * 2.0**-24
    assert torch.all((out.double() - exact).abs() <= error + 1e-6)


@pytest.mark.sim
def test_products_in_halves_that_are_added_to_wider_sums_are_not_rounded_before(monkeypatch):
    """A result that is rounded and widened again is held beside the sum: half of the registers of attention by 8 bits."""
    monkeypatch.setattr(halves_added_up_kernel, "target", "ptxvm")
    half = torch.empty(2**16, dtype=torch.float16)
    for arch in ("sm80", "sm90a"):
        kernel = halves_added_up_kernel.warmup(half, half, torch.empty(2**14), 5, B=64, num_warps=4, num_stages=3, arch=arch, grid=(1,))
        assert "cvt.rn.f16" not in kernel.asm["ptx"]
