"""Loads of a loop of products that are no factors as they lie: keys that are weighted once and taken as they are once, a bias of scores, elements
that no copy can bring. Whole numbers, so that every order of sums gives the same."""
import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]


def whole(*shape, seed, dtype=torch.float16):
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@triton.jit
def remembered_kernel(q, k, v, w, seen, state, n, C: tl.constexpr, K: tl.constexpr, V: tl.constexpr, IS_TURNED: tl.constexpr):
    step, key, value = tl.arange(0, C), tl.arange(0, K), tl.arange(0, V)
    total = tl.zeros((K, V), tl.float32)
    for start in range(0, n, C):
        row = start + step
        is_there = (row < n)[:, None]
        queries = tl.load(q + row[:, None] * K + key[None, :], mask=is_there, other=0.0)
        values = tl.load(v + row[:, None] * V + value[None, :], mask=is_there, other=0.0)
        weights = tl.load(w + row, mask=row < n, other=0.0)
        if IS_TURNED:
            keys = tl.load(k + row[:, None] * K + key[None, :], mask=is_there, other=0.0).T
        else:
            keys = tl.load(k + row[None, :] * K + key[:, None], mask=(row < n)[None, :], other=0.0)
        scores = tl.dot(queries, keys)
        tl.store(seen + row[:, None] * C + step[None, :], scores, mask=is_there)
        total = tl.dot((keys * weights[None, :]).to(k.dtype.element_ty), values, total)
    tl.store(state + key[:, None] * V + value[None, :], total)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("is_turned", [True, False])
@pytest.mark.parametrize("config", [(16, 128, 32, 4, 2), (32, 64, 64, 1, 2), (64, 64, 32, 8, 3), (32, 32, 64, 2, 1), (64, 128, 64, 4, 3)], ids=str)
@pytest.mark.parametrize("n", [0, 5, 150])
def test_weighted_keys(target, is_turned, config, n):
    c, k_size, v_size, warps, stages = config
    room = max(n, 1)
    q, k, v = (whole(room, size, seed=n + size) for size in (k_size, k_size, v_size))
    w = whole(room, seed=n, dtype=torch.float32)
    seen, state = torch.full((room, c), float("nan")), torch.empty(k_size, v_size)
    remembered_kernel[(1,)](q, k, v, w, seen, state, n, C=c, K=k_size, V=v_size, IS_TURNED=is_turned, num_warps=warps, num_stages=stages)
    assert torch.equal(state.double(), (k[:n].double() * w[:n, None].double()).T @ v[:n].double())
    for start in range(0, n, c):
        end = min(start + c, n)
        assert torch.equal(seen[start:end, :end - start].double(), q[start:end].double() @ k[start:end].double().T)


@triton.jit
def biased_kernel(q, k, v, bias, out, n, stride, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, ADDS: tl.constexpr):
    row, key, place = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    queries = tl.load(q + row[:, None] * D + place[None, :])
    total = tl.zeros((M, D), tl.float32)
    at_bias = bias + row[:, None] * stride + key[None, :]
    for start in range(0, n, N):
        at = start + key
        scores = tl.dot(queries, tl.load(k + place[:, None] + at[None, :] * D, mask=(at < n)[None, :], other=0.0))
        offset = tl.load(at_bias, mask=(at < n)[None, :], other=0.0)
        scores = scores + offset if ADDS else tl.where(offset > 0, scores, offset)
        total = tl.dot(scores.to(v.dtype.element_ty), tl.load(v + at[:, None] * D + place[None, :], mask=(at < n)[:, None], other=0.0), total)
        at_bias += N
    tl.store(out + row[:, None] * D + place[None, :], total)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("config", [(128, 64, 32, 4, 2), (128, 64, 16, 8, 2), (64, 32, 32, 2, 3), (128, 16, 32, 4, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("n", [3, 160])
def test_biased_scores(target, adds, config, dtype, n):
    m, block, d, warps, stages = config
    q, k, v = whole(m, d, seed=1), whole(n, d, seed=2), whole(n, d, seed=3)
    stride = n + 16 - n % 16
    bias, out = whole(m, stride, seed=4, dtype=dtype), torch.empty(m, d)
    biased_kernel[(1,)](q, k, v, bias, out, n, stride, M=m, N=block, D=d, ADDS=adds, num_warps=warps, num_stages=stages)
    scores, offset = q.double() @ k.double().T, bias[:, :n].double()
    scores = scores + offset if adds else torch.where(offset > 0, scores, offset)
    assert torch.equal(out.double(), scores @ v.double())


@triton.jit
def gathered_kernel(a, b, at, scale, out, n, stride, M: tl.constexpr, N: tl.constexpr, C: tl.constexpr):
    m, column, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, C)
    rows = tl.load(at + m)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, n, C):
        depth = start + k
        x = tl.load(a + rows[:, None] + depth[None, :] * stride, mask=(depth < n)[None, :], other=0.0)
        y = tl.load(b + depth[:, None] + column[None, :] * n, mask=(depth < n)[:, None], other=0.0)
        total += tl.dot(x, y) * tl.load(scale + start // C)
    tl.store(out + m[:, None] * N + column[None, :], total)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("config", [(64, 64, 32, 4, 2), (16, 64, 32, 1, 4), (64, 16, 16, 4, 3), (128, 32, 16, 8, 3), (32, 64, 64, 2, 2)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("n", [1, 32, 144])
def test_gathered_elements(target, config, dtype, n):
    m, columns, block, warps, stages = config
    stride = 200
    a, b = whole(n, stride, seed=1, dtype=dtype), whole(columns, n, seed=2, dtype=dtype)
    at = torch.randperm(stride, generator=torch.Generator().manual_seed(m))[:m].to(torch.int32)
    scale, out = torch.arange(1, 12).float(), torch.empty(m, columns)
    gathered_kernel[(1,)](a, b, at, scale, out, n, stride, M=m, N=columns, C=block, num_warps=warps, num_stages=stages)
    factor = torch.arange(n) // block + 1
    assert torch.equal(out.double(), a.double()[:, at.long()].T @ (b.double() * factor).T)
