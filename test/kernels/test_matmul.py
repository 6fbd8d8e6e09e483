import pytest
import torch

from contract import FLOATS, assert_close, assert_same, name_of, random, rounding_of_factors
from kernels.matmul import matmul

SHAPES = [(1, 1, 1), (31, 33, 17), (32, 32, 16), (33, 31, 15), (64, 96, 48), (37, 41, 43), (5, 97, 64)]
BLOCKS = dict(block_m=32, block_n=32, block_k=16, group=2)


def check(a, b, c, **blocks):
    matmul(a, b, c, **blocks)
    rounding = rounding_of_factors(a.dtype)
    a, b = a.double(), b.double()
    # N15, and the products' own roundings
    error = ((a.shape[1] + 2) * 2.0**-23 + rounding) * (a.abs() @ b.abs())
    assert_close(c, a @ b, error=error)


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_shapes(target, shape, dtype):
    M, N, K = shape
    a, b = random(M, K, dtype=dtype, seed=1), random(K, N, dtype=dtype, seed=2)
    check(a, b, torch.full((M, N), -1, dtype=dtype), **BLOCKS)


@pytest.mark.parametrize("blocks", [(16, 16, 16), (48, 24, 8), (64, 16, 32), (7, 5, 3)], ids=str)
def test_tiles_of_any_extent(target, blocks):
    a, b = random(50, 60, seed=3), random(60, 70, seed=4)
    check(a, b, torch.zeros(50, 70), block_m=blocks[0], block_n=blocks[1], block_k=blocks[2], group=3)


def test_transposed_operands(target):
    a, b = random(40, 35, seed=5).T, random(45, 40, seed=6).T
    check(a, b, torch.zeros(35, 45), **BLOCKS)


def test_result_in_another_type(target):
    a, b = random(33, 20, dtype=torch.float16, seed=7), random(20, 34, dtype=torch.float16, seed=8)
    check(a, b, torch.zeros(33, 34), **BLOCKS)


def test_no_columns_to_sum(target):
    c = matmul(torch.zeros(5, 0), torch.zeros(0, 6), torch.full((5, 6), 3.0), **BLOCKS)
    assert_same(c, torch.zeros(5, 6))


def test_small_integers_are_exact(target):
    generator = torch.Generator().manual_seed(9)
    a = torch.randint(-8, 9, (40, 50), generator=generator).float()
    b = torch.randint(-8, 9, (50, 45), generator=generator).float()
    assert_same(matmul(a, b, torch.zeros(40, 45), **BLOCKS), a @ b)
