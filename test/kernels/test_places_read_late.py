"""The place of a program may first be read inside of loops around products: behind them it is the same, and so is what it was made of."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def late_kernel(x, out, sums, tiles, trips, stored, D: tl.constexpr):
    at = tl.arange(0, D)[:, None] * D + tl.arange(0, D)[None, :]
    total = tl.zeros((D, D), tl.float32)
    for tile in range(tiles):
        acc = tl.zeros((D, D), tl.float32)
        for trip in range(trips):
            a = tl.load(x + (tile * trips + trip) * D * D + at)
            acc = tl.dot(a, a, acc)
        if tile < stored:  # a place that only some trips read is not read ahead of the loop
            tl.store(out + ((tl.program_id(1) * 2 + tl.program_id(0)) * tiles + tile) * D * D + at, acc)
        total += acc
    tl.store(sums + (tl.program_id(1) * 2 + tl.program_id(0)) * D * D + at, total)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("size", [16, 64, 128])
def test_the_place_is_the_same_behind_the_loops(target, size, num_warps):
    tiles, trips, stored = 3, 2, 2
    x = torch.randint(-2, 3, (tiles * trips, size, size)).to(torch.float16)
    out, sums = torch.zeros(3, 2, tiles, size, size), torch.zeros(3, 2, size, size)
    late_kernel[(2, 3)](x, out, sums, tiles, trips, stored, D=size, num_warps=num_warps)
    products = (x.float() @ x.float()).view(tiles, trips, size, size).sum(1)
    torch.testing.assert_close(out[:, :, :stored], products[:stored].expand(3, 2, -1, -1, -1))
    assert not out[:, :, stored:].any()
    torch.testing.assert_close(sums, products.sum(0).expand(3, 2, -1, -1))
