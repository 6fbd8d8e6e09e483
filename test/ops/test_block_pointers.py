"""Block pointers: tiles at offsets in a tensor, with the dimensions that `boundary_check` names checked (M23)."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, M, N, x_row, x_column, out_row, out_column, m, n,
                BM: tl.constexpr, BN: tl.constexpr, CHECK: tl.constexpr, PADDING: tl.constexpr, ORDER: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (x_row, x_column), (m, n), (BM, BN), ORDER)
    out = tl.make_block_ptr(base=out_ptr, shape=[BM, BN], strides=[out_row, out_column], offsets=[0, 0],
                            block_shape=[BM, BN], order=[1, 0])
    tl.store(out, tl.load(x, boundary_check=CHECK, padding_option=PADDING))


def window(x, m, n, bm, bn, padding):
    """The bm by bn elements of x from (m, n) on, and `padding` where there are none."""
    out = np.full((bm, bn), padding, x.dtype)
    for i in range(bm):
        for j in range(bn):
            if 0 <= m + i < x.shape[0] and 0 <= n + j < x.shape[1]:
                out[i, j] = x[m + i, n + j]
    return out


@pytest.mark.parametrize("padding", ["", "zero", "nan"])
@pytest.mark.parametrize("m, n", [(0, 0), (8, 16), (20, 10), (-3, -5), (37, 3), (2, 29), (100, -100)])
def test_what_is_outside_reads_as_padding(target, m, n, padding):
    x = np.arange(1, 37 * 29 + 1, dtype=np.float32).reshape(37, 29)
    out = np.full((16, 8), -1, np.float32)
    copy_kernel[(1,)](x, out, 37, 29, 29, 1, 8, 1, m, n, BM=16, BN=8, CHECK=(0, 1), PADDING=padding, ORDER=(1, 0))
    np.testing.assert_array_equal(out, window(x, m, n, 16, 8, np.nan if padding == "nan" else 0))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, np.float64, np.bool_])
def test_types(target, dtype):
    x = (np.arange(20 * 24).reshape(20, 24) % 2 if dtype is np.bool_ else np.arange(20 * 24).reshape(20, 24) % 100).astype(dtype)
    out = np.ones((16, 16), dtype)
    copy_kernel[(1,)](x, out, 20, 24, 24, 1, 16, 1, 8, 16, BM=16, BN=16, CHECK=(0, 1), PADDING="zero", ORDER=(1, 0))
    np.testing.assert_array_equal(out, window(x, 8, 16, 16, 16, 0))


@pytest.mark.parametrize("check, rows, columns", [((0,), 5, 16), ((1,), 16, 5), (1, 16, 5), ([0, 1], 5, 5)])
def test_only_named_dimensions_are_checked(target, check, rows, columns):
    # The tensor is larger than it is said to be, so that what is not checked is there to be read.
    x = np.arange(32 * 32, dtype=np.int32).reshape(32, 32)
    out = np.zeros((16, 16), np.int32)
    copy_kernel[(1,)](x, out, 5, 5, 32, 1, 16, 1, 0, 0, BM=16, BN=16, CHECK=check, PADDING="", ORDER=(1, 0))
    expected = np.zeros_like(out)
    expected[:rows, :columns] = x[:rows, :columns]
    np.testing.assert_array_equal(out, expected)


def test_transposed_order(target):
    x = np.asfortranarray(np.random.default_rng(0).random((40, 24), np.float32))
    out = np.zeros((16, 16), np.float32)
    copy_kernel[(1,)](x.T, out, 40, 24, 1, 40, 16, 1, 30, 4, BM=16, BN=16, CHECK=(0, 1), PADDING="zero", ORDER=(0, 1))
    np.testing.assert_array_equal(out, window(x, 30, 4, 16, 16, 0))


@triton.jit
def store_kernel(out_ptr, M, N, m, n, BM: tl.constexpr, BN: tl.constexpr):
    out = tl.make_block_ptr(out_ptr, (M, N), (N, 1), (m, n), (BM, BN), (1, 0))
    value = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out, value.to(out.dtype.element_ty), boundary_check=(0, 1), cache_modifier=".cg", eviction_policy="evict_first")


@pytest.mark.parametrize("m, n", [(0, 0), (-3, -2), (14, 17), (99, 0)])
def test_what_is_outside_is_not_written(target, m, n):
    out = np.full((20, 19), -1, np.float16)
    store_kernel[(1,)](out, 20, 19, m, n, BM=8, BN=4)
    expected = np.full((20, 19), -1, np.float16)
    for i in range(8):
        for j in range(4):
            if 0 <= m + i < 20 and 0 <= n + j < 19:
                expected[m + i, n + j] = i * 4 + j
    np.testing.assert_array_equal(out, expected)


@triton.jit
def fill_kernel(out_ptr, n, BLOCK: tl.constexpr):
    tl.store(tl.make_block_ptr(out_ptr, (n,), (1,), (tl.program_id(0) * BLOCK,), (BLOCK,), (0,)), 7, boundary_check=(0,))


def test_a_scalar_fills_the_block(target):
    out = np.zeros(1000, np.int32)
    fill_kernel[(4,)](out, 990, BLOCK=256)
    np.testing.assert_array_equal(out, np.where(np.arange(1000) < 990, 7, 0))


@triton.jit
def five_dimensions_kernel(x_ptr, out_ptr, d0, d1, d2, d3, d4):
    x = tl.make_block_ptr(x_ptr, (d0, d1, d2, d3, d4), (d1 * d2 * d3 * d4, d2 * d3 * d4, d3 * d4, d4, 1),
                          (1, 0, 1, 2, 0), (1, 2, 2, 4, 8), (4, 3, 2, 1, 0))
    tile = tl.load(x, boundary_check=(0, 1, 2, 3, 4), padding_option="zero")
    tl.store(out_ptr + tl.arange(0, 128), tl.reshape(tile, (128,)))


def test_five_dimensions(target):
    x = np.random.default_rng(1).random((2, 1, 3, 5, 7), np.float32)
    out = np.zeros(128, np.float32)
    five_dimensions_kernel[(1,)](x, out, *x.shape)
    expected = np.zeros((1, 2, 2, 4, 8), np.float32)
    expected[:, :1, :2, :3, :7] = x[1:, 0:2, 1:3, 2:6, 0:8]
    np.testing.assert_array_equal(out, expected.reshape(-1))


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, M, N, stride, BM: tl.constexpr, BN: tl.constexpr, METHOD: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (stride, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    total = tl.zeros((BM,), tl.float32)
    for _ in range(0, N, BN):
        total += tl.sum(tl.load(x, boundary_check=(0, 1)).to(tl.float32), axis=1)
        if METHOD:
            x = x.advance((0, BN))
        else:
            x = tl.advance(x, [0, BN])
    tl.store(tl.make_block_ptr(out_ptr, (M,), (1,), (tl.program_id(0) * BM,), (BM,), (0,)), total, boundary_check=(0,))


@pytest.mark.parametrize("method", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (33, 65), (7, 200)], ids=str)
def test_advance_in_a_loop(target, shape, method):
    x = np.random.default_rng(2).integers(-8, 8, shape).astype(np.float32)
    out = np.zeros(shape[0], np.float32)
    row_sum_kernel[(triton.cdiv(shape[0], 16),)](x, out, *shape, shape[1], BM=16, BN=32, METHOD=method)
    np.testing.assert_array_equal(out, x.sum(1))


@triton.jit
def backwards_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (N,), (1,), (N,), (BLOCK,), (0,))
    out = tl.make_block_ptr(out_ptr, (N,), (1,), (N,), (BLOCK,), (0,))
    i = 0
    while i < N:
        x = tl.advance(x, (-BLOCK,))
        out = tl.advance(out, (-BLOCK,))
        tl.store(out, tl.load(x, boundary_check=(0,)) * 2, boundary_check=(0,))
        i += BLOCK


def test_advance_back_over_the_start(target):
    x = np.arange(100, dtype=np.int32)
    out = np.zeros(100, np.int32)
    backwards_kernel[(1,)](x, out, 100, BLOCK=16)
    np.testing.assert_array_equal(out, 2 * x)


@triton.jit
def block_of(ptr, n, start, BLOCK: tl.constexpr):
    return tl.make_block_ptr(ptr, (n,), (1,), (start,), (BLOCK,), (0,))


@triton.jit
def load_both(pair):
    return tl.load(pair[0], boundary_check=(0,)) + tl.load(pair[1], boundary_check=(0,))


@triton.jit
def passed_around_kernel(x_ptr, y_ptr, out_ptr, n, takes_y, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    x = block_of(x_ptr, n, start, BLOCK)
    y = block_of(y_ptr, n, start, BLOCK)
    if takes_y > 0:
        chosen = y
    else:
        chosen = tl.advance(x, (1,))
    pair = (x, chosen)
    for _ in range(2):
        pair = (pair[0], tl.advance(pair[1], (1,)))
    tl.store(block_of(out_ptr, n, start, BLOCK), load_both(pair), boundary_check=(0,))


@pytest.mark.parametrize("takes_y", [0, 5])
def test_chosen_passed_returned_and_in_tuples(target, takes_y):
    x, y = np.arange(50, dtype=np.int32), 1000 + np.arange(50, dtype=np.int32)
    out = np.zeros(50, np.int32)
    passed_around_kernel[(4,)](x, y, out, 50, takes_y, BLOCK=16)
    moved = np.zeros(50, np.int32)
    if takes_y:
        moved[:48] = y[2:]
    else:
        moved[:47] = x[3:]
    np.testing.assert_array_equal(out, x + moved)


@triton.jit
def early_return(ptr, n, flag):
    first = tl.make_block_ptr(ptr, (n,), (1,), (0,), (8,), (0,))
    if flag > 0:
        return first
    return tl.advance(first, (8,))


@triton.jit
def early_return_kernel(x_ptr, out_ptr, n, flag):
    tl.store(out_ptr + tl.arange(0, 8), tl.load(early_return(x_ptr, n, flag)))


@pytest.mark.parametrize("flag", [0, 1])
def test_returned_early(target, flag):
    x, out = np.arange(16, dtype=np.float32), np.zeros(8, np.float32)
    early_return_kernel[(1,)](x, out, 16, flag)
    np.testing.assert_array_equal(out, x[:8] if flag else x[8:])


@triton.jit
def far_kernel(x_ptr, out_ptr, rows, stride):
    # The row lies more than 2^31 elements in front of the pointer.
    x = tl.make_block_ptr(x_ptr, (rows + 4, 4), (stride, 1), (rows, 0), (4, 4), (1, 0))
    tile = tl.load(tl.advance(x, (-rows, 0)), boundary_check=(0, 1))
    tl.store(tl.make_block_ptr(out_ptr, (4, 4), (4, 1), (0, 0), (4, 4), (1, 0)), tile)


def test_offsets_do_not_wrap_at_32_bits(target):
    x, out = np.arange(16, dtype=np.int32), np.zeros((4, 4), np.int32)
    far_kernel[(1,)](x, out, 2**30, 4)
    np.testing.assert_array_equal(out, x.reshape(4, 4))


@triton.jit
def types_kernel(x_ptr, out_ptr):
    x = tl.make_block_ptr(x_ptr, (8, 8), (8, 1), (0, 0), (8, 8), (1, 0))
    tl.static_assert(x.type.element_ty.element_ty == tl.float16)
    tl.static_assert(x.type.element_ty.shape[1] == 8)
    tl.static_assert(x.dtype.is_ptr())
    tl.static_assert(isinstance(x, tl.tensor))
    tl.static_assert(x.type == tl.advance(x, (1, 1)).type)
    tl.store(out_ptr, 1)


def test_types_of_block_pointers(target):
    out = np.zeros(1, np.int32)
    types_kernel[(1,)](np.zeros((8, 8), np.float16), out)
    assert out[0] == 1


REFUSED = [
    ("tl.load(b, mask=tl.arange(0, 8) < n)", "MaskOfBlockPointer"),
    ("tl.store(b, 0.0, mask=n > 0)", "MaskOfBlockPointer"),
    ("tl.load(b, boundary_check=(1,))", "BoundaryCheckRange"),
    ("tl.load(b, boundary_check=(-1,))", "BoundaryCheckRange"),
    ("tl.load(b, boundary_check=(0, 0))", "BoundaryCheckRepeated"),
    ("tl.load(b, boundary_check=(0,), padding_option='one')", "PaddingOption"),
    ("tl.load(i, boundary_check=(0,), padding_option='nan')", "PaddingOfIntegers"),
    ("tl.load(p, boundary_check=(0,))", "NeedsBlockPointer"),
    ("tl.make_block_ptr(b, (n,), (1,), (0,), (8,), (0,))", "BlockBase"),
    ("tl.make_block_ptr(p + tl.arange(0, 8), (n,), (1,), (0,), (8,), (0,))", "BlockBase"),
    ("tl.make_block_ptr(n, (n,), (1,), (0,), (8,), (0,))", "BlockBase"),
    ("tl.make_block_ptr(p, (n,), (1.5,), (0,), (8,), (0,))", "BlockScalar"),
    ("tl.make_block_ptr(p, (tl.arange(0, 8),), (1,), (0,), (8,), (0,))", "BlockScalar"),
    ("tl.make_block_ptr(p, (2**63,), (1,), (0,), (8,), (0,))", "BlockScalar"),
    ("tl.make_block_ptr(p, (n, n), (1,), (0,), (8,), (0,))", "BlockLength"),
    ("tl.make_block_ptr(p, (n,), (1,), (0,), (8,), (1,))", "BlockOrder"),
    ("tl.make_block_ptr(p, (n,), (1,), (0,), (n,), (0,))", "ArgumentNotConstexpr"),
    ("tl.make_block_ptr(p, (n,), (1,), (0,), (0,), (0,))", "BadExtent"),
    ("tl.make_block_ptr(p, (n,), (1,), (0,), (2**40,), (0,))", "TileTooLarge"),
    ("tl.advance(b, (1, 1))", "BlockLength"),
    ("tl.advance(b, (1.0,))", "BlockScalar"),
    ("tl.advance(p, (1,))", "BuiltinWrongArgument"),
    ("tl.store(b, tl.zeros((4,), tl.float32))", "BlockShapeMismatch"),
    ("b + 1", "IncompatibleOperands"),
    ("-b", "IncompatibleOperand"),
    ("tl.sum(b)", "BuiltinWrongArgument"),
    ("b.shape", "NoSuchAttribute"),
    ("b.load((0,))", "NoSuchAttribute"),
    ("b[0]", "NotSubscriptable"),
    ("len(b)", "BuiltinWrongArgument"),
    ("tl.zeros((8,), b.dtype)", "BuiltinWrongArgument"),
    ("tl.atomic_add(b, 1.0)", "BuiltinWrongArgument"),
    ("tl.load_tensor_descriptor(b, [0])", "BuiltinWrongArgument"),
]
HEAD = """import triton
import triton.language as tl

@triton.jit
def kernel(p, q, n):
    b = tl.make_block_ptr(p, (n,), (1,), (0,), (8,), (0,))
    i = tl.make_block_ptr(q, (n,), (1,), (0,), (8,), (0,))
"""


def refusal(tmp_path, source, *arguments):
    import importlib.util

    path = tmp_path / "refused.py"
    path.write_text(source)
    triton.install_as_triton()
    spec = importlib.util.spec_from_file_location("refused", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(triton.TritonError) as caught:
        module.kernel[(1,)](*arguments)
    return caught.value.diagnostics[0].kind


@pytest.mark.parametrize("line, kind", REFUSED, ids=[line for line, _ in REFUSED])
def test_refused(tmp_path, line, kind):
    assert refusal(tmp_path, HEAD + f"    x = {line}\n", np.zeros(8, np.float32), np.zeros(8, np.int32), 8) == kind


@pytest.mark.compiled
def test_blocks_of_two_shapes_do_not_merge(tmp_path):
    body = "    if n > 4:\n        b = tl.make_block_ptr(p, (n,), (1,), (0,), (4,), (0,))\n    tl.load(b)\n"
    assert refusal(tmp_path, HEAD + body, np.zeros(8, np.float32), np.zeros(8, np.int32), 8) == "MergeInitialMismatch"


@pytest.mark.compiled
def test_a_block_pointer_does_not_change_its_shape_in_a_loop(tmp_path):
    body = "    for _ in range(n):\n        b = tl.make_block_ptr(p, (n,), (1,), (0,), (4,), (0,))\n"
    assert refusal(tmp_path, HEAD + body, np.zeros(8, np.float32), np.zeros(8, np.int32), 8) == "LoopCarriedMismatch"
