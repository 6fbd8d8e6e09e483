"""Recurrences that keep a tile, multiply it by lines and reduce it along either axis: each layout of it, lines loaded by several threads,
stores over what others load, a first state that is loaded and a last one that is stored."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def kept_kernel(q, k, v, first, out, last, T, K: tl.constexpr, V: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr, IS_DELTA: tl.constexpr,
                HAS_STATE: tl.constexpr):
    """The state as [K, V]: its reductions go along the slow dimension."""
    i, j = tl.arange(0, BK), tl.program_id(0) * BV + tl.arange(0, BV)
    at = i[:, None] * V + j[None, :]
    inside = (i[:, None] < K) & (j[None, :] < V)
    state = tl.zeros((BK, BV), tl.float32)
    if HAS_STATE:
        state = tl.load(first + at, mask=inside, other=0.0)
    for t in range(0, T):
        key = tl.load(k + t * K + i, mask=i < K, other=0.0).to(tl.float32)
        value = tl.load(v + t * V + j, mask=j < V, other=0.0).to(tl.float32)
        if IS_DELTA:
            value -= tl.sum(state * key[:, None], 0)
        state += key[:, None] * value[None, :]
        query = tl.load(q + t * K + i, mask=i < K, other=0.0).to(tl.float32)
        tl.store(out + t * V + j, tl.sum(state * query[:, None], 0), mask=j < V)
    if HAS_STATE:
        tl.store(last + at, state, mask=inside)


@triton.jit
def turned_kernel(q, k, v, first, out, last, T, K: tl.constexpr, V: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr, IS_DELTA: tl.constexpr,
                  HAS_STATE: tl.constexpr):
    """The state as [V, K]: they go along the fast one."""
    i, j = tl.arange(0, BK), tl.program_id(0) * BV + tl.arange(0, BV)
    at = i[None, :] * V + j[:, None]
    inside = (i[None, :] < K) & (j[:, None] < V)
    state = tl.zeros((BV, BK), tl.float32)
    if HAS_STATE:
        state = tl.load(first + at, mask=inside, other=0.0)
    for t in range(0, T):
        key = tl.load(k + t * K + i, mask=i < K, other=0.0).to(tl.float32)
        value = tl.load(v + t * V + j, mask=j < V, other=0.0).to(tl.float32)
        if IS_DELTA:
            value -= tl.sum(state * key[None, :], 1)
        state += key[None, :] * value[:, None]
        query = tl.load(q + t * K + i, mask=i < K, other=0.0).to(tl.float32)
        tl.store(out + t * V + j, tl.sum(state * query[None, :], 1), mask=j < V)
    if HAS_STATE:
        tl.store(last + at, state, mask=inside)


@triton.jit
def both_kernel(x, y, out, T, M: tl.constexpr, N: tl.constexpr):
    """Reduced along both axes in each trip."""
    i, j = tl.arange(0, M), tl.arange(0, N)
    kept = tl.zeros((M, N), tl.float32)
    for t in range(0, T):
        kept += tl.load(x + t * M + i)[:, None] * tl.load(y + t * N + j)[None, :]
        tl.store(out + t * (M + N) + i, tl.sum(kept, 1))
        tl.store(out + t * (M + N) + M + j, tl.max(kept, 0))


def kept(q, k, v, state, is_delta):
    q, k, v, state, rows = q.double(), k.double(), v.double(), state.double(), []
    for query, key, value in zip(q, k, v):
        if is_delta:
            value = value - key @ state
        state = state + key[:, None] * value[None, :]
        rows.append(query @ state)
    return torch.stack(rows), state


def whole(generator, most, *shape):
    return torch.randint(-most, most + 1, shape, generator=generator)


@pytest.mark.parametrize("kernel", [kept_kernel, turned_kernel])
@pytest.mark.parametrize("is_delta", [False, True])
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("K, V, BK, BV, dtype", [(64, 16, 64, 16, torch.float32), (16, 64, 16, 64, torch.bfloat16), (128, 8, 128, 8, torch.float16),
                                                 (40, 48, 64, 32, torch.float32), (32, 64, 32, 64, torch.float32), (13, 5, 16, 8, torch.bfloat16)])
def test_recurrences(target, kernel, is_delta, warps, K, V, BK, BV, dtype):
    generator = torch.Generator().manual_seed(K + V + warps)
    trips = 4
    q, k = whole(generator, 2, trips, K).to(dtype), whole(generator, 1, trips, K).to(dtype)
    v, first = whole(generator, 3, trips, V).to(dtype), whole(generator, 2, K, V).float()
    has_state = warps > 1
    rows, state = kept(q, k, v, first if has_state else torch.zeros(K, V), is_delta)
    out, last = torch.full((trips, V), float("nan")), torch.full((K, V), float("nan"))
    kernel[(triton.cdiv(V, BV),)](q, k, v, first, out, last, trips, K=K, V=V, BK=BK, BV=BV, IS_DELTA=is_delta, HAS_STATE=has_state, num_warps=warps)
    assert torch.equal(out.double(), rows)
    if has_state:
        assert torch.equal(last.double(), state)


@pytest.mark.parametrize("kernel", [kept_kernel, turned_kernel])
@pytest.mark.parametrize("warps", [1, 4])
def test_rows_stored_over_what_the_trip_has_loaded(target, kernel, warps):
    generator = torch.Generator().manual_seed(warps)
    K, V, trips = 32, 32, 4
    q, k, v = whole(generator, 2, trips, K).float(), whole(generator, 1, trips, K).float(), whole(generator, 3, trips, V).float()
    for reused in ("v", "k"):
        arguments = {"q": q.clone(), "k": k.clone(), "v": v.clone()}
        rows, _ = kept(q, k, v, torch.zeros(K, V), True)
        kernel[(1,)](*arguments.values(), q, arguments[reused], q, trips, K=K, V=V, BK=K, BV=V, IS_DELTA=True, HAS_STATE=False, num_warps=warps)
        assert torch.equal(arguments[reused].double(), rows)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("M, N", [(64, 16), (16, 64), (32, 32)])
def test_reductions_along_both_axes(target, warps, M, N):
    generator = torch.Generator().manual_seed(M)
    trips = 3
    x, y = whole(generator, 3, trips, M).float(), whole(generator, 3, trips, N).float()
    out = torch.full((trips, M + N), float("nan"))
    both_kernel[(1,)](x, y, out, trips, M=M, N=N, num_warps=warps)
    kept_tile = torch.zeros(M, N)
    for t in range(trips):
        kept_tile += x[t][:, None] * y[t][None, :]
        assert torch.equal(out[t], torch.cat([kept_tile.sum(1), kept_tile.max(0).values]))
