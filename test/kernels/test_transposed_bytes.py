"""Tiles that become bytes and are stored transposed, and bytes that are widened and stored otherwise than they were loaded: each element
is where it belongs, whichever words it travels in."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def transposed_kernel(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N))
    tl.store(out_ptr + m[:, None] + n[None, :] * M, (x.to(tl.float32) * 2).to(tl.int8), mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.float32])
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("block", [32, 128])
@pytest.mark.parametrize("shape", [(128, 256), (100, 144)], ids=str)
def test_transposed(target, shape, block, warps, kind):
    M, N = shape
    x = np.random.default_rng(0).integers(-60, 61, shape).astype(kind)
    out = np.zeros((N, M), np.int8)
    transposed_kernel[(triton.cdiv(M, block), triton.cdiv(N, block))](x, out, M, N, BLOCK=block, num_warps=warps)
    np.testing.assert_array_equal(out, (x.astype(np.float32) * 2).astype(np.int8).T)


@triton.jit
def widened_kernel(x_ptr, scale_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at, mask = m[:, None] * N + n[None, :], (m[:, None] < M) & (n[None, :] < N)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask).to(tl.float32) * tl.load(scale_ptr), mask=mask)


@pytest.mark.parametrize("kind", [np.int8, np.float16])
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("block", [32, 128])
@pytest.mark.parametrize("shape", [(128, 256), (100, 144)], ids=str)
def test_widened(target, shape, block, warps, kind):
    M, N = shape
    x = np.random.default_rng(0).integers(-60, 61, shape).astype(kind)
    out = np.zeros(shape, np.float32)
    widened_kernel[(triton.cdiv(M, block), triton.cdiv(N, block))](x, np.array([1.5], np.float32), out, M, N, BLOCK=block, num_warps=warps)
    np.testing.assert_array_equal(out, x.astype(np.float32) * 1.5)
