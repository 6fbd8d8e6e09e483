"""Loads and stores: masks, `other`, scalars, bool memory, gathers, strides (M4, M5, M17, N7)."""
import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def masked_kernel(x_ptr, out_ptr, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if OTHER is None:
        x = tl.load(x_ptr + i, mask=i < n)
    else:
        x = tl.load(x_ptr + i, mask=i < n, other=OTHER)
    tl.store(out_ptr + i, x)


@triton.jit
def every_third_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i % 3 == 0
    x = tl.load(x_ptr + i, mask=mask, other=-1)
    tl.store(out_ptr + i, x, mask=(i % 2 == 0) | mask)


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, tl.load(x_ptr + index, mask=i < n), mask=i < n)


@triton.jit
def scatter_kernel(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + index, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def strided_kernel(x_ptr, out_ptr, x_stride, out_stride, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i * out_stride, tl.load(x_ptr + i * x_stride, mask=i < n), mask=i < n)


@triton.jit
def scalar_kernel(x_ptr, out_ptr, take):
    value = tl.load(x_ptr + 2)
    tl.store(out_ptr, value)
    tl.store(out_ptr + 1, tl.load(x_ptr + 3, mask=take > 0, other=42.0))
    tl.store(out_ptr + 2, value, mask=take > 0)


@triton.jit
def bool_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x & ~y, mask=i < n)


@triton.jit
def bumped_pointer_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A pointer tile carried by a loop."""
    ptrs = x_ptr + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(ptrs, mask=start + tl.arange(0, BLOCK) < n, other=0.0)
        ptrs += BLOCK
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


@triton.jit
def wide_offset_kernel(x_ptr, out_ptr, base, BLOCK: tl.constexpr):
    """Offsets beyond 2^31 elements back and forth: i64 arithmetic must not be cut."""
    i = tl.arange(0, BLOCK).to(tl.int64) + base
    tl.store(out_ptr + tl.arange(0, BLOCK), tl.load(x_ptr + (i - base)))


@pytest.mark.parametrize("other", [None, 0.0, 3.5, float("-inf")], ids=str)
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 63, 64])
def test_masked_lanes(target, n, other):
    """M5"""
    x, out = np.arange(1, n + 1, dtype=np.float32), np.full(64, 99, dtype=np.float32)
    masked_kernel[(1,)](x, out, n, OTHER=other, BLOCK=64)
    np.testing.assert_array_equal(out, np.concatenate([x, np.full(64 - n, other or 0.0, np.float32)]))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float16", "float32", "float64"])
@pytest.mark.parametrize("block", [1, 7, 48, 64, 100])
def test_masks_that_are_no_prefix(target, block, dtype):
    """M5, M17"""
    x, out = np.arange(5, 5 + block).astype(dtype), np.full(block, 99).astype(dtype)
    every_third_kernel[(1,)](x, out, BLOCK=block)
    i = np.arange(block)
    expected = np.where((i % 2 == 0) | (i % 3 == 0), np.where(i % 3 == 0, x, -1), 99)
    np.testing.assert_array_equal(out, expected.astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64"])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 200])
def test_gather_and_scatter(target, n, dtype):
    index = np.random.default_rng(n).permutation(n).astype(np.int32)
    x = (np.arange(n) % 100).astype(dtype)
    for kernel, expected in ((gather_kernel, x[index]), (scatter_kernel, x[np.argsort(index)])):
        out = np.zeros(n, dtype=dtype)
        kernel[(triton.cdiv(n, 64),)](x, index, out, n, BLOCK=64)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (1, 3), (5, 4), (0, 1)], ids=str)
def test_strides_known_at_run_time(target, strides):
    n = 50
    x, out = np.arange(n * max(strides[0], 1), dtype=np.float32), np.full(n * strides[1], -1, np.float32)
    strided_kernel[(1,)](x, out, strides[0], strides[1], n, BLOCK=64)
    expected = np.full_like(out, -1)
    expected[::strides[1]] = x[np.arange(n) * strides[0]]
    np.testing.assert_array_equal(out, expected)


def test_negative_stride(target):
    x, out = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    strided_kernel[(1,)](torch.from_numpy(x)[39:], out, -1, 1, 40, BLOCK=64)
    np.testing.assert_array_equal(out, x[::-1])


@pytest.mark.parametrize("take", [0, 1, 2])
def test_scalars(target, take):
    x, out = np.arange(4, dtype=np.float32), np.full(3, -1, np.float32)
    scalar_kernel[(1,)](x, out, take)
    np.testing.assert_array_equal(out, [2, 3 if take else 42, 2 if take else -1])


def test_bool_memory(target):
    """N7"""
    x = np.array([True, True, False, False] * 10)
    y = np.array([True, False] * 20)
    out = np.zeros(40, dtype=np.bool_)
    bool_kernel[(1,)](x, y, out, 40, BLOCK=64)
    np.testing.assert_array_equal(out, x & ~y)
    assert set(out.view(np.uint8)) <= {0, 1}


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 100])
def test_pointer_carried_by_a_loop(target, n):
    x, out = np.arange(n, dtype=np.float32), np.zeros(32, np.float32)
    bumped_pointer_kernel[(1,)](x, out, n, BLOCK=32)
    padded = np.concatenate([x, np.zeros(-n % 32, np.float32)]).reshape(-1, 32)
    np.testing.assert_array_equal(out, padded.sum(axis=0))


def test_offsets_of_64_bits(target):
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    wide_offset_kernel[(1,)](x, out, 1 << 40, BLOCK=16)
    np.testing.assert_array_equal(out, x)
