"""Matrix products, softmax and attention by block pointers and by tensor descriptors, of ragged extents."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_close, random, rounding_of_factors


@triton.jit
def matmul_by_pointers(a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
                       BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_block_ptr(a_ptr, (M, K), (a_row, a_column), (m, 0), (BM, BK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (b_row, b_column), (0, n), (BK, BN), (1, 0))
    accumulator = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        accumulator = tl.dot(tl.load(a, boundary_check=(0, 1), padding_option="zero"),
                             tl.load(b, boundary_check=(0, 1), padding_option="zero"), accumulator)
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (BK, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (c_row, c_column), (m, n), (BM, BN), (1, 0))
    tl.store(c, accumulator.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def matmul_by_descriptors(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    accumulator = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        accumulator = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, accumulator)
    c.store([m, n], accumulator.to(c.dtype))


SHAPES = [(32, 32, 32), (50, 41, 37), (1, 1, 1), (33, 64, 100)]


def check_product(a, b, c):
    error = ((a.shape[1] + 2) * 2.0**-23 + rounding_of_factors(a.dtype)) * (a.double().abs() @ b.double().abs())
    assert_close(c, a.double() @ b.double(), error=error)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_matmul_by_block_pointers(target, shape, dtype):
    M, N, K = shape
    a, b, c = random(M, K, dtype=dtype, seed=1), random(K, N, dtype=dtype, seed=2), torch.zeros(M, N, dtype=dtype)
    matmul_by_pointers[(triton.cdiv(M, 32), triton.cdiv(N, 16))](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=32, BN=16, BK=16)
    check_product(a, b, c)


def test_matmul_of_transposed_operands_by_block_pointers(target):
    a, b, c = random(40, 50, seed=3).T, random(37, 40, seed=4).T, torch.zeros(50, 37)
    matmul_by_pointers[(2, 3)](a, b, c, 50, 37, 40, *a.stride(), *b.stride(), *c.stride(), BM=32, BN=16, BK=16)
    check_product(a, b, c)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_matmul_by_descriptors(target, shape, dtype):
    M, N, K = shape
    a, b, c = random(M, K, dtype=dtype, seed=5), random(N, K, dtype=dtype, seed=6), torch.zeros(M, N, dtype=dtype)
    matmul_by_descriptors[(triton.cdiv(M, 32), triton.cdiv(N, 16))](a, b, c, M, N, K, BM=32, BN=16, BK=16)
    check_product(a, b.T, c)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM
    x = tl.load(tl.make_block_ptr(x_ptr, (M, N), (N, 1), (m, 0), (BM, BN), (1, 0)), boundary_check=(0, 1))
    x = tl.where((tl.arange(0, BN) < N)[None, :], x, float("-inf"))
    numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
    result = numerator / tl.sum(numerator, axis=1)[:, None]
    tl.store(tl.make_block_ptr(out_ptr, (M, N), (N, 1), (m, 0), (BM, BN), (1, 0)), result, boundary_check=(0, 1))


def test_softmax_by_block_pointers(target):
    x, out = random(21, 75, seed=7), torch.zeros(21, 75)
    softmax_kernel[(6,)](x, out, 21, 75, BM=4, BN=128)
    np.testing.assert_allclose(out.numpy(), torch.softmax(x.double(), 1).numpy(), rtol=1e-5)


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale,
                     HEAD: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, CAUSAL: tl.constexpr):
    start, base = tl.program_id(0) * BQ, tl.program_id(1) * length * HEAD
    q = tl.make_block_ptr(q_ptr + base, (length, HEAD), (HEAD, 1), (start, 0), (BQ, HEAD), (1, 0))
    k = tl.make_block_ptr(k_ptr + base, (HEAD, length), (1, HEAD), (0, 0), (HEAD, BK), (0, 1))
    v = tl.make_block_ptr(v_ptr + base, (length, HEAD), (HEAD, 1), (0, 0), (BK, HEAD), (1, 0))
    queries = tl.load(q, boundary_check=(0,), padding_option="zero")
    rows = start + tl.arange(0, BQ)
    largest = tl.full([BQ], float("-inf"), tl.float32)
    total = tl.zeros([BQ], tl.float32)
    acc = tl.zeros([BQ, HEAD], tl.float32)
    end = min(length, start + BQ) if CAUSAL else length
    for first in range(0, end, BK):
        columns = first + tl.arange(0, BK)
        scores = tl.dot(queries, tl.load(k, boundary_check=(1,), padding_option="zero")) * scale
        seen = columns[None, :] < length
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        p = tl.exp(scores - new_largest[:, None])
        shrink = tl.exp(largest - new_largest)
        total = total * shrink + tl.sum(p, axis=1)
        values = tl.load(v, boundary_check=(0,), padding_option="zero")
        acc = tl.dot(p.to(values.dtype), values, acc * shrink[:, None])
        largest = new_largest
        k = tl.advance(k, (0, BK))
        v = tl.advance(v, (BK, 0))
    out = tl.make_block_ptr(out_ptr + base, (length, HEAD), (HEAD, 1), (start, 0), (BQ, HEAD), (1, 0))
    tl.store(out, (acc / total[:, None]).to(out.dtype.element_ty), boundary_check=(0,))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [32, 45])
def test_attention_by_block_pointers(target, length, causal):
    q, k, v = (random(2, length, 16, seed=8 + i) for i in range(3))
    out = torch.zeros(2, length, 16)
    attention_kernel[(triton.cdiv(length, 16), 2)](q, k, v, out, length, 0.25, HEAD=16, BQ=16, BK=32, CAUSAL=causal)
    scores = 0.25 * q.double() @ k.double().transpose(1, 2)
    if causal:
        scores = scores.masked_fill(~torch.ones(length, length, dtype=torch.bool).tril(), float("-inf"))
    expected = (torch.softmax(scores, 2) @ v.double()).numpy()
    np.testing.assert_allclose(out.numpy(), expected, atol=4e-3, rtol=1e-2)
