"""The functions of docs/language/math-functions.md, f32 and f64, against f64 (and mpmath-free) references."""
import numpy as np
import pytest
import torch

import devices
import tegula as triton
import tegula.language as tl


@triton.jit
def unary_kernel(x_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    if OP == "exp":
        y = tl.exp(x)
    elif OP == "exp2":
        y = tl.exp2(x)
    elif OP == "log":
        y = tl.log(x)
    elif OP == "log2":
        y = tl.log2(x)
    elif OP == "sin":
        y = tl.sin(x)
    elif OP == "cos":
        y = tl.cos(x)
    elif OP == "sqrt":
        y = tl.sqrt(x)
    elif OP == "sqrt_rn":
        y = tl.sqrt_rn(x)
    elif OP == "rsqrt":
        y = tl.rsqrt(x)
    elif OP == "erf":
        y = tl.erf(x)
    elif OP == "floor":
        y = tl.floor(x)
    elif OP == "ceil":
        y = tl.ceil(x)
    elif OP == "abs":
        y = tl.abs(x)
    else:
        tl.static_assert(OP == "sigmoid")
        y = tl.sigmoid(x)
    tl.store(out_ptr + i, y, mask=i < n)


@triton.jit
def fma_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    z = tl.load(z_ptr + i, mask=mask)
    tl.store(out_ptr + i, tl.fma(x, y, z), mask=mask)


REFERENCE = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "floor": np.floor, "ceil": np.ceil, "abs": np.abs,
    "erf": lambda x: torch.erf(torch.from_numpy(x)).numpy(),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
# f32 in units in the last place; 0: exact
BOUND = {"exp": 2, "exp2": 2, "log": 2, "log2": 2, "sin": 2, "cos": 2, "sqrt": 1, "sqrt_rn": 0.5, "rsqrt": 2, "erf": 2,
         "floor": 0, "ceil": 0, "abs": 0, "sigmoid": 6}
# Functions for which GPUs have instructions of their own (docs/language/math-functions.md, "On GPUs"): the bound at x.
GPU_BOUND = {
    "exp": lambda x, ulp: 2 + 1.18 * np.abs(x),
    "sigmoid": lambda x, ulp: 6 + 1.18 * np.abs(x),
}
# On GPUs results below the smallest normal number are zero (N20).
FLUSHED = {"exp", "exp2"}
RANGES = {"exp": (-110, 95), "exp2": (-155, 130), "log": (0, 1e5), "log2": (0, 1e5), "sin": (-1000, 1000),
          "cos": (-1000, 1000), "sqrt": (0, 1e6), "sqrt_rn": (0, 1e6), "rsqrt": (0, 1e6), "erf": (-5, 5),
          "floor": (-1e5, 1e5), "ceil": (-1e5, 1e5), "abs": (-1e5, 1e5), "sigmoid": (-80, 80)}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-40, 1e-45, 1e-30, 3e38, np.inf, -np.inf, np.nan, 0.5, 88.72, -87.4, 2.0**23]


def inputs(op, dtype):
    low, high = RANGES[op]
    rng = np.random.default_rng(3)
    near = rng.uniform(-2, 2, 300) if low < 0 else rng.uniform(0, 2, 300)
    beside_one = 1 + np.arange(-40, 40) * 2.0**-24  # where logarithms are small
    return np.concatenate([SPECIAL, rng.uniform(low, high, 700), near, beside_one]).astype(dtype)


def run(op, x):
    out = np.zeros_like(x)
    unary_kernel[(triton.cdiv(x.size, 128),)](x, out, x.size, OP=op, BLOCK=128)
    return out


def spacing_at(exact):
    with np.errstate(all="ignore"):
        return np.spacing(np.abs(exact.astype(np.float32)).astype(np.float32)).astype(np.float64)


def ulps_off(out, exact):
    """Distance to the exact value in units of the last place of its f32 neighbourhood."""
    with np.errstate(all="ignore"):
        spacing = spacing_at(exact)
        off = np.abs(out.astype(np.float64) - exact) / spacing
    as_f32 = exact.astype(np.float32).astype(np.float64)
    equal = (out.astype(np.float64) == as_f32) | (np.isnan(out) & np.isnan(exact))
    return np.where(equal, 0, off)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("op", [op for op in REFERENCE if op != "sqrt_rn"])
def test_narrow_floats_are_computed_in_f32_and_rounded_once(target, op, dtype):
    """N25: upstream refuses most of these."""
    x = torch.from_numpy(inputs(op, np.float32)).to(dtype)
    out, wide = torch.zeros_like(x), np.zeros(len(x), np.float32)
    unary_kernel[(triton.cdiv(len(x), 128),)](x, out, len(x), OP=op, BLOCK=128)
    unary_kernel[(triton.cdiv(len(x), 128),)](x.float().numpy(), wide, len(x), OP=op, BLOCK=128)
    assert torch.equal(torch.nan_to_num(out.float(), nan=7), torch.nan_to_num(torch.from_numpy(wide).to(dtype).float(), nan=7))


@pytest.mark.parametrize("op", list(REFERENCE))
def test_f32(target, op):
    x = inputs(op, np.float32)
    with np.errstate(all="ignore"):
        exact = REFERENCE[op](x.astype(np.float64))
    out = run(op, x)
    off = ulps_off(out, exact)
    bound = max(BOUND[op], 0.5001)
    if target in ("cuda", "sim") and op in GPU_BOUND:
        with np.errstate(all="ignore"):
            bound = np.fmax(bound, GPU_BOUND[op](x.astype(np.float64), spacing_at(exact)))
    if target in ("cuda", "sim") and op in FLUSHED:  # up to the function's own error
        off = np.where((out == 0) & (exact < 2.0**-126 * (1 + 2.0**-16)), 0, off)
    bad = ~(off <= bound)
    worst = int(np.argmax(np.where(np.isnan(off), np.inf, off / bound)))
    assert not bad.any(), f"{op}({x[worst]!r}) = {out[worst]!r}, should be {exact[worst]!r}: {off[worst]:.2f} ulp"


@pytest.mark.sim
@pytest.mark.parametrize("op", ["exp", "exp2"])
def test_small_powers_are_zero_on_a_gpu(op, monkeypatch):
    """N20: one instruction an element; keeping them takes three more. The exponents of zeros are exactly 1."""
    devices.use("sim", monkeypatch)
    x = np.array([-127.5, -140.0, -149.0, -1000.0, -np.inf, 1e-45, -1e-45, -125.0], np.float32) * (np.log(2) if op == "exp" else 1)
    out = run(op, x.astype(np.float32))
    assert not out[:5].any() and not np.signbit(out[:5]).any()
    assert (out[5:7] == 1).all() and out[7] > 0


@pytest.mark.parametrize("op", [op for op in REFERENCE if op != "sqrt_rn"])
def test_f64(target, op):
    x = inputs(op, np.float64)
    with np.errstate(all="ignore"):
        exact = REFERENCE[op](x)
    np.testing.assert_allclose(run(op, x), exact, rtol=2e-15, atol=1e-300)


def test_fma_rounds_once(target):
    rng = np.random.default_rng(4)
    x, y = (rng.standard_normal(500).astype(np.float32) for _ in range(2))
    z = -(x * y) + np.float32(1e-9) * rng.standard_normal(500).astype(np.float32)
    out = np.zeros_like(x)
    fma_kernel[(1,)](x, y, z, out, 500, BLOCK=512)
    # products of f32 are exact in f64; the sum may round twice, which these inputs show nowhere
    exact = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
    np.testing.assert_allclose(out, exact, rtol=2.0**-23)


@triton.jit
def several_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.clamp(x, -1.0, 1.5), mask=i < n)
    tl.store(out_ptr + n + i, tl.div_rn(x, y), mask=i < n)
    tl.store(out_ptr + 2 * n + i, tl.fdiv(x, y), mask=i < n)
    tl.store(out_ptr + 3 * n + i, tl.clamp(x, -1.0, 1.5, propagate_nan=tl.PropagateNan.ALL), mask=i < n)


@triton.jit
def umulhi_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.umulhi(tl.load(x_ptr + i, mask=i < n), tl.load(y_ptr + i, mask=i < n)), mask=i < n)


def test_clamp_and_divisions(target):
    rng = np.random.default_rng(8)
    x, y = (rng.standard_normal(200).astype(np.float32) * 3 for _ in range(2))
    x[5] = np.nan
    out = np.zeros((4, 200), np.float32)
    several_kernel[(1,)](x, y, out, 200, BLOCK=256)
    kept = np.where(np.isnan(x), -1.0, np.clip(x, -1.0, 1.5)).astype(np.float32)
    np.testing.assert_array_equal(out[0], kept)
    np.testing.assert_array_equal(out[1], x / y)
    np.testing.assert_allclose(out[2], x / y, rtol=2.0**-22)
    np.testing.assert_array_equal(out[3], np.clip(x, -1.0, 1.5).astype(np.float32))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_umulhi(target, dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(9)
    x, y = (rng.integers(info.min, info.max, 100, dtype=dtype, endpoint=True) for _ in range(2))
    out = np.zeros_like(x)
    umulhi_kernel[(1,)](x, y, out, 100, BLOCK=128)
    mask = (1 << info.bits) - 1
    expected = [((int(a) & mask) * (int(b) & mask)) >> info.bits for a, b in zip(x, y)]
    np.testing.assert_array_equal(out, np.array(expected, dtype=f"uint{info.bits}").view(dtype))


@triton.jit
def root_kernel(x_ptr, out_ptr, n, ADDED: tl.constexpr, RECIPROCAL: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.abs(tl.load(x_ptr + i, mask=i < n, other=1.0).to(tl.float32)) + ADDED
    tl.store(out_ptr + i, tl.rsqrt(x) if RECIPROCAL else tl.sqrt(x), mask=i < n)


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("added", [0.0, 1e-5, -1e-12, -1e-30, 1e-38])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_roots_of_subnormal_sums(target, reciprocal, added, dtype):
    """An argument that a sum with a constant leaves subnormal counts as it is."""
    powers = np.exp2(np.arange(-149, 128, dtype=np.float64))
    near = abs(added) * (1 + np.arange(-8, 9) * 2.0**-23)
    x = torch.from_numpy(np.concatenate([powers, 1.3 * powers, near, [0]]).astype(np.float32)).to(dtype)
    out = torch.zeros(x.shape, dtype=torch.float32)
    root_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), ADDED=added, RECIPROCAL=reciprocal, BLOCK=128)
    argument = (np.abs(x.to(torch.float32).numpy()) + np.float32(added)).astype(np.float64)
    with np.errstate(all="ignore"):
        exact = 1 / np.sqrt(argument) if reciprocal else np.sqrt(argument)
    np.testing.assert_allclose(out.numpy(), exact.astype(np.float32), rtol=2.0**-22)
