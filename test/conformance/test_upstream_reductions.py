"""Reductions, scans, sorting, and what they give for small types and NaN."""
import numpy as np
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def reduce_kernel(x_ptr, out_ptr, OP: tl.constexpr, AXIS: tl.constexpr, KEEP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if OP == "sum":
        y = tl.sum(x, axis=AXIS, keep_dims=KEEP)
    elif OP == "max":
        y = tl.max(x, axis=AXIS, keep_dims=KEEP)
    elif OP == "min":
        y = tl.min(x, axis=AXIS, keep_dims=KEEP)
    elif OP == "xor_sum":
        y = tl.xor_sum(x, axis=AXIS, keep_dims=KEEP)
    elif OP == "argmax":
        y = tl.argmax(x, axis=AXIS, keep_dims=KEEP)
    else:
        y = tl.argmin(x, axis=AXIS, keep_dims=KEEP)
    if AXIS is None:
        if KEEP:
            tl.static_assert(y.shape[0] == 1 and y.shape[1] == 1)
            tl.store(out_ptr + tl.zeros((1, 1), tl.int32), y)
        else:
            tl.store(out_ptr, y)
    elif KEEP:
        if AXIS == 0:
            tl.store(out_ptr + tl.arange(0, N)[None, :], y)
        else:
            tl.store(out_ptr + tl.arange(0, M)[:, None], y)
    elif AXIS == 0:
        tl.store(out_ptr + tl.arange(0, N), y)
    else:
        tl.store(out_ptr + tl.arange(0, M), y)


NUMPY = {"sum": np.sum, "max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin, "xor_sum": np.bitwise_xor.reduce}


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("op", list(NUMPY))
def test_axes(device, op, axis, keep):
    if axis is None and op in ("argmax", "argmin"):
        pytest.skip("an axis is required")
    if axis is None and op == "xor_sum" and keep:
        pytest.skip("one of the two is enough")
    x = np.random.default_rng(1).integers(-40, 40, (8, 32)).astype(np.int32)
    expected = NUMPY[op](x.ravel() if axis is None else x, axis=axis or 0 if axis is None else axis)
    out = torch.zeros(np.size(expected), dtype=torch.int32, device=device)
    reduce_kernel[(1,)](torch.from_numpy(x).to(device), out, OP=op, AXIS=axis, KEEP=keep, M=8, N=32)
    np.testing.assert_array_equal(out.cpu().numpy(), np.atleast_1d(expected))


@triton.jit
def types_kernel(x_ptr, SUM: tl.constexpr, MAX: tl.constexpr, SCAN: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.static_assert(tl.sum(x, 0).dtype == SUM)
    tl.static_assert(tl.max(x, 0).dtype == MAX)
    tl.static_assert(tl.min(x).dtype == MAX)
    tl.static_assert(tl.cumsum(x, 0).dtype == SCAN)
    tl.static_assert(tl.argmax(x, 0).dtype == tl.int32)


@pytest.mark.parametrize("name, total, largest, scan", [
    ("int8", "int32", "int32", "int32"), ("int16", "int32", "int32", "int32"), ("int32", "int32", "int32", "int32"),
    ("int64", "int64", "int64", "int64"), ("uint8", "uint32", "int32", "uint32"), ("float16", "float16", "float32", "float16"),
    ("bfloat16", "bfloat16", "float32", "float32"), ("float32", "float32", "float32", "float32"), ("float64", "float64", "float64", "float64"),
])
def test_types_of_results(device, name, total, largest, scan):
    types_kernel[(1,)](torch.ones(16, dtype=getattr(torch, name), device=device), SUM=getattr(tl, total), MAX=getattr(tl, largest),
                       SCAN=getattr(tl, scan))


@triton.jit
def nan_kernel(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 8)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    tl.store(out_ptr + i, tl.maximum(x, y))
    tl.store(out_ptr + 8 + i, tl.minimum(x, y))
    tl.store(out_ptr + 16 + i, tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out_ptr + 24 + i, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out_ptr + 32 + i, tl.clamp(x, -1.0, 2.0))
    tl.store(out_ptr + 40, tl.max(x, 0))
    tl.store(out_ptr + 41, tl.min(x, 0))


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_nan_in_maxima_and_minima(device, name):
    nan = float("nan")
    x = torch.tensor([nan, 1, nan, 3, -5, 2.5, 0, 1.5], dtype=getattr(torch, name), device=device)
    y = torch.tensor([1, nan, nan, 2, 4, -1.5, 0.5, nan], dtype=x.dtype, device=device)
    out = torch.zeros(42, dtype=torch.float32, device=device)
    nan_kernel[(1,)](x, y, out)
    a, b = x.cpu().float().numpy(), y.cpu().float().numpy()
    expected = np.concatenate([np.fmax(a, b), np.fmin(a, b), np.maximum(a, b), np.minimum(a, b)])
    np.testing.assert_array_equal(out[:32].cpu().numpy(), expected)
    known = ~np.isnan(a)
    np.testing.assert_array_equal(out[32:40].cpu().numpy()[known], np.clip(a, -1, 2)[known])
    assert out[40:].tolist() == [3, -5]


@triton.jit
def ties_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    tl.store(out_ptr, tl.argmax(x, 0))
    tl.store(out_ptr + 1, tl.argmin(x, 0))
    v, i = tl.max(x, 0, return_indices=True)
    tl.store(out_ptr + 2, v)
    tl.store(out_ptr + 3, i)
    w, j = tl.min(x, 0, return_indices=True, return_indices_tie_break_left=True)
    tl.store(out_ptr + 4, w)
    tl.store(out_ptr + 5, j)


def test_ties_go_to_the_left(device):
    x = torch.tensor([3, 1, 3, 0, 7, 7, 0, 7] * 4, dtype=torch.int32, device=device)
    out = torch.zeros(6, dtype=torch.int32, device=device)
    ties_kernel[(1,)](x, out)
    assert out.tolist() == [4, 3, 7, 4, 0, 3]


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def larger_first(a, i, b, j):
    take = (a > b) | ((a == b) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@triton.jit
def combine_kernel(x_ptr, out_ptr, index_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr, tl.reduce(x, 0, multiply))
    v, j = tl.reduce((x, i), 0, larger_first)
    tl.store(out_ptr + 1, v)
    tl.store(index_ptr, j)


def test_functions_of_the_user_combine(device):
    x = torch.tensor([1.5, 2, -1, 0.5, 1, 2, 4, 1], device=device)
    out, index = torch.zeros(2, device=device), torch.zeros(1, dtype=torch.int32, device=device)
    combine_kernel[(1,)](x, out, index, N=8)
    assert out.tolist() == [-12, 4] and index.item() == 6


@triton.jit
def linear_recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scan_kernel(x_ptr, out_ptr, OP: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    if OP == "cumsum":
        y = tl.cumsum(x, AXIS, reverse=REVERSE)
    elif OP == "cumprod":
        y = tl.cumprod(x, AXIS, reverse=REVERSE)
    else:
        _, y = tl.associative_scan((x, x + 1), AXIS, linear_recurrence, reverse=REVERSE)
    tl.store(out_ptr + at, y)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", ["cumsum", "cumprod", "recurrence"])
def test_scans(device, op, axis, reverse):
    x = np.random.default_rng(0).integers(-2, 3, (8, 16)).astype(np.int64)
    lines = x.T if axis == 0 else x
    lines = lines[:, ::-1] if reverse else lines
    if op == "recurrence":
        expected, state = np.zeros_like(lines), np.zeros(len(lines), np.int64)
        for k in range(lines.shape[1]):
            state = state * lines[:, k] + lines[:, k] + 1
            expected[:, k] = state
    else:
        expected = (np.cumsum if op == "cumsum" else np.cumprod)(lines, axis=1)
    expected = expected[:, ::-1] if reverse else expected
    expected = expected.T if axis == 0 else expected
    out = torch.zeros(8, 16, dtype=torch.int64, device=device)
    scan_kernel[(1,)](torch.from_numpy(x).to(device), out, OP=op, AXIS=axis, REVERSE=reverse, M=8, N=16)
    np.testing.assert_array_equal(out.cpu().numpy(), expected)


@triton.jit
def order_kernel(x_ptr, out_ptr, DESCENDING: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at), descending=DESCENDING))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", ["int32", "float32", "float16"])
def test_sort_of_rows(device, name, descending):
    x = torch.from_numpy(np.random.default_rng(0).permutation(128).reshape(4, 32)).to(getattr(torch, name)).to(device)
    out = torch.zeros_like(x)
    order_kernel[(1,)](x, out, DESCENDING=descending, M=4, N=32)
    assert torch.equal(out, torch.sort(x, dim=1, descending=descending).values)


@triton.jit
def bins_kernel(x_ptr, out_ptr, n, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=i < n))


def test_histogram_of_what_the_mask_keeps(device):
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 16, 256)).int().to(device)
    out = torch.zeros(16, dtype=torch.int32, device=device)
    bins_kernel[(1,)](x, out, 200, N=256, BINS=16)
    assert torch.equal(out.cpu(), torch.bincount(x[:200].cpu(), minlength=16).int())


@triton.jit
def softmax_kernel(x_ptr, out_ptr):
    at = tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out_ptr + at, tl.softmax(tl.load(x_ptr + at), dim=1, keep_dims=True))


def test_softmax_along_a_dimension(device):
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 16))).float().to(device)
    out = torch.zeros_like(x)
    softmax_kernel[(1,)](x, out)
    torch.testing.assert_close(out, torch.softmax(x, 1), atol=1e-6, rtol=1e-5)
