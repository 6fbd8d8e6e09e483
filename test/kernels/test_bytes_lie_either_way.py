"""Products of 8-bit operands whose rows or columns lie in memory: the same numbers, whichever way they are read."""
import ml_dtypes
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                   BLOCK_K: tl.constexpr, ACC: tl.constexpr, STAGES: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], ACC)
    for start in tl.range(0, K, BLOCK_K, num_stages=STAGES):
        a = tl.load(a_ptr + m[:, None] * a_row + (start + k[None, :]) * a_col, mask=(m[:, None] < M) & (start + k[None, :] < K))
        b = tl.load(b_ptr + (start + k[:, None]) * b_row + n[None, :] * b_col, mask=(start + k[:, None] < K) & (n[None, :] < N))
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def integers(rows, columns, seed, kind):
    values = np.random.default_rng(seed).integers(-8, 9, (rows, columns))
    return values.astype(np.int8) if kind == "int8" else values.astype(ml_dtypes.float8_e4m3fn)


def lying(matrix, way):
    """The matrix with its rows contiguous, or its columns; and its strides."""
    stored = np.ascontiguousarray(matrix if way == "rows" else matrix.T)
    return stored, ((stored.shape[1], 1) if way == "rows" else (1, stored.shape[1]))


def tensor(array):
    if array.dtype == np.int8:
        return array
    import torch
    return torch.from_numpy(array.view(np.uint8)).view(torch.float8_e4m3fn)


@pytest.mark.parametrize("kind", ["int8", "float8e4nv"])
@pytest.mark.parametrize("blocks", [(32, 32, 32), (64, 128, 64), (16, 16, 32), (8, 64, 32), (64, 8, 32)], ids=str)
@pytest.mark.parametrize("a_way, b_way", [("rows", "rows"), ("rows", "columns"), ("columns", "rows"), ("columns", "columns")])
def test_products(target, a_way, b_way, blocks, kind):
    M, N, K = 64, 128, 96
    a, b = integers(M, K, 1, kind), integers(K, N, 2, kind)
    (a_there, a_strides), (b_there, b_strides) = lying(a, a_way), lying(b, b_way)
    c = np.zeros((M, N), np.int32 if kind == "int8" else np.float32)
    product_kernel[(triton.cdiv(M, blocks[0]), triton.cdiv(N, blocks[1]))](
        tensor(a_there), tensor(b_there), c, M, N, K, *a_strides, *b_strides, BLOCK_M=blocks[0], BLOCK_N=blocks[1], BLOCK_K=blocks[2],
        ACC=tl.int32 if kind == "int8" else tl.float32, STAGES=3 if blocks[0] == 64 else 1)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def two_kernel(a_ptr, b_ptr, d_ptr, c_ptr, N: tl.constexpr, K: tl.constexpr):
    n, k = tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + n[:, None] * K + k[None, :])
    acc = tl.dot(a, tl.load(b_ptr + k[:, None] * N + n[None, :]), out_dtype=tl.int32)
    acc = tl.dot(a, tl.load(d_ptr + k[:, None] + n[None, :] * K), acc)
    tl.store(c_ptr + n[:, None] * N + n[None, :], acc)


def test_a_sum_of_products_whose_operands_lie_differently(target):
    a, b, d = integers(64, 32, 1, "int8"), integers(32, 64, 2, "int8"), integers(32, 64, 3, "int8")
    c = np.zeros((64, 64), np.int32)
    two_kernel[(1,)](a, b, np.ascontiguousarray(d.T), c, N=64, K=32)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ (b.astype(np.int32) + d))


@triton.jit
def chain_kernel(a_ptr, b_ptr, d_ptr, c_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    at = n[:, None] * N + n[None, :]
    p = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)).to(tl.int8)
    tl.store(c_ptr + at, tl.dot(p, tl.load(d_ptr + at)))


def test_a_product_of_a_product(target):
    a, b, d = (np.random.default_rng(i).integers(-1, 2, (64, 64), dtype=np.int8) for i in range(3))
    c = np.zeros((64, 64), np.int32)
    chain_kernel[(1,)](a, b, d, c, N=64)
    np.testing.assert_array_equal(c, (a.astype(np.int32) @ b).astype(np.int8).astype(np.int32) @ d)
