import numpy as np
import pytest
import torch

import philox
from contract import FLOATS, assert_close, name_of, random, sizes_around
from kernels.gelu_dropout import gelu_dropout

BLOCK = 128


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("n", sizes_around(BLOCK))
def test_equals_torch(target, n, dtype):
    p, seed = 0.25, 42
    x = random(n, dtype=dtype, seed=n, scale=2)
    out = gelu_dropout(x, torch.full((n,), 7, dtype=dtype), p, seed, block=BLOCK)
    keep = torch.from_numpy(philox.rand(seed, np.arange(n)) > np.float32(p))
    exact = torch.nn.functional.gelu(x.double())
    expected = torch.where(keep, exact / (1 - p), 0.0)
    # 1 + erf is off by 2 ulp of 1 where it cancels
    assert_close(out, expected, error=x.double().abs() * 2.0**-22 + expected.abs() * 2.0**-21)


def test_values_where_erf_saturates(target):
    x = torch.tensor([-1e30, -20.0, -6.0, -0.0, 0.0, 1e-30, 6.0, 20.0, 1e30])
    out = gelu_dropout(x, torch.zeros_like(x), 0.0, 1, block=16)
    keep = torch.from_numpy(philox.rand(1, np.arange(9)) > np.float32(0))
    expected = torch.where(keep, torch.nn.functional.gelu(x.double()), 0.0)
    assert_close(out, expected, error=x.double().abs() * 2.0**-22)
