import numpy as np
import pytest
import torch

import philox
from contract import FLOATS, assert_close, assert_same, name_of, random
from kernels.residual_layernorm_dropout import residual_layernorm_dropout

SHAPES = [(0, 8), (1, 1), (2, 63), (2, 64), (3, 65), (2, 211)]


def kept(shape, p, seed):
    """What Philox keeps, computed by the oracle."""
    offsets = np.arange(shape[0] * shape[1])
    return torch.from_numpy(philox.rand(seed, offsets) > np.float32(p)).reshape(shape)


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_equals_the_chain(target, shape, dtype):
    columns, p, seed = shape[1], 0.3, 1234
    x, residual = random(*shape, dtype=dtype, seed=1), random(*shape, dtype=dtype, seed=2)
    weight, bias = random(columns, dtype=dtype, seed=3), random(columns, dtype=dtype, seed=4)
    h, out = torch.zeros_like(x), torch.zeros_like(x)
    residual_layernorm_dropout(x, residual, weight, bias, h, out, p, seed)

    assert_same(h, x + residual)
    # inside of the kernel h is not rounded to the type: the reference adds in f32
    exact = (x.float() + residual.float()).double()
    normed = torch.nn.functional.layer_norm(exact, (columns,), weight.double(), bias.double(), 1e-5)
    expected = torch.where(kept(shape, p, seed), normed / (1 - np.float64(np.float32(p))), 0.0)
    rstd = 1 / torch.sqrt(exact.var(dim=1, unbiased=False, keepdim=True) + 1e-5)
    error = 2.0**-24 * (columns + 32) * 8 * (rstd * weight.double().abs() * 4 + 2) if shape[0] else 0.0
    assert_close(out, expected, error=error)
    assert ((out == 0) | kept(shape, p, seed)).all()


@pytest.mark.parametrize("p", [0.0, 0.5, 0.9])
def test_share_of_zeros(target, p):
    x = torch.ones(8, 100) + random(8, 100, seed=5)
    out = torch.zeros_like(x)
    residual_layernorm_dropout(x, x, torch.ones(100), torch.ones(100), torch.zeros_like(x), out, p, 99)
    assert_same(out != 0, kept((8, 100), p, 99) & (out != 0))
    assert abs((out == 0).double().mean().item() - p) < 0.06
