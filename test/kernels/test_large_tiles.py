"""Tiles that no thread has registers for give what small ones would, in chunks or whole."""
import pytest
import torch

import tegula as triton
import tegula.language as tl

M, N = 32, 192  # with one warp: three times what is kept whole


@triton.jit
def bias_gelu(x, b, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    p = i[:, None] * N + j[None, :]
    v = tl.load(x + p) + tl.load(b + j)[None, :]
    tl.store(out + p, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)))


@triton.jit
def masked(x, out, rows, columns, stride, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    mask = (i < rows) & (j < columns)
    tl.store(out + i * stride + j, tl.load(x + i * stride + j, mask=mask, other=0) * 2 + i, mask=mask)


@triton.jit
def turned(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    tl.store(out + j[:, None] * M + i[None, :], tl.trans(tl.load(x + i[:, None] * N + j[None, :])))


@triton.jit
def softmax_rows(x, out, sums, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + i[:, None] * N + j[None, :])
    e = tl.exp(v - tl.max(v, 1)[:, None])
    tl.store(sums + i, tl.sum(e, 1))
    tl.store(out + i[:, None] * N + j[None, :], e / tl.sum(e, 1)[:, None])


@triton.jit
def columns(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + i[:, None] * N + j[None, :], v - tl.sum(v, 0)[None, :])


@triton.jit
def repeated(x, B: tl.constexpr, R: tl.constexpr):
    p = x + tl.arange(0, B) % R
    tl.store(p, tl.load(p) + 1)


def tile():
    return torch.randn(M, N, generator=torch.Generator().manual_seed(5))


def test_a_row_that_all_chunks_share(target):
    x, b, out = tile(), torch.linspace(-1, 1, N), torch.empty(M, N)
    bias_gelu[(1,)](x, b, out, M, N, num_warps=1)
    torch.testing.assert_close(out, torch.nn.functional.gelu(x + b))


@pytest.mark.parametrize("rows, width", [(M, N), (7, 100), (0, 5), (31, 191)])
def test_masks_run_over_both_dimensions(target, rows, width):
    x, out = tile(), torch.full((M, N), -1.0)
    masked[(1,)](x, out, rows, width, N, M, N, num_warps=1)
    expected = torch.full((M, N), -1.0)
    expected[:rows, :width] = (x * 2 + torch.arange(M)[:, None])[:rows, :width]
    torch.testing.assert_close(out, expected)


def test_a_tile_that_is_turned(target):
    x, out = tile(), torch.empty(N, M)
    turned[(1,)](x, out, M, N, num_warps=1)
    assert torch.equal(out, x.T)


def test_reductions_of_rows_are_whole_in_their_chunk(target):
    x, out, sums = tile(), torch.empty(M, N), torch.empty(M)
    softmax_rows[(1,)](x, out, sums, M, N, num_warps=1)
    torch.testing.assert_close(out, torch.softmax(x, 1))
    torch.testing.assert_close(sums, torch.exp(x - x.max(1, keepdim=True).values).sum(1))


def test_reductions_over_all_rows(target):
    x, out = tile(), torch.empty(M, N)
    columns[(1,)](x, out, M, N, num_warps=1)
    torch.testing.assert_close(out, x - x.sum(0), atol=1e-4, rtol=1e-4)


def test_each_element_is_read_before_any_is_written(target):
    """The addresses repeat: a chunk must not see what an earlier one has stored."""
    x = torch.arange(256.0)
    repeated[(1,)](x, B=8192, R=256, num_warps=1)
    assert torch.equal(x, torch.arange(256.0) + 1)
