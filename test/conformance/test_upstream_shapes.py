"""Shapes: spreading, indices of None, reshapes, permutations, joins, gathers, ranges."""
import numpy as np
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def spread_kernel(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + m)
    y = tl.load(y_ptr + n)
    z = x[:, None] * 100 + y[None, :]
    tl.static_assert(z.shape[0] == M and z.shape[1] == N)
    w = x.expand_dims(1) * 100 + tl.expand_dims(y, 0)
    u = tl.broadcast_to(x[:, None], (M, N)) * 100 + tl.broadcast_to(y[None, :], M, N)
    at = m[:, None] * N + n
    tl.store(out_ptr + at, z)
    tl.store(out_ptr + M * N + at, w)
    tl.store(out_ptr + 2 * M * N + at, u)


def test_spreading(device):
    x, y = torch.arange(4, dtype=torch.int32, device=device), torch.arange(8, dtype=torch.int32, device=device)
    out = torch.zeros(3, 4, 8, dtype=torch.int32, device=device)
    spread_kernel[(1,)](x, y, out, M=4, N=8)
    assert torch.equal(out, (x[:, None] * 100 + y).expand(3, 4, 8))


@triton.jit
def reshape_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i)
    y = tl.reshape(x, (4, 16))
    z = y.reshape(8, 8).trans()
    w = tl.permute(x.reshape([2, 4, 8]), (2, 0, 1))
    v = tl.trans(x.reshape(2, 4, 8), 1, 0, 2)
    tl.store(out_ptr + i, tl.ravel(y))
    tl.store(out_ptr + 64 + i, tl.reshape(z, 64))
    tl.store(out_ptr + 128 + i, w.reshape(64))
    tl.store(out_ptr + 192 + i, v.reshape(64))
    tl.store(out_ptr + 256 + i, tl.reshape(x.reshape(16, 4).T, (64,)))
    tl.store(out_ptr + 320 + i, x.reshape(1, 64, 1).reshape(64))


def test_reshapes_keep_the_order_of_rows(device):
    x = torch.arange(64, dtype=torch.int32, device=device)
    out = torch.zeros(6, 64, dtype=torch.int32, device=device)
    reshape_kernel[(1,)](x, out)
    c = x.cpu()
    right = [c, c.reshape(8, 8).T, c.reshape(2, 4, 8).permute(2, 0, 1), c.reshape(2, 4, 8).permute(1, 0, 2), c.reshape(16, 4).T, c]
    assert torch.equal(out.cpu(), torch.stack([r.reshape(64) for r in right]))


@triton.jit
def join_kernel(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 16)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    z = tl.join(x, y)
    tl.static_assert(z.shape[0] == 16 and z.shape[1] == 2)
    tl.store(out_ptr + tl.arange(0, 32), z.reshape(32))
    tl.store(out_ptr + 32 + tl.arange(0, 32), tl.interleave(x, y))
    a, b = tl.split(tl.load(x_ptr + i).reshape(8, 2))
    tl.store(out_ptr + 64 + tl.arange(0, 8), a)
    tl.store(out_ptr + 72 + tl.arange(0, 8), b)
    tl.store(out_ptr + 80 + i, tl.flip(x, 0))
    tl.store(out_ptr + 96 + i, tl.flip(x.reshape(4, 4), 1).reshape(16))
    s, t = tl.split(tl.join(tl.load(x_ptr + 3), tl.load(y_ptr + 3)))
    tl.store(out_ptr + 112, s - t)


def test_joins_and_splits(device):
    x, y = torch.arange(16, dtype=torch.int32, device=device), torch.arange(100, 116, dtype=torch.int32, device=device)
    out = torch.zeros(113, dtype=torch.int32, device=device)
    join_kernel[(1,)](x, y, out)
    a, b = x.cpu(), y.cpu()
    both = torch.stack([a, b], 1).reshape(32)
    right = [both, both, a[::2], a[1::2], a.flip(0), a.reshape(4, 4).flip(1).reshape(16), torch.tensor([-100])]
    assert torch.equal(out.cpu(), torch.cat(right).int())


@triton.jit
def cat_kernel(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 8)
    z = tl.cat(tl.load(x_ptr + i), tl.load(y_ptr + i), can_reorder=True)
    tl.static_assert(z.shape[0] == 16)
    tl.store(out_ptr + tl.arange(0, 16), tl.sort(z))


def test_cat_has_all_elements(device):
    x, y = torch.arange(8, dtype=torch.int32, device=device), torch.arange(8, 16, dtype=torch.int32, device=device)
    out = torch.zeros(16, dtype=torch.int32, device=device)
    cat_kernel[(1,)](x, y, out)
    assert out.tolist() == list(range(16))


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.gather(tl.load(x_ptr + at), tl.load(index_ptr + at), AXIS))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(device, axis):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(8, 16))).float().to(device)
    index = torch.from_numpy(rng.integers(0, (8, 16)[axis], (8, 16))).int().to(device)
    out = torch.zeros_like(x)
    gather_kernel[(1,)](x, index, out, AXIS=axis, M=8, N=16)
    assert torch.equal(out, torch.gather(x, axis, index.long()))


@triton.jit
def ranges_kernel(out_ptr):
    tl.store(out_ptr + tl.arange(0, 8), tl.arange(8, 16))
    tl.store(out_ptr + 8 + tl.arange(0, 4), tl.arange(3, 7))
    x = tl.arange(0, 4)
    tl.static_assert(x.dtype == tl.int32)
    tl.store(out_ptr + 12 + x, tl.full((4,), 7, tl.int64))
    tl.store(out_ptr + 16 + x, tl.zeros([4], tl.int8))
    tl.store(out_ptr + 20 + x, tl.zeros_like(x) + 1)
    tl.store(out_ptr + 24 + x, tl.full([4], 3.0, tl.float16))


def test_ranges_and_constants(device):
    out = torch.full((28,), -1, dtype=torch.int64, device=device)
    ranges_kernel[(1,)](out)
    assert out.tolist() == [*range(8, 16), *range(3, 7), *[7] * 4, *[0] * 4, *[1] * 4, *[3] * 4]


@triton.jit
def swizzle_kernel(out_ptr, M, N, G):
    i, j = tl.program_id(0), tl.program_id(1)
    a, b = tl.swizzle2d(i, j, M, N, G)
    tl.store(out_ptr + (i * N + j) * 2, a)
    tl.store(out_ptr + (i * N + j) * 2 + 1, b)


@pytest.mark.parametrize("shape", [(4, 6, 2), (5, 3, 2), (3, 4, 8)], ids=str)
def test_swizzle_visits_every_tile_once(device, shape):
    m, n, g = shape
    out = torch.zeros(m * n, 2, dtype=torch.int32, device=device)
    swizzle_kernel[(m, n)](out, m, n, g)
    order = []
    for first in range(0, m, g):
        size = min(g, m - first)
        order += [[first + k % size, k // size] for k in range(size * n)]
    assert out.tolist() == order


@triton.jit
def three_kernel(x_ptr, out_ptr):
    a, b, c = tl.arange(0, 2), tl.arange(0, 4), tl.arange(0, 8)
    at = a[:, None, None] * 32 + b[None, :, None] * 8 + c[None, None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + b[:, None] * 8 + c[None, :], tl.sum(x, 0))
    tl.store(out_ptr + 32 + a[:, None] * 8 + c[None, :], tl.max(x, axis=1))
    tl.store(out_ptr + 48 + a[:, None] * 4 + b[None, :], tl.min(x, axis=2))
    y = x[:, :, None, :]
    tl.static_assert(y.shape[2] == 1)
    tl.store(out_ptr + 56 + a, tl.sum(tl.sum(x, 2), 1))


def test_three_dimensions(device):
    x = (torch.arange(64) * 37 % 41).int().reshape(2, 4, 8).to(device)
    out = torch.zeros(58, dtype=torch.int32, device=device)
    three_kernel[(1,)](x, out)
    c = x.cpu()
    right = [c.sum(0).ravel(), c.amax(1).ravel(), c.amin(2).ravel(), c.sum((1, 2))]
    assert torch.equal(out.cpu(), torch.cat(right).int())
