import pytest
import torch

from contract import FLOATS, assert_close, assert_same, name_of, random
from kernels.gemv import gemv

SHAPES = [(1, 1), (4, 64), (5, 63), (3, 65), (17, 211), (8, 512)]


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_equals_torch(target, shape, dtype):
    N, K = shape
    w, x = random(N, K, dtype=dtype, seed=1), random(K, dtype=dtype, seed=2)
    y = gemv(w, x, torch.full((N,), 7, dtype=dtype), block_n=4, block_k=64)
    w, x = w.double(), x.double()
    assert_close(y, w @ x, error=(K + 2) * 2.0**-23 * (w.abs() @ x.abs()))


@pytest.mark.parametrize("blocks", [(1, 256), (16, 32), (2, 512)], ids=str)
def test_small_integers_are_exact(target, blocks):
    generator = torch.Generator().manual_seed(3)
    w = torch.randint(-8, 9, (40, 300), generator=generator).float()
    x = torch.randint(-8, 9, (300,), generator=generator).float()
    assert_same(gemv(w, x, torch.zeros(40), block_n=blocks[0], block_k=blocks[1]), w @ x)


def test_rows_apart_in_memory(target):
    w, x = random(20, 300, seed=4)[::2, :100], random(100, seed=5)
    y = gemv(w, x, torch.zeros(10), block_k=128)
    assert_close(y, w.double() @ x.double(), error=102 * 2.0**-23 * (w.double().abs() @ x.double().abs()))
