"""Loops of products that are unrolled as their user asks: all numbers of trips, also none and fewer than the factor."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def product_kernel(a, b, o, first, n, F: tl.constexpr, STAGES: tl.constexpr, B: tl.constexpr, UNSIGNED: tl.constexpr = False):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    acc = tl.zeros((B, B), tl.float32)
    last = -1
    if UNSIGNED:
        first, n = first.to(tl.uint32, bitcast=True), n.to(tl.uint32, bitcast=True)
    for s in tl.range(first, n, loop_unroll_factor=F, num_stages=STAGES):
        acc += tl.dot(tl.load(a + (s * B + i) * B + j), tl.load(b + (s * B + i) * B + j)) * (s + 1)
        last = s.to(tl.int32)
    tl.store(o + i * B + j, acc + last)


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("factor, first, n", [(2, 0, 0), (4, 0, 3), (4, 1, 5), (3, 0, 8), (2, 3, 10), (8, 2, 9), (4, 9, 2)])
def test_all_numbers_of_trips(target, factor, first, n, stages, unsigned):
    block = 16
    a, b = torch.randn(10, block, block).half(), torch.randn(10, block, block).half()
    o = torch.full((block, block), float("nan"))
    product_kernel[(1,)](a, b, o, first, n, F=factor, STAGES=stages, B=block, UNSIGNED=unsigned, num_warps=1)
    weights = torch.arange(1, 11, dtype=torch.float32)[first:n, None, None]
    wanted = (a[first:n].float() @ b[first:n].float() * weights).sum(0) + (n - 1 if n > first else -1)
    torch.testing.assert_close(o, wanted, rtol=1e-3, atol=5e-2)
