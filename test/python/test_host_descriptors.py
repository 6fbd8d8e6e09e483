"""`triton.tools.tensor_descriptor`: descriptors as arguments of kernels, alone, annotated and within tuples (M24)."""
from typing import NamedTuple

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula.tools.tensor_descriptor import TensorDescriptor


@pytest.fixture(autouse=True)
def tensors_lie_where_the_target_runs(request):
    on_gpu = "target" in request.fixturenames and request.getfixturevalue("target") == "cuda"
    with torch.device("cuda" if on_gpu else "cpu"):
        yield


@triton.jit
def copy_kernel(x: tl.tensor_descriptor, out, m, n):
    tl.static_assert(x.dtype == out.dtype)
    out.store([0, 0], x.load([m, n]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8, torch.int64], ids=str)
@pytest.mark.parametrize("m, n", [(0, 0), (30, 20), (-2, -3)])
def test_copies_a_window(target, m, n, dtype):
    x = torch.arange(40 * 32).reshape(40, 32).remainder(100).to(dtype)
    out = torch.full((16, 16), -1, dtype=dtype)
    copy_kernel[(1,)](TensorDescriptor.from_tensor(x, [16, 16]), TensorDescriptor(out, [16, 16], [16, 1], [16, 16]), m, n)
    expected = torch.zeros(16, 16, dtype=dtype)
    for i in range(16):
        for j in range(16):
            if 0 <= m + i < 40 and 0 <= n + j < 32:
                expected[i, j] = x[m + i, n + j]
    assert torch.equal(out, expected)


def test_making_a_descriptor_reads_nothing_of_the_tensor():
    class Silent:
        dtype, shape = torch.float16, (32, 32)

        def stride(self):
            return (32, 1)

        def data_ptr(self):
            return 4096

        def __repr__(self):
            raise ValueError("its text would be made of its elements")
    assert TensorDescriptor.from_tensor(Silent(), [16, 16]).strides == [32, 1]


def test_arrays_of_numpy(target):
    if target == "cuda":
        pytest.skip("a GPU reads no arrays of the host")
    x, out = np.arange(64, dtype=np.float32).reshape(8, 8), np.zeros((8, 8), np.float32)
    copy_kernel[(1,)](TensorDescriptor.from_tensor(x, [4, 8]), TensorDescriptor.from_tensor(out, [4, 8]), 6, 0)
    np.testing.assert_array_equal(out[:2], x[6:])
    assert not out[2:].any()


def test_padding_with_nan(target):
    x, out = torch.ones(5, 8), torch.zeros(8, 8)
    copy_kernel[(1,)](TensorDescriptor.from_tensor(x, [8, 8], padding="nan"), TensorDescriptor.from_tensor(out, [8, 8]), 0, 0)
    assert torch.equal(out[:5], x) and out[5:].isnan().all()


@triton.jit
def block_of(desc, m):
    return desc.load([m, 0])


@triton.jit
def tuple_kernel(inputs, out_ptr, m, ROWS: tl.constexpr):
    total = block_of(inputs[0], m) + block_of(inputs[1][0], m) * inputs[1][1]
    offsets = tl.arange(0, ROWS)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tl.store(out_ptr + offsets, total)


def test_within_tuples(target):
    x, y, out = torch.rand(12, 8), torch.rand(12, 8), torch.zeros(4, 8)
    first, second = (TensorDescriptor.from_tensor(t, [4, 8]) for t in (x, y))
    tuple_kernel[(1,)]((first, (second, 3)), out, 4, ROWS=4)
    torch.testing.assert_close(out, x[4:8] + 3 * y[4:8])


class Pair(NamedTuple):
    source: object
    row: object


class Turned(NamedTuple):
    row: object
    source: object


@triton.jit
def named_kernel(pairs, out_ptr, ROWS: tl.constexpr):
    for i in tl.static_range(2):
        pair = pairs[i]
        tl.store(out_ptr + i * ROWS + tl.arange(0, ROWS), tl.sum(pair.source.load([pair.row, 0]), axis=1))


def test_named_tuples_keep_their_names(target):
    x, out = torch.arange(64.).reshape(8, 8), torch.zeros(8)
    desc = TensorDescriptor.from_tensor(x, [4, 8])
    for classes in ((Pair, Pair), (Turned, Pair), (Pair, Turned)):
        named_kernel[(1,)](tuple(kind(source=desc, row=row) for kind, row in zip(classes, (0, 4))), out, ROWS=4)
        assert (out == x.sum(1)).all()


@triton.jit
def shape_kernel(desc, out_ptr, BLOCK: tl.constexpr):
    tl.static_assert(desc.block_shape[1] == BLOCK)
    tl.store(out_ptr, desc.shape[0])
    tl.store(out_ptr + 1, desc.shape[1])
    tl.store(out_ptr + 2, desc.strides[0])
    tl.store(out_ptr + 3, desc.strides[1])


def test_shape_and_strides_are_read(target):
    out = torch.zeros(4, dtype=torch.int64)
    shape_kernel[(1,)](TensorDescriptor(torch.zeros(1, 64), [1, 40], [64, 1], [1, 16]), out, BLOCK=16)
    assert out.tolist() == [1, 40, 64, 1]


@triton.jit
def matmul_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    accumulator = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        accumulator = tl.dot(a.load([m, k]), b.load([k, n]), accumulator)
    c.store([m, n], accumulator.to(c.dtype))


def test_matmul(target):
    a, b, c = torch.rand(50, 40).half(), torch.rand(40, 72).half(), torch.zeros(50, 72).half()
    descriptors = [TensorDescriptor.from_tensor(t, block) for t, block in ((a, [32, 16]), (b, [16, 32]), (c, [32, 32]))]
    matmul_kernel[(2, 3)](*descriptors, 40, BM=32, BN=32, BK=16)
    torch.testing.assert_close(c.float(), (a.double() @ b.double()).float(), rtol=2e-3, atol=1e-2)


def test_a_descriptor_whose_block_changes_is_compiled_again(target):
    x, out = torch.rand(32, 32), torch.zeros(32, 32)
    source, result = TensorDescriptor.from_tensor(x, [8, 8]), TensorDescriptor.from_tensor(out, [8, 8])
    copy_kernel[(1,)](source, result, 0, 0)
    assert torch.equal(out[:8, :8], x[:8, :8]) and not out[8:].any()
    source.block_shape = result.block_shape = [16, 32]
    copy_kernel[(1,)](source, result, 0, 0)
    assert torch.equal(out[:16], x[:16]) and not out[16:].any()


@pytest.mark.parametrize("change, said", [
    (dict(shape=[4]), "rank mismatch"), (dict(shape=[], strides=[], block_shape=[]), "rank must not be zero"),
    (dict(shape=[1] * 6, strides=[1] * 6, block_shape=[1] * 6), "rank cannot be more than 5"),
    (dict(strides=[3, 1]), "16-byte aligned"), (dict(shape=[0, 8]), "shape must be positive"),
    (dict(strides=[8, 2]), "Last dimension must be contiguous"), (dict(padding="one"), "Illegal value for padding"),
    (dict(base=torch.zeros(8, 8)[0, 1:]), "base must be 16-byte aligned"),
    (dict(base=torch.zeros(8, 8, dtype=torch.int32), padding="nan"), "only supported for floating point"),
], ids=str)
def test_what_makes_no_descriptor_is_refused(change, said):
    fields = dict(base=torch.zeros(8, 8), shape=[8, 8], strides=[8, 1], block_shape=[4, 4], padding="zero") | change
    with pytest.raises(AssertionError, match=said):
        TensorDescriptor(**fields)


def test_a_narrow_block_is_refused_when_the_kernel_is_compiled():
    desc = TensorDescriptor(torch.zeros(8, 8), [8, 8], [8, 1], [4, 2])
    with pytest.raises(triton.TritonError, match="at least 16 bytes in the last dimension") as caught:
        copy_kernel[(1,)](desc, desc, 0, 0)
    assert caught.value.diagnostics[0].kind == "DescriptorBlockBytes"


def test_a_descriptor_is_no_constexpr():
    @triton.jit
    def kernel(desc: tl.constexpr):
        pass

    with pytest.raises(TypeError, match="`desc` is constexpr, and a tensor descriptor is no constant"):
        kernel[(1,)](TensorDescriptor.from_tensor(torch.zeros(8, 8), [4, 8]))


@pytest.mark.parametrize("wrong, said", [(dict(m=0, n=0, x=None), "given `x` twice"), (dict(m=0), "n"), (dict(m=0, n=0, o=1), "o")],
                         ids=str)
def test_wrong_arguments_are_told(wrong, said):
    desc = TensorDescriptor.from_tensor(torch.zeros(8, 8), [4, 8])
    with pytest.raises((TypeError, triton.TritonError), match=said):
        copy_kernel[(1,)](desc, desc, **wrong)


@triton.jit
def default_kernel(x, out_ptr, row, BLOCK: tl.constexpr = 8, scale: tl.float32 = 2.0):
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.reshape(x.load([row, 0]), (BLOCK,)) * scale)


def test_defaults_annotations_and_a_grid_that_is_a_function(target):
    x, out, seen = torch.rand(4, 8), torch.zeros(16), []
    desc = TensorDescriptor.from_tensor(x, [1, 8])

    def grid(meta):
        seen.append((meta["x"].block_shape, meta["BLOCK"], meta["row"], meta["num_warps"]))
        return (2,)

    kernel = default_kernel[grid](desc, out, row=3, num_warps=2)
    assert seen == [([1, 8], 8, 3, 2)] and kernel.name.startswith("default_kernel")
    torch.testing.assert_close(out, 2 * x[3].repeat(2))
    default_kernel[(1,)](desc, out, 1, scale=3)
    torch.testing.assert_close(out[:8], 3 * x[1])


def test_other_launches_go_on_as_before(target):
    x, out = torch.rand(8), torch.zeros(8)

    @triton.jit
    def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out_ptr + i, tl.load(x_ptr + i))

    kernel[lambda meta: (meta["BLOCK"] // 8,)](x, out, BLOCK=8)
    assert torch.equal(x, out)


def test_autotune_sets_the_blocks_of_descriptors():
    def set_block(arguments):
        arguments["x"].block_shape = arguments["out"].block_shape = [arguments["ROWS"], 16]

    @triton.autotune([triton.Config({"ROWS": rows}, pre_hook=set_block) for rows in (4, 8)], key=["M"])
    @triton.jit
    def kernel(x, out, M, ROWS: tl.constexpr):
        m = tl.program_id(0) * ROWS
        out.store([m, 0], x.load([m, 0]) + 1)

    x, out = torch.rand(30, 16), torch.zeros(30, 16)
    descriptors = [TensorDescriptor.from_tensor(t, [1, 16]) for t in (x, out)]
    kernel[lambda meta: (triton.cdiv(30, meta["ROWS"]),)](*descriptors, 30)
    torch.testing.assert_close(out, x + 1)


def test_hooks_before_runs_see_the_descriptors():
    seen = []

    @triton.jit
    def kernel(x, out):
        out.store([0, 0], x.load([0, 0]))

    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append([type(a) for a in args]))
    x, out = torch.rand(4, 8), torch.zeros(4, 8)
    kernel[(1,)](*(TensorDescriptor.from_tensor(t, [4, 8]) for t in (x, out)))
    assert seen == [[TensorDescriptor, TensorDescriptor]] and torch.equal(x, out)


def test_launches_of_one_form_take_their_own_tensors_blocks_and_defaults(target):
    @triton.jit
    def moved_kernel(x, out, m, n=4):
        out.store([0, 0], x.load([m, n]))

    a, b = torch.arange(32 * 32).reshape(32, 32), -torch.arange(24 * 64).reshape(24, 64)
    for _ in range(2):
        for x, block, offset, more in ((a, 8, 8, {}), (b, 8, 2, {}), (b, 16, 1, {"n": 8}), (a, 16, 16, {"n": 0}), (a, 8, 3, {"n": 5})):
            out = torch.full((block, block), 7)
            into = TensorDescriptor.from_tensor(out, [block, block])
            moved_kernel[lambda meta: (1 if meta["m"] == offset else 0,)](TensorDescriptor.from_tensor(x, [block, block]), into, m=offset, **more)
            n = more.get("n", 4)
            assert torch.equal(out, x[offset:offset + block, n:n + block])
