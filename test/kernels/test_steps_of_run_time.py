"""Loops of products whose step is a number of run time, of programs say: their loads run ahead as others' do."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def split_kernel(a, b, c, blocks, step, B: tl.constexpr, K: tl.constexpr, OF_GRID: tl.constexpr):
    row, column, depth = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :], tl.arange(0, K)
    acc = tl.zeros([B, B], tl.float32)
    for k in range(tl.program_id(0), blocks, tl.num_programs(0) if OF_GRID else step):
        x = tl.load(a + row * (blocks * K) + k * K + depth[None, :])
        y = tl.load(b + (k * K + depth[:, None]) * B + column)
        acc += tl.dot(x, y)
    tl.store(c + tl.program_id(0) * B * B + row * B + column, acc)


@pytest.mark.parametrize("of_grid", [True, False])
@pytest.mark.parametrize("blocks, parts", [(1, 1), (1, 3), (7, 2), (8, 4)])
@pytest.mark.parametrize("block, warps", [(16, 1), (64, 4)])
def test_parts_add_up(target, block, warps, blocks, parts, of_grid):
    depth = 32
    a, b = torch.randn(block, blocks * depth).half(), torch.randn(blocks * depth, block).half()
    c = torch.full((parts, block, block), float("nan"))
    split_kernel[(parts,)](a, b, c, blocks, parts, B=block, K=depth, OF_GRID=of_grid, num_warps=warps, num_stages=3)
    torch.testing.assert_close(c.sum(0), a.float() @ b.float(), rtol=1e-3, atol=2e-2)
