"""Attention that masks its scores behind an `if`, so that a loop of two products branches between them."""
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_close, random


@triton.jit
def branching_kernel(q, k, v, out, scale, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM
    m, n, d = row + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :], mask=(m < length)[:, None], other=0.0)
    x = (x * scale).to(x.dtype)
    best, total = tl.full([BM], float("-inf"), tl.float32), tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, tl.minimum(row + BM, length), BN):
        at = start + n
        s = tl.dot(x, tl.load(k + at[None, :] * D + d[:, None], mask=(at < length)[None, :], other=0.0))
        if start + BN > row:
            s = tl.where((at[None, :] < length) & (m[:, None] >= at[None, :]), s, float("-inf"))
        better = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp(s - better[:, None]), tl.exp(best - better)
        total = total * shrink + tl.sum(p, 1)
        y = tl.load(v + at[:, None] * D + d[None, :], mask=(at < length)[:, None], other=0.0)
        acc = tl.dot(p.to(y.dtype), y, acc * shrink[:, None])
        best = better
    tl.store(out + m[:, None] * D + d[None, :], (acc / total[:, None]).to(out.dtype.element_ty), mask=(m < length)[:, None])


@pytest.mark.parametrize("head, bm, bn, warps, stages", [(64, 128, 64, 8, 3), (64, 128, 64, 4, 3), (128, 128, 128, 8, 2), (32, 64, 32, 4, 2)])
@pytest.mark.parametrize("length", [384, 200])
def test_later_trips_multiply_by_the_same_factor(target, head, bm, bn, warps, stages, length):
    q, k, v = (random(length, head, dtype=torch.float16, seed=seed) for seed in (1, 2, 3))
    out = torch.full_like(q, float("nan"))
    scale = head**-0.5
    branching_kernel[(triton.cdiv(length, bm),)](q, k, v, out, scale, length, D=head, BM=bm, BN=bn, num_warps=warps, num_stages=stages)
    scores = (q.double() @ k.double().T) * scale
    seen = torch.ones(length, length, dtype=torch.bool, device=q.device).tril()
    expected = torch.softmax(scores.masked_fill(~seen, -torch.inf), dim=1) @ v.double()
    assert_close(out, expected, error=0.01)
