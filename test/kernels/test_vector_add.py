import numpy as np
import pytest
import torch

from contract import FLOATS, assert_same, name_of, random, sizes_around
from kernels.vector_add import add, add_kernel

BLOCK = 128


@pytest.mark.parametrize("dtype", FLOATS + [torch.float64], ids=name_of)
@pytest.mark.parametrize("n", sizes_around(BLOCK))
def test_equals_torch(target, n, dtype):
    x, y = random(n, dtype=dtype, seed=1), random(n, dtype=dtype, seed=2)
    out = add(x, y, torch.full((n,), -1, dtype=dtype), block=BLOCK)
    assert_same(out, x + y)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8], ids=name_of)
def test_integers_wrap(target, dtype):
    """N1"""
    n, info = 211, torch.iinfo(dtype)
    generator = torch.Generator().manual_seed(3)
    x, y = (torch.randint(info.min, info.max, (n,), generator=generator, dtype=dtype) for _ in range(2))
    assert_same(add(x, y, torch.zeros_like(x), block=BLOCK), x + y)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_numpy_arrays(target, dtype):
    n = 1009
    rng = np.random.default_rng(4)
    x, y = ((rng.standard_normal(n) * 100).astype(dtype) for _ in range(2))
    out = np.empty_like(x)
    add(x, y, out, block=BLOCK)
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("block", [1, 3, 48, 80, 257, 32768])
def test_blocks_of_any_extent(target, block):
    x, y = random(500, seed=5), random(500, seed=6)
    assert_same(add(x, y, torch.zeros(500), block=block), x + y)


def test_writes_nothing_beyond_the_mask(target):
    """M17"""
    n = 100
    x, y, buffer = random(n, seed=7), random(n, seed=8), torch.full((n + 64,), 5.0)
    add_kernel[(1,)](x, y, buffer, n, BLOCK=128)
    assert_same(buffer[:n], x + y)
    assert (buffer[n:] == 5.0).all()


def test_nothing_runs_on_an_empty_grid(target):
    """P6"""
    out = torch.full((4,), 9.0)
    add_kernel[(0,)](out, out, out, 4, BLOCK=4)
    assert (out == 9.0).all()
