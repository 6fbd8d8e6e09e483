"""Each op that keeps its result in memory of the program behind each other one: read at once, read twice, carried by a loop.

All steps keep shape and type, and small integers are exact in every type, so that results agree bit for bit.
"""
import ml_dtypes
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl

N = 16
ROWS, COLUMNS = np.indices((N, N))
PERMUTATION = (ROWS == (COLUMNS * 5 + 3) % N).astype(np.int64)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b).to(a.dtype)


@triton.jit
def product(x, n: tl.constexpr):
    permutation = tl.arange(0, n)[:, None] == (tl.arange(0, n)[None, :] * 5 + 3) % n
    if x.dtype.is_int():
        return tl.dot((x & 63).to(tl.int8), permutation.to(tl.int8)).to(x.dtype)
    else:
        return tl.dot(x, permutation.to(x.dtype)).to(x.dtype)


@triton.jit
def product_from_the_left(x, n: tl.constexpr):
    permutation = tl.arange(0, n)[:, None] == (tl.arange(0, n)[None, :] * 5 + 3) % n
    if x.dtype.is_int():
        return tl.dot(permutation.to(tl.int8), (x & 63).to(tl.int8)).to(x.dtype)
    elif x.dtype == tl.float16:
        return tl.dot(permutation.to(x.dtype), x, out_dtype=tl.float16)
    else:
        return tl.dot(permutation.to(x.dtype), x).to(x.dtype)


@triton.jit
def running_sum(x, n: tl.constexpr):
    return tl.cumsum(x, 1).to(x.dtype)


@triton.jit
def running_sum_from_the_end(x, n: tl.constexpr):
    return tl.cumsum(x, 0, reverse=True).to(x.dtype)


@triton.jit
def running_maximum(x, n: tl.constexpr):
    return tl.associative_scan(x, 0, larger)


@triton.jit
def sorted_rows(x, n: tl.constexpr):
    return tl.sort(x)


@triton.jit
def flipped(x, n: tl.constexpr):
    return tl.flip(x, 0)


@triton.jit
def gathered(x, n: tl.constexpr):
    index = (tl.arange(0, n)[:, None] * 3 + tl.arange(0, n)[None, :] * 7) % n
    return tl.gather(x, index, 1)


@triton.jit
def counted(x, n: tl.constexpr):
    counts = tl.histogram(tl.ravel(x.to(tl.int32)) & (n - 1), n)
    return (x + (counts[None, :] & 1).to(x.dtype)).to(x.dtype)


@triton.jit
def less_its_row_maximum(x, n: tl.constexpr):
    return (tl.max(x, 1)[:, None] - x).to(x.dtype)


@triton.jit
def place_of_maximum(x, n: tl.constexpr):
    return tl.where(tl.argmax(x, 0)[None, :] == tl.arange(0, n)[:, None], 3, x).to(x.dtype)


@triton.jit
def reshaped(x, n: tl.constexpr):
    return tl.reshape(tl.trans(tl.reshape(x, (n // 4, 4 * n))), (n, n))


@triton.jit
def transposed(x, n: tl.constexpr):
    return tl.trans(x)


@triton.jit
def one_behind_the_other(x, n: tl.constexpr):
    both = tl.cat(x, tl.flip(x, 0), dim=1)
    return tl.split(tl.reshape(both, (n, n, 2)))[1]


@triton.jit
def side_by_side(x, n: tl.constexpr):
    both = tl.reshape(tl.join(x, tl.trans(x)), (2 * n, n))
    return tl.gather(both, (tl.arange(0, n)[:, None] * 2 + tl.zeros((n, n), tl.int32)) + 1, 0)


@triton.jit
def interleaved(x, n: tl.constexpr):
    both = tl.interleave(x, tl.flip(x, 1))
    return tl.gather(both, tl.arange(0, n)[None, :] + tl.zeros((n, n), tl.int32) + 3, 1)


def np_product(x, dtype):
    return (x & 63 if np.issubdtype(dtype, np.integer) else x) @ PERMUTATION


def np_from_the_left(x, dtype):
    return PERMUTATION @ (x & 63 if np.issubdtype(dtype, np.integer) else x)


def np_counted(x, dtype):
    return x + (np.bincount(x.ravel() & (N - 1), minlength=N) & 1)


STEPS = {
    product: np_product,
    product_from_the_left: np_from_the_left,
    running_sum: lambda x, _: np.cumsum(x, 1),
    running_sum_from_the_end: lambda x, _: np.cumsum(x[::-1], 0)[::-1],
    running_maximum: lambda x, _: np.maximum.accumulate(x, 0),
    sorted_rows: lambda x, _: np.sort(x, 1),
    flipped: lambda x, _: x[::-1],
    gathered: lambda x, _: np.take_along_axis(x, (ROWS * 3 + COLUMNS * 7) % N, 1),
    counted: np_counted,
    less_its_row_maximum: lambda x, _: x.max(1, keepdims=True) - x,
    place_of_maximum: lambda x, _: np.where(x.argmax(0)[None, :] == ROWS, 3, x),
    reshaped: lambda x, _: x.reshape(N // 4, 4 * N).T.reshape(N, N),
    transposed: lambda x, _: x.T,
    one_behind_the_other: lambda x, _: np.concatenate([x, x[::-1]], 1)[:, 1::2],
    side_by_side: lambda x, _: np.stack([x, x.T], 2).reshape(2 * N, N)[1::2],
    interleaved: lambda x, _: np.stack([x, x[:, ::-1]], 2).reshape(N, 2 * N)[:, 3:3 + N],
}
TYPES = {"int8": np.int8, "int32": np.int32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}
# Sums of sums of 16 must stay exact: 256 in bfloat16.
LARGEST = {"int8": 100, "int32": 10**6, "float16": 7, "bfloat16": 1, "float32": 100}


@triton.jit
def chain_kernel(x_ptr, out_ptr, trips, n: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr, FORM: tl.constexpr):
    i = tl.arange(0, n)[:, None] * n + tl.arange(0, n)[None, :]
    x = tl.load(x_ptr + i)
    if FORM == "once":
        out = SECOND(FIRST(x, n), n)
    elif FORM == "twice":
        y = FIRST(x, n)
        out = tl.where(tl.trans(y) > y, SECOND(y, n), y)
    else:
        # As people prefetch: what the next round reads is made in this one.
        out = x
        y = FIRST(x, n)
        for _ in range(trips):
            out = SECOND(y, n)
            y = FIRST(tl.load(x_ptr + i), n)
    tl.store(out_ptr + i, out)


def wrapped(x, dtype):
    return x.astype(dtype).astype(np.int64)


def argument(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return array


def expected_of(x, first, second, form, trips, dtype):
    y = wrapped(STEPS[first](x, dtype), dtype)
    z = wrapped(STEPS[second](y, dtype), dtype)
    if form == "twice":
        return np.where(y.T > y, z, y)
    return x if form == "carried" and trips == 0 else z


FORMS = [("once", 0), ("twice", 0), ("carried", 2), ("carried", 0)]


# Each pair in one form and type, which change from pair to pair, so that each op meets all of them on both sides.
@pytest.mark.parametrize("first", STEPS, ids=lambda step: step.__name__)
def test_each_behind_each(target, first):
    row = list(STEPS).index(first)
    for column, second in enumerate(STEPS):
        name, (form, trips) = list(TYPES)[(row + 2 * column) % len(TYPES)], FORMS[(row + column) % len(FORMS)]
        dtype = TYPES[name]
        x = np.random.default_rng(1).integers(-LARGEST[name], LARGEST[name] + 1, (N, N))
        out = np.full((N, N), 99).astype(dtype)
        chain_kernel[(1,)](argument(x.astype(dtype)), argument(out), trips, n=N, FIRST=first, SECOND=second, FORM=form)
        np.testing.assert_array_equal(wrapped(out.astype(np.float64), np.int64), expected_of(x, first, second, form, trips, dtype),
                                      err_msg=f"{second.__name__} behind {first.__name__}, {form}, {name}")


@triton.jit
def ragged_kernel(x_ptr, o_ptr, n, s, v):
    i, k = tl.arange(0, 24), tl.arange(0, 128)
    acc = tl.zeros([24, 24], tl.float32)
    acc = acc - tl.max(acc, 1, keep_dims=True) + 1.0
    if n > 2:
        x = tl.load(x_ptr + i[:, None] * s + k[None, :])
        acc = tl.dot(x, tl.trans(x), acc)
    if v > 3:
        return
    tl.store(o_ptr + i[:, None] * 24 + i[None, :], acc)


@pytest.mark.parametrize("n", [1, 3])
def test_registers_beyond_a_tile_have_no_values_to_repeat(target, n):
    x = torch.randint(-2, 3, (24, 128), generator=torch.Generator().manual_seed(n)).float()
    o = torch.zeros(24, 24)
    ragged_kernel[(1,)](x, o, n, 128, 1, num_warps=2, num_stages=1)
    assert torch.equal(o, (x @ x.T if n > 2 else torch.zeros(24, 24)) + 1)
