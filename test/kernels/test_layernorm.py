import pytest
import torch

from contract import FLOATS, assert_close, name_of, random
from kernels.layernorm import layernorm

SHAPES = [(0, 7), (1, 1), (3, 127), (2, 128), (5, 129), (2, 211), (1, 700)]


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_equals_torch(target, shape, dtype):
    rows, columns = shape
    x = (random(rows, columns, dtype=torch.float64, seed=1) * 2 + 0.5).to(dtype)
    weight, bias = random(columns, dtype=dtype, seed=2), random(columns, dtype=dtype, seed=3)
    mean, rstd = torch.zeros(rows), torch.zeros(rows)
    out = layernorm(x, weight, bias, torch.zeros_like(x), mean, rstd)

    expected = torch.nn.functional.layer_norm(x.double(), (columns,), weight.double(), bias.double(), 1e-5)
    size = (x.double().abs().max() if rows else 1.0)
    expected_rstd = 1 / torch.sqrt(x.double().var(dim=1, unbiased=False) + 1e-5)
    noise = 2.0**-24 * (columns + 16)
    # the mean is off by noise*size, which rstd and weight magnify
    error = noise * size * (expected_rstd[:, None] * weight.double().abs() * 4 + 1) if rows else 0.0
    assert_close(mean, x.double().mean(dim=1), error=noise * size)
    assert_close(rstd, expected_rstd, error=noise * expected_rstd * 8 * (1 + size * expected_rstd))
    assert_close(out, expected, error=error)
