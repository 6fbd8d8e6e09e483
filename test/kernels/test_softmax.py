"""The three softmax kernels: one tile a row, three passes, online in two."""
import pytest
import torch

from contract import FLOATS, assert_close, name_of, random
from kernels.softmax import softmax
from kernels.softmax_online import softmax_online
from kernels.softmax_wide import softmax_wide

KERNELS = [softmax, softmax_wide, softmax_online]
# f32: 2 ulp of exp on both sides of the quotient, n roundings in the sum (N14); all terms are positive.
RELATIVE = 2.0**-24


def reference(x):
    return torch.softmax(x.double(), dim=1)


def check(kernel, x):
    out = kernel(x, torch.full(x.shape, -1.0, dtype=x.dtype))
    expected = reference(x)
    # x - max is rounded once, which moves exp by |x - max| half ulps
    spread = (x.double() - x.double().amax(dim=1, keepdim=True)).abs() if x.numel() else 0.0
    spread = torch.where(torch.isfinite(spread), spread, 0.0) if x.numel() else 0.0
    error = expected * RELATIVE * (x.shape[1] + 16 + spread) + 2.0**-149
    assert_close(out, expected, error=error)


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("columns", [1, 2, 63, 64, 65, 97, 211])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_rows(target, kernel, columns, dtype):
    check(kernel, random(3, columns, dtype=dtype, seed=columns, scale=4))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_no_rows(target, kernel):
    out = kernel(torch.zeros(0, 16), torch.zeros(0, 16))
    assert out.shape == (0, 16)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_more_columns_than_a_tile(target, kernel):
    check(kernel, random(2, 1031, seed=1, scale=8))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_large_values_do_not_overflow(target, kernel):
    check(kernel, random(2, 50, seed=2, scale=1e4))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_minus_infinity_is_probability_zero(target, kernel):
    x = random(2, 50, seed=3)
    x[:, 10:20] = -torch.inf
    check(kernel, x)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_rows_apart_in_memory(target, kernel):
    whole = random(6, 100, seed=4)
    check(kernel, whole[::2, :33])
