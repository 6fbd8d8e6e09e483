"""Loops of products whose strides, offsets and bounds the kernel loads from memory: a version for those that allow wide accesses."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def listed_kernel(a, b, c, numbers, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, DESCRIPTORS: tl.constexpr):
    """c = a @ b.T of each row of `numbers`: where a and b begin, their strides, and K."""
    row = numbers + tl.program_id(0) * 5
    a_at, b_at, lda, ldb, K = (tl.load(row), tl.load(row + 1), tl.load(row + 2), tl.load(row + 3), tl.load(row + 4))
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], tl.float32)
    if DESCRIPTORS:
        x = tl.make_tensor_descriptor(a + a_at, shape=[M, K], strides=[lda, 1], block_shape=[M, BK])
        y = tl.make_tensor_descriptor(b + b_at, shape=[N, K], strides=[ldb, 1], block_shape=[N, BK])
        for start in range(0, K, BK):
            acc = tl.dot(x.load([0, start]), y.load([0, start]).T, acc)
    else:
        for start in range(0, K, BK):
            inside = start + k < K
            x = tl.load(a + a_at + m[:, None] * lda + (start + k)[None, :], mask=inside[None, :], other=0.0)
            y = tl.load(b + b_at + n[None, :] * ldb + (start + k)[:, None], mask=inside[:, None], other=0.0)
            acc += tl.dot(x, y)
    tl.store(c + tl.program_id(0) * M * N + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("descriptors", [False, True])
@pytest.mark.parametrize("m, n, warps, stages", [(64, 64, 4, 3), (16, 32, 2, 2)])
def test_any_numbers(target, m, n, warps, stages, descriptors, dtype):
    g = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-3, 4, (20000,), generator=g).to(dtype) for _ in range(2))
    # All multiples of 16 bytes; then an odd stride, an odd begin, an odd K, nothing at all.
    rows = [(0, 64, 160, 144, 96), (16, 0, 131, 144, 96), (0, 3, 160, 144, 96), (8, 8, 160, 144, 75), (0, 0, 160, 144, 0)]
    numbers = torch.tensor(rows, dtype=torch.int32)
    c = torch.full((len(rows), m, n), float("nan"))
    listed_kernel[(len(rows),)](a, b, c, numbers, M=m, N=n, BK=32, DESCRIPTORS=descriptors, num_warps=warps, num_stages=stages)
    for (a_at, b_at, lda, ldb, k), found in zip(rows, c):
        x = torch.as_strided(a.float(), (m, k), (lda, 1), a_at)
        y = torch.as_strided(b.float(), (n, k), (ldb, 1), b_at)
        assert torch.equal(found, x @ y.T), (a_at, b_at, lda, ldb, k)
