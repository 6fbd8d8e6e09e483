"""Sorting along any dimension of any extent, both ways; NaN is above all numbers."""
import ml_dtypes
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@triton.jit
def sort_kernel(x_ptr, out_ptr, DESCENDING: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + i, tl.sort(tl.load(x_ptr + i), descending=DESCENDING))


@triton.jit
def sort_cube_kernel(x_ptr, out_ptr, DIM: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.reshape(tl.arange(0, A * B * C), (A, B, C))
    tl.store(out_ptr + i, tl.load(x_ptr + i).sort(dim=DIM))


@triton.jit
def topk_kernel(x_ptr, out_ptr, N: tl.constexpr, K: tl.constexpr, DESCENDING: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, K), tl.topk(tl.load(x_ptr + tl.arange(0, N)), K, descending=DESCENDING))


@triton.jit
def topk_rows_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr, DIM: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    best = tl.topk(tl.load(x_ptr + i), K, dim=DIM)
    tl.store(out_ptr + tl.reshape(tl.arange(0, best.numel), best.shape), best)


@triton.jit
def merge_kernel(x_ptr, out_ptr, N: tl.constexpr, DESCENDING: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.bitonic_merge(tl.load(x_ptr + i), descending=DESCENDING))


@triton.jit
def rank_kernel(x_ptr, out_ptr, N: tl.constexpr):
    # Indices by the key in the upper half: the way to sort what goes along.
    i = tl.arange(0, N)
    packed = (tl.load(x_ptr + i).to(tl.int64) << 32) | i
    order = tl.flip(tl.sort(packed), 0)
    tl.store(out_ptr + i, (order & 0xFFFFFFFF).to(tl.int32))


def extremes(dtype, size, seed=3):
    """Few distinct values, so that many are equal, and the ends of the type among them."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if np.dtype(dtype).kind in "iu":
        ends = np.iinfo(dtype)
        return rng.choice(np.array([ends.min, ends.min + 1, 0, 1, 5, ends.max - 1, ends.max], dtype), size)
    ends = np.finfo(dtype)
    return rng.choice(np.array([-np.inf, ends.min, -1, -ends.tiny, 0, ends.tiny, 2, ends.max, np.inf, np.nan], dtype), size)


def falling(x, axis=-1):
    return np.flip(np.sort(x, axis), axis)


@pytest.mark.parametrize("descending", [False, True], ids=["rising", "falling"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (2, 13)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(target, dtype, shape, descending):
    x = extremes(dtype, shape)
    out = np.zeros_like(x)
    sort_kernel[(1,)](x, out, DESCENDING=descending, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(out, falling(x) if descending else np.sort(x, 1))


@pytest.mark.parametrize("shape", [(4, 64), (1, 100), (5, 3)], ids=str)
def test_sort_keeps_every_element(target, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x.flat[::3] = 0.0
    x.flat[1::5] = -0.0
    out = np.zeros_like(x)
    sort_kernel[(1,)](x, out, DESCENDING=False, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(np.sort(x.view(np.uint32).ravel()), np.sort(out.view(np.uint32).ravel()))
    np.testing.assert_array_equal(out, np.sort(x, 1))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_sort_of_small_floats(target, dtype):
    x = np.random.default_rng(1).standard_normal((2, 11)).astype(getattr(ml_dtypes, dtype))
    out = np.zeros_like(x)
    import torch

    tensors = [torch.from_numpy(a.view(np.uint8).copy()).view(getattr(torch, dtype)) for a in (x, out)]
    tensors = [t.view(getattr(torch, dtype)).reshape(2, 11) for t in tensors]
    sort_kernel[(1,)](*tensors, DESCENDING=True, R=2, C=11)
    expected = falling(x.astype(np.float32), 1)
    np.testing.assert_array_equal(tensors[1].float().numpy(), expected)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3, None])
def test_sort_along_each_dimension(target, dim):
    x = np.random.default_rng(5).integers(-9, 9, (3, 6, 4)).astype(np.int32)
    out = np.zeros_like(x)
    sort_cube_kernel[(1,)](x, out, DIM=dim, A=3, B=6, C=4)
    np.testing.assert_array_equal(out, np.sort(x, -1 if dim is None else dim))


@pytest.mark.parametrize("n,k", [(64, 1), (64, 3), (64, 64), (50, 7), (1, 1), (33, 33)])
@pytest.mark.parametrize("descending", [True, False], ids=["largest", "smallest"])
def test_topk(target, n, k, descending):
    x, out = np.random.default_rng(k).standard_normal(n).astype(np.float32), np.zeros(k, np.float32)
    topk_kernel[(1,)](x, out, N=n, K=k, DESCENDING=descending)
    np.testing.assert_array_equal(out, (falling(x) if descending else np.sort(x))[:k])


@triton.jit
def narrow_topk_kernel(x_ptr, out_ptr, K: tl.constexpr, WIDE: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    first = tl.topk(x, K)
    tl.static_assert(first.dtype == (WIDE if K < 16 else x.dtype))
    tl.store(out_ptr + tl.arange(0, K), first * 100 if K < 16 else first)


@pytest.mark.parametrize("k", [4, 16])
@pytest.mark.parametrize("dtype, wide", [(np.int8, tl.int32), (np.uint8, tl.int32), (np.int16, tl.int32), (np.uint16, tl.int32), (np.float16, tl.float32)],
                         ids=["i8", "u8", "i16", "u16", "f16"])
def test_some_of_narrow_elements_come_wide(target, dtype, wide, k):
    x = (np.arange(16) * 7 % 16 + 90).astype(dtype)
    out = np.zeros(k, np.float32 if dtype == np.float16 else np.int32)
    narrow_topk_kernel[(1,)](x, out, K=k, WIDE=wide)
    np.testing.assert_array_equal(out, np.sort(x)[::-1][:k].astype(out.dtype) * (100 if k < 16 else 1))


@pytest.mark.parametrize("dim", [0, 1])
def test_topk_along_each_dimension(target, dim):
    x = np.random.default_rng(7).integers(0, 50, (6, 9)).astype(np.int32)
    expected = np.take(falling(x, dim), range(4), dim)
    out = np.zeros_like(expected)
    topk_rows_kernel[(1,)](x, out, R=6, C=9, K=4, DIM=dim)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("n", [16, 12])
@pytest.mark.parametrize("descending", [False, True], ids=["rising", "falling"])
def test_bitonic_merge(target, n, descending):
    rng = np.random.default_rng(n)
    x = np.concatenate([np.sort(rng.integers(0, 99, n // 4)), falling(rng.integers(0, 99, n - n // 4))]).astype(np.int32)
    out = np.zeros_like(x)
    merge_kernel[(1,)](x, out, N=n, DESCENDING=descending)
    np.testing.assert_array_equal(out, falling(x) if descending else np.sort(x))


def test_sorted_pairs_give_the_order(target):
    x = np.random.default_rng(2).permutation(37).astype(np.int32) - 18
    out = np.zeros_like(x)
    rank_kernel[(1,)](x, out, N=37)
    np.testing.assert_array_equal(out, np.argsort(-x))


@triton.jit
def dimension_kernel(x_ptr, NAME: tl.constexpr, DIM: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    if NAME == "flip":
        x = tl.flip(x, DIM)
    elif NAME == "softmax":
        x = tl.softmax(x, DIM)
    else:
        x = tl.sort(x, DIM)
    tl.store(x_ptr + tl.arange(0, 8), x)


@pytest.mark.parametrize("dim", [1, 2, -2, -3])
@pytest.mark.parametrize("name", ["flip", "softmax", "sort"])
def test_a_dimension_that_a_tile_has_not_is_refused(name, dim):
    with pytest.raises(triton.CompilationError, match="dim must be a dimension of the tile|invalid axis"):
        dimension_kernel[(1,)](np.zeros(8, np.float32), NAME=name, DIM=dim)
