"""tl.dot of single tiles, of any extent and type (N15)."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_close, assert_same, name_of, random


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


SHAPES = [(1, 1, 1), (1, 5, 3), (16, 16, 16), (17, 31, 13), (32, 64, 8), (6, 64, 33), (3, 100, 48)]


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
    if form == "accumulate":
        exact = exact + c.double()
    if form == "epilogue":
        # the sum of a row is in the type of a
        unit = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
        error = error + K * unit * a.double().abs().sum(dim=1, keepdim=True)
        exact = torch.clamp(exact * 0.5 + a.double().sum(dim=1, keepdim=True), min=0)
    assert_close(out, exact, error=error)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_int8_is_exact(target, shape):
    M, N, K = shape
    rng = np.random.default_rng(4)
    a, b = rng.integers(-128, 128, (M, K), dtype=np.int8), rng.integers(-128, 128, (K, N), dtype=np.int8)
    out = np.zeros((M, N), dtype=np.int32)
    integer_dot_kernel[(1,)](a, b, out, M=M, N=N, K=K)
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


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


def test_small_integers_in_f32_are_exact(target):
    generator = torch.Generator().manual_seed(7)
    a = torch.randint(-9, 10, (20, 30), generator=generator).float()
    b = torch.randint(-9, 10, (30, 40), generator=generator).float()
    out = torch.zeros(20, 40)
    integer_dot_kernel[(1,)](a, b, out, M=20, N=40, K=30)
    assert_same(out, a @ b)
