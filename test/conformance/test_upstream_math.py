"""Functions of floats, and random numbers bit by bit."""
import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def math_kernel(x_ptr, out_ptr, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if F == "exp":
        y = tl.exp(x)
    elif F == "exp2":
        y = tl.exp2(x)
    elif F == "log":
        y = tl.log(x)
    elif F == "log2":
        y = tl.math.log2(x)
    elif F == "sin":
        y = tl.sin(x)
    elif F == "cos":
        y = tl.cos(x)
    elif F == "sqrt":
        y = tl.sqrt(x)
    elif F == "rsqrt":
        y = tl.rsqrt(x)
    elif F == "erf":
        y = tl.erf(x)
    elif F == "floor":
        y = tl.floor(x)
    elif F == "ceil":
        y = tl.ceil(x)
    elif F == "sigmoid":
        y = tl.sigmoid(x)
    else:
        y = tl.abs(x)
    tl.store(out_ptr + i, y)


FUNCTIONS = {"exp": math.exp, "exp2": lambda x: 2.0**x, "log": math.log, "log2": math.log2, "sin": math.sin, "cos": math.cos, "sqrt": math.sqrt,
             "rsqrt": lambda x: x**-0.5, "erf": math.erf, "floor": math.floor, "ceil": math.ceil, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "abs": abs}


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_functions(device, function, name):
    low = 0.05 if function in ("log", "log2", "sqrt", "rsqrt") else -6.0
    x = torch.from_numpy(np.random.default_rng(0).uniform(low, 6, 128)).to(getattr(torch, name)).to(device)
    out = torch.zeros_like(x)
    math_kernel[(1,)](x, out, F=function, N=128)
    right = torch.tensor([FUNCTIONS[function](v) for v in x.cpu().double().tolist()], dtype=torch.float64)
    unit = 4e-7 if name == "float32" else 4e-16
    assert ((out.cpu().double() - right).abs() <= 4 * unit * right.abs() + (unit if function in ("sin", "cos", "log", "log2", "erf") else 0)).all()


@triton.jit
def exact_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, tl.div_rn(x, y))
    tl.store(out_ptr + N + i, tl.sqrt_rn(x))
    tl.store(out_ptr + 2 * N + i, tl.fma(x, y, -x))
    tl.store(out_ptr + 3 * N + i, tl.fdiv(x, y, ieee_rounding=True))


def test_functions_that_round_once(device):
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(0.1, 9, 256).astype(np.float32) for _ in range(2))
    out = torch.zeros(4, 256, device=device)
    exact_kernel[(1,)](torch.from_numpy(x).to(device), torch.from_numpy(y).to(device), out, N=256)
    xd, yd = x.astype(np.float64), y.astype(np.float64)
    np.testing.assert_array_equal(out.cpu().numpy()[:3], np.stack([x / y, np.sqrt(x), (xd * yd - xd).astype(np.float32)]))
    np.testing.assert_allclose(out.cpu().numpy()[3], x / y, rtol=2e-7)


@triton.jit
def libdevice_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, libdevice.tanh(x))
    tl.store(out_ptr + N + i, libdevice.pow(tl.abs(x), 1.5))
    tl.store(out_ptr + 2 * N + i, libdevice.log1p(tl.abs(x)))
    tl.store(out_ptr + 3 * N + i, libdevice.atan2(x, x + 1))
    tl.store(out_ptr + 4 * N + i, libdevice.rint(x))
    tl.store(out_ptr + 5 * N + i, libdevice.trunc(x))
    tl.store(out_ptr + 6 * N + i, libdevice.isnan(x).to(tl.float32))
    tl.store(out_ptr + 7 * N + i, libdevice.expm1(x))
    tl.store(out_ptr + 8 * N + i, libdevice.fmod(x, 0.7))
    tl.store(out_ptr + 9 * N + i, libdevice.copysign(2.5, x))


def test_libdevice(device, target):
    import os
    if os.environ.get("TRITON_MEANS") == "upstream" and target == "cpu":
        pytest.skip("upstream's interpreter has no libdevice")
    x = np.random.default_rng(0).uniform(-4, 4, 64).astype(np.float32)
    x[5] = np.nan
    out = torch.zeros(10, 64, device=device)
    libdevice_kernel[(1,)](torch.from_numpy(x).to(device), out, N=64)
    d = x.astype(np.float64)
    right = [np.tanh(d), np.abs(d)**1.5, np.log1p(np.abs(d)), np.arctan2(d, d + 1), np.rint(d), np.trunc(d), np.isnan(d), np.expm1(d),
             np.fmod(x, np.float32(0.7)), np.copysign(2.5, d)]
    np.testing.assert_allclose(out.cpu().numpy(), np.stack(right), rtol=2e-6, atol=1e-6)


@triton.jit
def random_kernel(out_ptr, uniform_ptr, normal_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.randint(seed, i).to(tl.int64))
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(out_ptr + N + i, (a ^ b ^ c ^ d).to(tl.int64))
    tl.store(uniform_ptr + i, tl.rand(seed, i))
    tl.store(normal_ptr + i, tl.randn(seed, i))


def philox(seed, counter, rounds=10):
    c, k0, k1 = [counter, 0, 0, 0], seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(rounds):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k1, a & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


@pytest.mark.parametrize("seed", [0, 42, 2**31 + 5, 2**40 + 3])
def test_philox_is_exact(device, seed):
    out, uniform, normal = torch.zeros(2, 64, dtype=torch.int64, device=device), torch.zeros(64, device=device), torch.zeros(64, device=device)
    random_kernel[(1,)](out, uniform, normal, seed, N=64)
    words = [philox(seed, i) for i in range(64)]
    assert out[0].tolist() == [w[0] for w in words]
    assert out[1].tolist() == [w[0] ^ w[1] ^ w[2] ^ w[3] for w in words]
    signed = np.array([w[0] for w in words], np.uint32).view(np.int32)
    right = np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)
    np.testing.assert_array_equal(uniform.cpu().numpy(), right)
    assert ((uniform >= 0) & (uniform < 1)).all() and normal.abs().max() < 6


@triton.jit
def clamp_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 8)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.clamp(x, -1.0, 1.5))
    tl.store(out_ptr + 8 + i, tl.minimum(tl.maximum(x, -1.0), 1.5))
    tl.store(out_ptr + 16 + i, tl.where(x > 0, x, 0))


def test_clamp(device):
    x = torch.tensor([-3, -1, 0, 0.5, 1.5, 2, float("inf"), -float("inf")], device=device)
    out = torch.zeros(3, 8, device=device)
    clamp_kernel[(1,)](x, out)
    right = x.clamp(-1, 1.5)
    assert torch.equal(out, torch.stack([right, right, x.clamp(min=0)]))


@triton.jit
def umulhi_kernel(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.umulhi(tl.load(a_ptr + i), tl.load(b_ptr + i)))


@pytest.mark.parametrize("name, bits", [("int32", 32), ("int64", 64)])
def test_upper_half_of_products(device, name, bits):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 2**(bits - 1) - 1, 32).astype(name) for _ in range(2))
    out = torch.zeros(32, dtype=getattr(torch, name), device=device)
    umulhi_kernel[(1,)](torch.from_numpy(a).to(device), torch.from_numpy(b).to(device), out, N=32)
    assert out.tolist() == [int(x) * int(y) >> bits for x, y in zip(a, b)]
