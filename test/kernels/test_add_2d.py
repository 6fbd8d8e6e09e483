import pytest
import torch

from contract import FLOATS, assert_same, name_of, random
from kernels.add_2d import add_2d

SHAPES = [(0, 5), (1, 1), (15, 63), (16, 64), (17, 65), (3, 211), (97, 2)]


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_contiguous(target, shape, dtype):
    x, y = random(*shape, dtype=dtype, seed=1), random(*shape, dtype=dtype, seed=2)
    assert_same(add_2d(x, y, torch.zeros(shape, dtype=dtype)), x + y)


@pytest.mark.parametrize("shape", [(17, 65), (31, 7)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_transposed_sliced_and_broadcast(target, shape):
    rows, columns = shape
    transposed = random(columns, rows, seed=3).T
    sliced = random(2 * rows, 3 * columns, seed=4)[::2, ::3]
    row = random(1, columns, seed=5).expand(rows, columns)
    assert_same(add_2d(transposed, sliced, torch.zeros(shape)), transposed + sliced)
    assert_same(add_2d(row, sliced, torch.zeros(shape)), row + sliced)


def test_strided_output_leaves_its_gaps(target):
    x, y = random(20, 30, seed=6), random(20, 30, seed=7)
    whole = torch.full((40, 60), -3.0)
    out = whole[1::2, ::2]
    add_2d(x, y, out)
    assert_same(out.contiguous(), x + y)
    assert (whole[::2] == -3.0).all() and (whole[:, 1::2] == -3.0).all()


def test_odd_tiles(target):
    x, y = random(50, 70, seed=8), random(50, 70, seed=9)
    assert_same(add_2d(x, y, torch.zeros(50, 70), block_r=5, block_c=24), x + y)
