"""Ops that move elements and compute nothing: exact by definition."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * C + c[None, :])
    tl.store(out_ptr + c[:, None] * R + r[None, :], tl.trans(x))


@triton.jit
def reshape_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R * C)
    x = tl.load(x_ptr + i)
    tile = tl.reshape(x, [R, C])
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    tl.store(out_ptr + c[None, :] * R + r[:, None], tile)


@triton.jit
def join_split_kernel(x_ptr, y_ptr, joined_ptr, sum_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    pair = tl.join(tl.load(x_ptr + i), tl.load(y_ptr + i))
    k = tl.arange(0, 2)
    tl.store(joined_ptr + 2 * i[:, None] + k[None, :], pair)
    x, y = tl.split(pair)
    tl.store(sum_ptr + i, x - 2 * y)


@triton.jit
def broadcast_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    row = tl.load(x_ptr + c)
    tile = tl.broadcast_to(row[None, :], [R, C])
    tile += tl.expand_dims(r, 1)
    tl.store(out_ptr + r[:, None] * C + c[None, :], tile)


@triton.jit
def where_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    tl.store(out_ptr + r * C + c, tl.where(r < c, tl.load(x_ptr + c), -r))


SHAPES = [(1, 1), (1, 8), (8, 1), (3, 5), (16, 16), (12, 20), (7, 48), (33, 17)]


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transpose(target, shape, dtype):
    x = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    out = np.zeros(shape[::-1], dtype=dtype)
    transpose_kernel[(1,)](x, out, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reshape_keeps_row_major_order(target, shape):
    x = np.arange(shape[0] * shape[1], dtype=np.float32)
    out = np.zeros(shape[::-1], dtype=np.float32)
    reshape_kernel[(1,)](x, out, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(out, x.reshape(shape).T)


@pytest.mark.parametrize("n", [1, 2, 5, 16, 48, 100])
def test_join_and_split(target, n):
    x, y = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32) * 10 + 7
    joined, combined = np.zeros((n, 2), dtype=np.int32), np.zeros(n, dtype=np.int32)
    join_split_kernel[(1,)](x, y, joined, combined, N=n)
    np.testing.assert_array_equal(joined, np.stack([x, y], axis=1))
    np.testing.assert_array_equal(combined, x - 2 * y)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_broadcast(target, shape):
    x = np.arange(shape[1], dtype=np.int32) * 100
    out = np.zeros(shape, dtype=np.int32)
    broadcast_kernel[(1,)](x, out, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(out, x[None, :] + np.arange(shape[0])[:, None])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where_broadcasts_all_three(target, shape):
    x = np.arange(shape[1], dtype=np.int32) * 100 + 1
    out = np.zeros(shape, dtype=np.int32)
    where_kernel[(1,)](x, out, R=shape[0], C=shape[1])
    r, c = np.indices(shape)
    np.testing.assert_array_equal(out, np.where(r < c, x[None, :], -r))


@triton.jit
def interleave_cat_kernel(x_ptr, y_ptr, mixed_ptr, both_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    j = tl.arange(0, 2 * N)
    tl.store(mixed_ptr + j, tl.interleave(x, y))
    tl.store(both_ptr + j, tl.cat(x, y))


@triton.jit
def permute_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    c = tl.arange(0, C)[None, None, :]
    x = tl.load(x_ptr + (a * B + b) * C + c)
    y = tl.permute(x, (2, 0, 1))
    ca = tl.arange(0, C)[:, None, None]
    ab = tl.arange(0, A)[None, :, None]
    bc = tl.arange(0, B)[None, None, :]
    tl.store(out_ptr + (ca * A + ab) * B + bc, y)


@pytest.mark.parametrize("n", [1, 4, 5, 32, 50])
def test_interleave_and_cat(target, n):
    x, y = np.arange(n, dtype=np.float32), -np.arange(n, dtype=np.float32) - 1
    mixed, both = np.zeros(2 * n, np.float32), np.zeros(2 * n, np.float32)
    interleave_cat_kernel[(1,)](x, y, mixed, both, N=n)
    np.testing.assert_array_equal(mixed, np.stack([x, y], axis=1).ravel())
    np.testing.assert_array_equal(both, np.concatenate([x, y]))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (4, 8, 16)], ids=str)
def test_permute_of_three_dimensions(target, shape):
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    out = np.zeros((shape[2], shape[0], shape[1]), np.int32)
    permute_kernel[(1,)](x, out, A=shape[0], B=shape[1], C=shape[2])
    np.testing.assert_array_equal(out, x.transpose(2, 0, 1))
