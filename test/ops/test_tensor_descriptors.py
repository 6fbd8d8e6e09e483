"""Tensor descriptors that kernels make: loads, stores, rows and atomics, all dimensions checked (M24)."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from test_block_pointers import refusal, window


@triton.jit
def copy_kernel(x_ptr, out_ptr, M, N, m, n, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr,
                AS_FUNCTION: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN], padding_option=PADDING)
    out = tl.make_tensor_descriptor(out_ptr, [BM, BN], [BN, 1], [BM, BN])
    tl.static_assert(x.dtype == x_ptr.dtype.element_ty)
    tl.static_assert(x.block_shape[1] == BN)
    tl.static_assert(isinstance(x, tl.tensor_descriptor))
    if AS_FUNCTION:
        tl.store_tensor_descriptor(out, [0, 0], tl.load_tensor_descriptor(x, [m, n]))
    else:
        out.store([0, 0], x.load([m, n]))


@pytest.mark.parametrize("as_function", [False, True])
@pytest.mark.parametrize("m, n", [(0, 0), (8, 16), (-3, -5), (35, 27), (100, 0)])
def test_what_is_outside_reads_as_zero(target, m, n, as_function):
    x = np.arange(1, 37 * 29 + 1, dtype=np.float32).reshape(37, 29)
    out = np.full((16, 8), -1, np.float32)
    copy_kernel[(1,)](x, out, 37, 29, m, n, BM=16, BN=8, PADDING="zero", AS_FUNCTION=as_function)
    np.testing.assert_array_equal(out, window(x, m, n, 16, 8, 0))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, np.float64])
def test_types(target, dtype):
    x = (np.arange(20 * 24).reshape(20, 24) % 100).astype(dtype)
    out = np.ones((16, 16), dtype)
    copy_kernel[(1,)](x, out, 20, 24, 8, 16, BM=16, BN=16, PADDING="zero", AS_FUNCTION=False)
    np.testing.assert_array_equal(out, window(x, 8, 16, 16, 16, 0))


def test_padding_with_nan(target):
    x, out = np.ones((5, 6), np.float16), np.zeros((8, 8), np.float16)
    copy_kernel[(1,)](x, out, 5, 6, 0, 0, BM=8, BN=8, PADDING="nan", AS_FUNCTION=False)
    np.testing.assert_array_equal(out, window(x, 0, 0, 8, 8, np.nan))


@triton.jit
def sum_columns(desc, m, N, BM: tl.constexpr, BN: tl.constexpr):
    total = tl.zeros((BM,), tl.float32)
    for n in range(0, N, BN):
        total += tl.sum(desc.load([m, n]), axis=1)
    return total


@triton.jit
def loop_kernel(x_ptr, y_ptr, out_ptr, M, N, takes_y, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    desc = x
    if takes_y > 0:
        desc = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BM, BN])
    m = tl.program_id(0) * BM
    out = tl.make_tensor_descriptor(out_ptr, [desc.shape[0]], [1], [BM])
    out.store([m], sum_columns(desc, m, desc.shape[1], BM, BN))
    tl.static_assert(desc.shape[0].dtype == tl.int32)
    tl.static_assert(desc.strides[0].dtype == tl.int64)


@pytest.mark.parametrize("takes_y", [0, 3])
def test_chosen_and_passed(target, takes_y):
    x, y = (np.random.default_rng(s).integers(-8, 8, (33, 70)).astype(np.float32) for s in (0, 1))
    out = np.zeros(33, np.float32)
    loop_kernel[(3,)](x, y, out, 33, 70, takes_y, BM=16, BN=32)
    np.testing.assert_array_equal(out, (y if takes_y else x).sum(1))


@triton.jit
def rows_kernel(x_ptr, index_ptr, gathered_ptr, scattered_ptr, M, N, y, R: tl.constexpr, C: tl.constexpr):
    index = tl.load(index_ptr + tl.arange(0, R))
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [1, C])
    rows = x.gather(index, y)
    tl.store(gathered_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], rows)
    out = tl.make_tensor_descriptor(scattered_ptr, [M, N], [N, 1], [1, C])
    out.scatter(rows, index, y)


@pytest.mark.parametrize("dtype", [np.int32, np.int16])
@pytest.mark.parametrize("y", [0, 7, 30, -4])
def test_rows_are_gathered_and_scattered(target, y, dtype):
    x = np.arange(1, 20 * 36 + 1, dtype=np.float32).reshape(20, 36)
    index = np.array([3, 19, 0, -1, 20, 7, 11, 500], dtype)
    gathered, scattered = np.full((8, 16), -1, np.float32), np.zeros((20, 36), np.float32)
    rows_kernel[(1,)](x, index, gathered, scattered, 20, 36, y, R=8, C=16)
    expected, written = np.zeros((8, 16), np.float32), np.zeros((20, 36), np.float32)
    for i, row in enumerate(index):
        for j in range(16):
            if 0 <= row < 20 and 0 <= y + j < 36:
                expected[i, j] = written[row, y + j] = x[row, y + j]
    np.testing.assert_array_equal(gathered, expected)
    np.testing.assert_array_equal(scattered, written)


@triton.jit
def atomic_kernel(x_ptr, out_ptr, N, KIND: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    value = tl.make_tensor_descriptor(x_ptr, [N], [1], [BLOCK]).load([start])
    out = tl.make_tensor_descriptor(out_ptr, [N], [1], [BLOCK])
    if KIND == "add":
        out.atomic_add([start], value)
    elif KIND == "min":
        out.atomic_min([start], value)
    elif KIND == "max":
        out.atomic_max([start], value)
    elif KIND == "and":
        out.atomic_and([start], value)
    elif KIND == "or":
        out.atomic_or([start], value)
    else:
        out.atomic_xor([start], value)


@pytest.mark.parametrize("kind, function", [("add", np.add), ("min", np.minimum), ("max", np.maximum), ("and", np.bitwise_and),
                                            ("or", np.bitwise_or), ("xor", np.bitwise_xor)])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_atomics(target, kind, function, dtype):
    generator = np.random.default_rng(3)
    x, out = (generator.integers(0, 1 << 20, 50).astype(dtype) for _ in range(2))
    expected = out.copy()
    expected[:45] = function(out[:45], x[:45])
    atomic_kernel[(3,)](x, out, 45, KIND=kind, BLOCK=16)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def older_names_kernel(x_ptr, out_ptr, N):
    x = tl._experimental_make_tensor_descriptor(x_ptr, [N], [1], [16])
    out = tl._experimental_make_tensor_descriptor(out_ptr, [N], [1], [16])
    tl._experimental_descriptor_store(out, tl._experimental_descriptor_load(x, [4], [16], tl.float32), [0])


def test_older_names(target):
    x, out = np.arange(16, dtype=np.float32), np.full(16, -1, np.float32)
    older_names_kernel[(1,)](x, out, 16)
    np.testing.assert_array_equal(out, np.r_[x[4:], np.zeros(4)])


REFUSED = [
    ("tl.make_tensor_descriptor(p, [], [], [])", "DescriptorRank"),
    ("tl.make_tensor_descriptor(p, [1] * 6, [1] * 6, [4] * 6)", "DescriptorRank"),
    ("tl.make_tensor_descriptor(p, [n], [1, 1], [8])", "BlockLength"),
    ("tl.make_tensor_descriptor(p, [n], [2], [8])", "DescriptorLastStride"),
    ("tl.make_tensor_descriptor(p, [n], [n], [8])", "DescriptorLastStride"),
    ("tl.make_tensor_descriptor(p, [n], [1], [2])", "DescriptorBlockBytes"),
    ("tl.make_tensor_descriptor(q, [n], [1], [8], 'nan')", "PaddingOfIntegers"),
    ("tl.make_tensor_descriptor(q, [n], [1], [8], 'one')", "PaddingOption"),
    ("tl.make_tensor_descriptor(d, [n], [1], [8])", "BlockBase"),
    ("d.load([0])", "DescriptorOffsets"),
    ("d.load([0, 0.5])", "BlockScalar"),
    ("d.load([0, tl.arange(0, 4)])", "BlockScalar"),
    ("d.store([0, 0], tl.zeros((8, 4), tl.float32))", "BlockShapeMismatch"),
    ("d.atomic_add([0, 0], tl.zeros((8,), tl.float32))", "BlockShapeMismatch"),
    ("d.gather(tl.arange(0, 8), 0)", "DescriptorRowsBlock"),
    ("tl.make_tensor_descriptor(p, [n], [1], [8]).gather(tl.arange(0, 8), 0)", "DescriptorRowsRank"),
    ("tl.make_tensor_descriptor(p, [n, n], [n, 1], [1, 8]).gather(tl.zeros((8, 8), tl.int32), 0)", "DescriptorRowsOffsets"),
    ("tl.make_tensor_descriptor(p, [n, n], [n, 1], [1, 8]).gather(3, 0)", "DescriptorRowsOffsets"),
    ("tl._experimental_descriptor_load(d, [0, 0], [8, 8], tl.float16)", "BuiltinWrongArgument"),
    ("tl._experimental_descriptor_load(p, [0, 0], [8, 8], tl.float32)", "BuiltinWrongArgument"),
    ("tl.load(d)", "BuiltinWrongArgument"),
    ("tl.advance(d, [0, 0])", "BuiltinWrongArgument"),
    ("d.exchange([0, 0])", "NoSuchAttribute"),
    ("d.type.scalar", "NoSuchAttribute"),
    ("d + 1", "IncompatibleOperands"),
]
HEAD = """import triton
import triton.language as tl

@triton.jit
def kernel(p, q, n):
    d = tl.make_tensor_descriptor(p, [n, n], [n, 1], [8, 8])
"""


@pytest.mark.parametrize("line, kind", REFUSED, ids=[line for line, _ in REFUSED])
def test_refused(tmp_path, line, kind):
    assert refusal(tmp_path, HEAD + f"    x = {line}\n", np.zeros(64, np.float32), np.zeros(8, np.int32), 8) == kind
