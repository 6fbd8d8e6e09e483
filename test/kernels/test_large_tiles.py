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


@triton.jit
def between(x, out, n, H: tl.constexpr, W: tl.constexpr, B: tl.constexpr):
    """An image of twice as many rows and columns, by interpolation."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    row, column = i // (2 * W) * 0.5, i % (2 * W) * 0.5
    row0, column0 = row.to(tl.int32), column.to(tl.int32)
    row1, column1 = tl.minimum(row0 + 1, H - 1), tl.minimum(column0 + 1, W - 1)
    row_part, column_part = row - row0, column - column0
    above = tl.load(x + row0 * W + column0, mask=i < n) * (1 - column_part) + tl.load(x + row0 * W + column1, mask=i < n) * column_part
    below = tl.load(x + row1 * W + column0, mask=i < n) * (1 - column_part) + tl.load(x + row1 * W + column1, mask=i < n) * column_part
    tl.store(out + i, above * (1 - row_part) + below * row_part, mask=i < n)


@triton.jit
def turned_too(x, turned, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    v = tl.load(x + i * N + j).to(tl.float32)
    tl.store(turned + j * M + i, v)
    tl.store(out + i * N + j, v / tl.max(v, 1)[:, None])


@triton.jit
def in_groups(x, y, out, sums, places, M: tl.constexpr, N: tl.constexpr):
    """Changes of shape, a scan and a gather that keep the rows, of more than registers hold."""
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    v = tl.load(x + i * N + j) + tl.load(y + i * N + j) + tl.load(x + i * N + j) * tl.load(y + i * N + j)
    left, right = tl.split(tl.reshape(v, (M, N // 2, 2)))
    v = tl.reshape(tl.join(left - right, left + right), (M, N))
    groups = tl.reshape(v, (M, N // 16, 16))
    largest = tl.max(tl.abs(groups), 2)
    tl.store(sums + tl.arange(0, M)[:, None] * (N // 16) + tl.arange(0, N // 16)[None, :], largest)
    v = tl.reshape(groups / largest[:, :, None], (M, N))
    at = tl.load(places + tl.arange(0, N))
    v = tl.gather(tl.cumsum(v, 1), tl.broadcast_to(at[None, :], (M, N)), 1)
    tl.store(out + i * N + j, v)


@triton.jit
def across_rows(x, y, out, M: tl.constexpr, N: tl.constexpr):
    """A scan over the rows keeps the columns; the reshaped tile has no dimension of the other's."""
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    v = tl.load(x + i * N + j) * tl.load(y + i * N + j) + tl.load(y + i * N + j)
    v = tl.reshape(tl.cumsum(v, 0), (M * N // 4, 4))
    tl.store(out + tl.arange(0, M * N // 4)[:, None] * 4 + tl.arange(0, 4)[None, :], v)


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


@pytest.mark.parametrize("n", [2 * 28 * 2 * 24, 2048, 2685, 1])
def test_scattered_elements_of_chunks(target, n):
    H, W = 28, 24
    x = torch.randn(H, W, generator=torch.Generator().manual_seed(6))
    out = torch.full((4096,), -1.0)
    between[(2,)](x, out, n, H, W, B=2048, num_warps=1)
    row, column = torch.arange(2 * H)[:, None] / 2, torch.arange(2 * W)[None, :] / 2
    row0, column0 = row.long(), column.long()
    row1, column1 = (row0 + 1).clamp(max=H - 1), (column0 + 1).clamp(max=W - 1)
    part = column - column0
    above, below = (x[r, column0] * (1 - part) + x[r, column1] * part for r in (row0, row1))
    expected = (above * (1 - (row - row0)) + below * (row - row0)).flatten()
    torch.testing.assert_close(out[:n], expected[:n])
    assert (out[n:] == -1).all()


def test_a_tile_that_is_stored_turned_besides(target):
    x = tile()[:4]
    turned, out = torch.empty(N, 4), torch.empty(4, N)
    turned_too[(1,)](x, turned, out, 4, N, num_warps=1)
    assert torch.equal(turned, x.T)
    torch.testing.assert_close(out, x / x.max(1, keepdim=True).values)


@pytest.mark.parametrize("rows, columns", [(32, 256), (64, 128), (4, 2048)])
def test_groups_scans_and_gathers_of_whole_rows(target, rows, columns):
    generator = torch.Generator().manual_seed(7)
    x, y = torch.randn(rows, columns, generator=generator), torch.randn(rows, columns, generator=generator)
    places = torch.randint(0, columns, (columns,), generator=generator, dtype=torch.int32)
    out, largest = torch.empty(rows, columns), torch.empty(rows, columns // 16)
    in_groups[(1,)](x, y, out, largest, places, rows, columns, num_warps=1)
    v = x + y + x * y
    v = torch.stack([v[:, ::2] - v[:, 1::2], v[:, ::2] + v[:, 1::2]], 2).reshape(rows, columns // 16, 16)
    torch.testing.assert_close(largest, v.abs().amax(2))
    v = (v / v.abs().amax(2, keepdim=True)).reshape(rows, columns).cumsum(1)
    torch.testing.assert_close(out, v[:, places.long()], atol=1e-4, rtol=1e-4)


def test_scans_across_rows_of_a_reshaped_tile(target):
    x, y = torch.arange(32.0 * 256).reshape(32, 256) % 7, torch.arange(32.0 * 256).reshape(32, 256) % 5
    out = torch.empty(32, 256)
    across_rows[(1,)](x, y, out, 32, 256, num_warps=1)
    assert torch.equal(out, (x * y + y).cumsum(0))
