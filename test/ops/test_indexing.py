"""tl.gather, tl.cat, tl.interleave, tl.flip and their like: exact by definition."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr, IR: tl.constexpr,
                  IC: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    i = tl.arange(0, IR)[:, None] * IC + tl.arange(0, IC)[None, :]
    tl.store(out_ptr + i, tl.gather(x, tl.load(index_ptr + i), AXIS))


@triton.jit
def lookup_kernel(table_ptr, code_ptr, out_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    """Codes of 3 bits to values, as quantized weights use it."""
    i = tl.arange(0, BLOCK)
    table = tl.load(table_ptr + tl.arange(0, N))
    tl.store(out_ptr + i, tl.gather(table, tl.load(code_ptr + i).to(tl.int32), 0))


@triton.jit
def cat_kernel(x_ptr, y_ptr, out_ptr, DIM: tl.constexpr, R: tl.constexpr, C: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    n = tl.arange(0, N)
    x = tl.load(x_ptr + r * C + c)
    if DIM == 0:
        y = tl.load(y_ptr + n[:, None] * C + c)
        tl.store(out_ptr + tl.arange(0, R + N)[:, None] * C + c, tl.cat(x, y, dim=0))
    else:
        y = tl.load(y_ptr + r * N + n[None, :])
        tl.store(out_ptr + r * (C + N) + tl.arange(0, C + N)[None, :], tl.cat(x, y, dim=1))


@triton.jit
def interleave_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.arange(0, 2 * BLOCK), tl.interleave(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@triton.jit
def flip_kernel(x_ptr, out_ptr, DIM: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + i, tl.flip(tl.load(x_ptr + i), DIM))


@triton.jit
def permute_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    x = tl.reshape(tl.load(x_ptr + tl.arange(0, A * B * C)), (A, B, C))
    tl.store(out_ptr + tl.arange(0, A * B * C), tl.ravel(tl.permute(x, 2, 0, 1)))


@triton.jit
def unpack_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Two 4-bit values a byte to a row of twice the length, by join and reshape."""
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    both = tl.join(x & 15, x >> 4)
    tl.store(out_ptr + tl.arange(0, 2 * BLOCK), tl.reshape(both, (2 * BLOCK,)))


@triton.jit
def complex_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    """Split, compute, join: products of complex numbers."""
    i = tl.arange(0, BLOCK)[:, None] * 2 + tl.arange(0, 2)[None, :]
    xr, xi = tl.split(tl.load(x_ptr + i))
    yr, yi = tl.split(tl.load(y_ptr + i))
    tl.store(out_ptr + i, tl.join(xr * yr - xi * yi, xr * yi + xi * yr))


@triton.jit
def moved_line_times_tile_kernel(line_ptr, x_ptr, out_ptr, AS_ROW: tl.constexpr, FLIPS: tl.constexpr, R: tl.constexpr,
                                 C: tl.constexpr):
    """A line whose elements were moved, viewed as a row or column of a tile that is loaded."""
    N: tl.constexpr = C if AS_ROW else R
    j = tl.arange(0, N)
    line = tl.load(line_ptr + j)
    line = tl.flip(line) if FLIPS else tl.gather(line, (j * 5 + 2) % N, 0)
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    view = line[None, :] if AS_ROW else line[:, None]
    tl.store(out_ptr + i, view * tl.load(x_ptr + i))


@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize("as_row", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (4, 8), (16, 64), (48, 3), (64, 128)], ids=str)
def test_moved_line_viewed_beside_a_loaded_tile(target, shape, as_row, flips):
    n = shape[1] if as_row else shape[0]
    line, x = np.arange(1, n + 1, dtype=np.int32), np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    out = np.zeros_like(x)
    moved_line_times_tile_kernel[(1,)](line, x, out, AS_ROW=as_row, FLIPS=flips, R=shape[0], C=shape[1])
    line = line[::-1] if flips else line[(np.arange(n) * 5 + 2) % n]
    np.testing.assert_array_equal(out, x * (line[None, :] if as_row else line[:, None]))


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "int64"])
@pytest.mark.parametrize("axis, source, index", [(0, (4, 8), (4, 8)), (0, (5, 3), (16, 3)), (0, (64, 2), (7, 2)),
                                                 (1, (4, 8), (4, 8)), (1, (3, 33), (3, 5)), (1, (1, 1), (1, 4)),
                                                 (1, (16, 16), (16, 64)), (0, (40, 32), (64, 32)), (1, (37, 48), (37, 64)),
                                                 (1, (64, 64), (64, 64))], ids=str)
def test_gather(target, axis, source, index, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, source).astype(dtype)
    indices = rng.integers(0, source[axis], index).astype(np.int32)
    out = np.zeros(index, dtype)
    gather_kernel[(1,)](x, indices, out, AXIS=axis, R=source[0], C=source[1], IR=index[0], IC=index[1])
    np.testing.assert_array_equal(out, np.take_along_axis(x, indices.astype(np.int64), axis))


@triton.jit
def computed_gather_kernel(x_ptr, places_ptr, out_ptr, shift, KIND: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """Indices of which some bits are the same in all lanes, as the compiler can tell."""
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + r * C + c)
    if KIND == "strided":
        i = c * 7 + 3 & C - 1
    elif KIND == "remainder":
        i = (c * 5 + 3) % C
    elif KIND == "turned":
        i = (c + C // 2) % C
    elif KIND == "back":
        i = C - 1 - c
    elif KIND == "pairs":
        i = c ^ 1
    elif KIND == "by_row":
        i = (c + r * 4) % C
    elif KIND == "by_scalar":
        i = (c + shift) % C
    elif KIND == "halved":
        i = c // 2
    elif KIND == "masked":
        i = tl.load(places_ptr + c, mask=c % 2 == 0, other=0) * 2 + 1
    else:
        tl.static_assert(KIND == "outside")
        i = c * 2 - 4
    tl.store(out_ptr + r * C + c, tl.gather(x, tl.broadcast_to(i, (R, C)), 1))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64"])
@pytest.mark.parametrize("shape", [(16, 128), (4, 512), (2, 1024), (32, 32), (8, 16)], ids=str)
@pytest.mark.parametrize("kind", ["strided", "remainder", "turned", "back", "pairs", "by_row", "by_scalar", "halved",
                                  "masked", "outside"])
def test_gather_of_computed_indices(target, kind, shape, dtype, warps):
    rows, columns = shape
    x = np.random.default_rng(0).integers(1, 100, shape).astype(dtype)
    out = np.zeros_like(x)
    places = np.random.default_rng(1).integers(0, columns // 2, columns).astype(np.int32)
    computed_gather_kernel[(1,)](x, places, out, 5, KIND=kind, R=rows, C=columns, num_warps=warps)
    r, c = np.arange(rows)[:, None], np.arange(columns)[None, :]
    i = {"strided": c * 7 + 3 & columns - 1, "remainder": (c * 5 + 3) % columns, "turned": (c + columns // 2) % columns,
         "back": columns - 1 - c, "pairs": c ^ 1, "by_row": (c + r * 4) % columns, "by_scalar": (c + 5) % columns,
         "halved": c // 2, "masked": np.where(c % 2 == 0, places[None, :], 0) * 2 + 1, "outside": c * 2 - 4}[kind]
    i = np.broadcast_to(i, shape)
    inside = (i >= 0) & (i < columns)
    expected = np.where(inside, np.take_along_axis(x, np.where(inside, i, 0), 1), 0)
    np.testing.assert_array_equal(out, expected.astype(dtype))


@triton.jit
def strided_gather_kernel(x_ptr, out_ptr, STEP: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """A vector of each row is loaded, stored, and gathered for: neighbouring lanes are 8 elements apart, or more."""
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    i = tl.broadcast_to((c * STEP + 3) % C, (R, C))
    tl.store(out_ptr + r * C + c, tl.gather(tl.gather(tl.load(x_ptr + r * C + c), i, 1), i, 1))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64"])
@pytest.mark.parametrize("shape, step", [((4, 2048), 7), ((2, 1024), 5), ((4, 512), 16), ((3, 2048), 9), ((1, 4096), 3)], ids=str)
def test_lanes_that_gather_from_one_bank(target, shape, step, dtype):
    rows, columns = shape
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(dtype)
    out = np.zeros_like(x)
    strided_gather_kernel[(1,)](x, out, STEP=step, R=rows, C=columns, num_warps=4)
    i = (np.arange(columns) * step + 3) % columns
    np.testing.assert_array_equal(out, x[:, i][:, i])


def test_index_outside_gives_zero(target):
    x = np.arange(1, 9, dtype=np.float32)
    indices = np.array([0, 7, 8, -1, 2**31 - 1, -2**31, 3, 100], np.int32)
    out = np.full(8, 99, np.float32)
    gather_kernel[(1,)](x, indices, out, AXIS=1, R=1, C=8, IR=1, IC=8)
    np.testing.assert_array_equal(out, [1, 8, 0, 0, 0, 0, 4, 0])


@pytest.mark.parametrize("n", [1, 48, 128])
def test_lookup_in_a_small_table(target, n):
    table = np.random.default_rng(0).standard_normal(8).astype(np.float32)
    codes, out = np.random.default_rng(n).integers(0, 8, n).astype(np.uint8), np.zeros(n, np.float32)
    lookup_kernel[(1,)](table, codes, out, N=8, BLOCK=n)
    np.testing.assert_array_equal(out, table[codes])


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("shape, n", [((1, 1), 1), ((4, 8), 8), ((3, 5), 7), ((16, 2), 16)], ids=str)
def test_cat(target, shape, n, dim):
    other = (n, shape[1]) if dim == 0 else (shape[0], n)
    x, y = np.arange(np.prod(shape), dtype=np.float32).reshape(shape), -np.arange(np.prod(other), dtype=np.float32).reshape(other)
    expected = np.concatenate([x, y], axis=dim)
    out = np.full_like(expected, 99)
    cat_kernel[(1,)](x, y, out, DIM=dim, R=shape[0], C=shape[1], N=n)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16"])
@pytest.mark.parametrize("n", [1, 2, 48, 128])
def test_interleave(target, n, dtype):
    x, y = np.arange(n).astype(dtype), (100 + np.arange(n)).astype(dtype)
    out = np.zeros(2 * n, dtype)
    interleave_kernel[(1,)](x, y, out, BLOCK=n)
    np.testing.assert_array_equal(out, np.stack([x, y], axis=1).ravel())


@pytest.mark.parametrize("dim", [None, 0, 1, -2])
@pytest.mark.parametrize("shape", [(1, 1), (4, 8), (3, 5), (16, 33)], ids=str)
def test_flip(target, shape, dim):
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    out = np.zeros_like(x)
    flip_kernel[(1,)](x, out, DIM=dim, R=shape[0], C=shape[1])
    np.testing.assert_array_equal(out, np.flip(x, 1 if dim is None else dim))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 4, 8), (3, 5, 2)], ids=str)
def test_permute(target, shape):
    x = np.arange(np.prod(shape), dtype=np.int32)
    out = np.zeros_like(x)
    permute_kernel[(1,)](x, out, A=shape[0], B=shape[1], C=shape[2])
    np.testing.assert_array_equal(out, x.reshape(shape).transpose(2, 0, 1).ravel())


@pytest.mark.parametrize("n", [1, 64])
def test_unpack_by_join_and_reshape(target, n):
    x, out = np.random.default_rng(n).integers(0, 256, n).astype(np.uint8), np.zeros(2 * n, np.uint8)
    unpack_kernel[(1,)](x, out, BLOCK=n)
    np.testing.assert_array_equal(out, np.stack([x & 15, x >> 4], axis=1).ravel())


@pytest.mark.parametrize("n", [1, 33, 64])
def test_split_compute_join(target, n):
    x, y = np.random.default_rng(n).integers(-9, 9, (2, n, 2)).astype(np.float32)
    out = np.zeros_like(x)
    complex_kernel[(1,)](x, y, out, BLOCK=n)
    product = (x[:, 0] + 1j * x[:, 1]) * (y[:, 0] + 1j * y[:, 1])
    np.testing.assert_array_equal(out, np.stack([product.real, product.imag], axis=1))
