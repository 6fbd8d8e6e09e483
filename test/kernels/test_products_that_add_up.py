"""Chunks of linear attention in f32: two products add to one result, of which one takes factors that are computed, and a third one the state."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def chunks_kernel(q, k, v, out, trips, C: tl.constexpr, K: tl.constexpr, V: tl.constexpr):
    r, i, j = tl.arange(0, C), tl.arange(0, K), tl.arange(0, V)
    state = tl.zeros((K, V), tl.float32)
    for trip in range(trips):
        row = trip * C + r
        query = tl.load(q + row[:, None] * K + i[None, :])
        key = tl.load(k + row[None, :] * K + i[:, None])
        value = tl.load(v + row[:, None] * V + j[None, :])
        weights = tl.where(r[:, None] >= r[None, :], tl.dot(query, key), 0.0)
        tl.store(out + row[:, None] * V + j[None, :], tl.dot(query, state) + tl.dot(weights, value))
        state += tl.dot(key, value)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("C, K, V", [(32, 32, 64), (64, 32, 64), (16, 64, 128)])
def test_chunks(target, warps, stages, C, K, V):
    generator = torch.Generator().manual_seed(C + K + V)
    trips = 3
    q, k, v = (torch.randint(-2, 3, (trips * C, columns), generator=generator).float() for columns in (K, K, V))
    out = torch.full((trips * C, V), float("nan"))
    chunks_kernel[(1,)](q, k, v, out, trips, C=C, K=K, V=V, num_warps=warps, num_stages=stages)
    weights = torch.tril(q.double() @ k.double().T)  # whole numbers, of which tf32 holds all
    assert torch.equal(out.double(), weights @ v.double())
