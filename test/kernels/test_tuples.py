"""Tuples, NamedTuples and aggregates: as arguments of kernels and functions, nested, made anew, carried by loops."""
from typing import NamedTuple

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl


class Pair(NamedTuple):
    first: object
    second: object


class View(NamedTuple):
    data: object
    shape: object
    stride: object


def floats(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(-9, 9, shape).astype(np.float32))


@triton.jit
def many_kernel(outputs, inputs, shape, scale, BLOCK: tl.constexpr):
    rows, columns = shape
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(len(inputs)):
        total += tl.load(inputs[k] + i, mask=i < rows * columns, other=0.0)
    tl.store(outputs[0] + i, total * scale[0], mask=i < rows * columns)
    tl.store(outputs[1][0] + i, total + scale[1], mask=i < rows * columns)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_tuples_of_tensors_and_a_shape_as_arguments(target, count):
    inputs = tuple(floats(3, 7, seed=i) for i in range(count))
    a, b = torch.zeros(3, 7), torch.zeros(3, 7)
    many_kernel[(1,)]((a, (b,)), inputs, inputs[0].shape, (2, 0.5), BLOCK=32)
    torch.testing.assert_close(a, sum(inputs) * 2)
    torch.testing.assert_close(b, sum(inputs) + 0.5)


@triton.jit
def load_2d(view, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    mask = (i < view.shape[0]) & (j < view.shape[1])
    return view.data + i * view.stride[0] + j * view.stride[1], mask


@triton.jit
def transpose_kernel(out, x, BLOCK: tl.constexpr):
    pointers, mask = load_2d(x, BLOCK)
    values = tl.load(pointers, mask=mask)
    turned = View(out.data, (out.shape[1], out.shape[0]), stride=(out.stride[1], out.stride[0]))
    pointers, mask = load_2d(turned, BLOCK)
    tl.store(pointers, values, mask=mask)


def view(tensor):
    return View(tensor, tensor.shape, tensor.stride())


@pytest.mark.parametrize("rows, columns", [(1, 1), (5, 8), (8, 3)])
def test_a_named_tuple_has_its_fields_in_kernels_and_functions(target, rows, columns):
    x, out = floats(rows, columns), torch.zeros(columns, rows)
    transpose_kernel[(1,)](view(out), view(x), BLOCK=8)
    torch.testing.assert_close(out, x.T.contiguous())


@triton.jit
def swapped(pair):
    return Pair(pair.second, second=pair.first)


@triton.jit
def carried_kernel(out_ptr, start, n):
    pair = Pair(start.first + 0, start.second + 0)
    nested = (0, (pair, 1.5))
    for k in range(n):
        pair = swapped(pair)
        nested = (nested[0] + pair.first, (pair, nested[1][1] * 2))
    if n > 2:
        pair = Pair(pair.first * 10, pair.second)
    tl.store(out_ptr, pair.first)
    tl.store(out_ptr + 1, pair.second)
    tl.store(out_ptr + 2, nested[0])
    tl.store(out_ptr + 3, nested[1][0].first)
    tl.store(out_ptr + 4, nested[1][1])


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_named_tuples_are_carried_by_loops_and_branches(target, n):
    out = torch.zeros(5)
    carried_kernel[(1,)](out, Pair(3, 8), n)
    first, second, total, inner, half = 3, 8, 0, 3, 1.5
    for _ in range(n):
        first, second = second, first
        total, inner, half = total + first, first, half * 2
    assert out.tolist() == [first * (10 if n > 2 else 1), second, total, inner, half]


@triton.jit
def apply_all(x, *functions):
    for k in tl.static_range(len(functions)):
        x = functions[k](x)
    return x, len(functions)


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def plus_one(x):
    return x + 1


@triton.jit
def functions_kernel(out_ptr, functions, last: tl.constexpr, kind):
    y, count = apply_all(3, twice, functions[0], last)
    tl.store(out_ptr, y)
    tl.store(out_ptr + 1, count)
    tl.static_assert(kind[0] == "sum")
    tl.static_assert(kind[1] is None)


def test_functions_and_constants_are_elements_and_the_rest_of_the_arguments(target):
    out = torch.zeros(2, dtype=torch.int32)
    functions_kernel[(1,)](out, (plus_one, twice), plus_one, (tl.constexpr("sum"), None))
    assert out.tolist() == [8, 3]


@triton.jit
def specialized_kernel(out_ptr, sizes):
    tl.static_assert(isinstance(sizes[0], tl.constexpr))
    tl.static_assert(isinstance(sizes[1], tl.tensor))
    tl.store(out_ptr, sizes[0] + sizes[1])


def test_elements_are_specialized_as_arguments_are():
    specialized_kernel.target = "interp"
    out = torch.zeros(1, dtype=torch.int32)
    first = specialized_kernel[(1,)](out, (1, 32))
    assert out.item() == 33
    assert specialized_kernel[(1,)](out, (1, 64)) is first and out.item() == 65
    assert specialized_kernel[(1,)](out, (1, 7)) is not first and out.item() == 8
    with pytest.raises(triton.CompilationError, match="static_assert"):
        specialized_kernel[(1,)](out, (2, 7))


@triton.jit
def constant_shape_kernel(out_ptr, SHAPE: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, SHAPE[0] * SHAPE[1]), tl.full([SHAPE[0] * SHAPE[1]], SHAPE[1], tl.int32))


def test_a_tuple_for_a_constexpr_parameter_is_a_constant(target):
    out = torch.zeros(6, dtype=torch.int32)
    constant_shape_kernel[(1,)](out, SHAPE=out.reshape(2, 3).shape)
    assert out.tolist() == [3] * 6
    with pytest.raises(triton.LaunchError, match="constexpr"):
        constant_shape_kernel[(1,)](out, SHAPE=(out, 3))


def test_a_read_only_element_is_not_written():
    out = np.zeros(6, np.float32)
    out.flags.writeable = False
    many_kernel.target = "interp"
    with pytest.raises(triton.LaunchError, match="read-only"):
        many_kernel[(1,)]((out, (out.copy(),)), (out,), (2, 3), (1, 1), BLOCK=8)


# --- aggregates --------------------------------------------------------------------------------


@tl.core._aggregate
class Window:
    pointer: tl.tensor
    offset: tl.tensor
    SIZE: tl.constexpr

    @triton.constexpr_function
    def __init__(self, pointer, offset, SIZE):
        self.pointer = pointer
        self.offset = offset
        self.SIZE = SIZE

    @triton.jit
    def load(self, scale=1.0):
        return tl.load(self.pointer + self.offset + tl.arange(0, self.SIZE)) * scale

    @triton.jit
    def moved(self, by):
        return Window(self.pointer, self.offset + by, self.SIZE)


@triton.jit
def aggregate_kernel(x_ptr, out_ptr, n, SIZE: tl.constexpr):
    window = Window(x_ptr, n * 0, SIZE)
    total = tl.zeros([SIZE], tl.float32)
    for k in range(n):
        total += window.load(scale=2.0)
        window = window.moved(SIZE)
    first = tl.core.aggregate_replace(window, offset=n * 0)
    tl.store(out_ptr + tl.arange(0, SIZE), total + first.load())
    tl.store(out_ptr + SIZE, window.offset)


@pytest.mark.parametrize("n, size", [(1, 3), (4, 8)])
def test_an_aggregate_has_fields_methods_and_a_constructor(target, n, size):
    x, out = floats(n, size), torch.zeros(size + 1)
    aggregate_kernel[(1,)](x, out, n, SIZE=size)
    torch.testing.assert_close(out[:size], 2 * x.sum(0) + x[0])
    assert out[size] == n * size


@tl.core._aggregate
class Incomplete:
    first: tl.tensor
    second: tl.tensor

    @triton.jit
    def __init__(self, first):
        self.first = first


@triton.jit
def incomplete_kernel(out_ptr, n):
    tl.store(out_ptr, Incomplete(n).first)


@triton.jit
def changed_field_kernel(out_ptr, pair):
    pair.first = 3
    tl.store(out_ptr, pair.first)


@triton.jit
def unknown_field_kernel(out_ptr, pair):
    tl.store(out_ptr, pair.third)


def test_wrong_uses_of_fields_are_refused():
    out = torch.zeros(1)
    for kernel in (incomplete_kernel, changed_field_kernel, unknown_field_kernel):
        kernel.target = "interp"
    with pytest.raises(triton.CompilationError, match="`Incomplete.second` is not defined") as error:
        incomplete_kernel[(1,)](out, 5)
    assert error.value.kind == "UndefinedName"
    with pytest.raises(triton.CompilationError, match="assignment to an attribute"):
        changed_field_kernel[(1,)](out, Pair(1, 2))
    with pytest.raises(triton.CompilationError, match="no attribute `third`") as error:
        unknown_field_kernel[(1,)](out, Pair(1, 2))
    assert error.value.error_message.endswith("has no attribute `third`")


@triton.jit
def comprehension_kernel(out):
    sums: tl.constexpr = [a + b for a, b in ((1, 2), (3, 4))]
    nested: tl.constexpr = [a + b * c for a, (b, c) in ((1, (2, 3)), (4, (5, 6))) if a > 1]
    tl.static_assert(len(nested) == 1 and sums[1] == 7)
    tl.store(out + tl.arange(0, sums[0] + 1), nested[0])


def test_targets_of_a_comprehension_keep_constants(target):
    out = torch.zeros(4, dtype=torch.int32)
    comprehension_kernel[(1, )](out)
    assert out.tolist() == [34] * 4


@triton.jit
def uneven_comprehension_kernel(out):
    tl.store(out, [a for a, b in ((1, 2, 3), )][0])


def test_a_comprehension_whose_targets_do_not_match_is_refused():
    with pytest.raises(triton.CompilationError, match="unpack"):
        uneven_comprehension_kernel[(1, )](torch.zeros(1))


# --- loops over tuples -------------------------------------------------------------------------


@triton.jit
def over_tuples_kernel(pointers, out_ptr, n, WIDTHS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for p in pointers:
        total += tl.load(p + i)
    for p, (weight, is_last) in zip_of(pointers):
        if is_last:
            total += weight * tl.load(p + i)
    for width in WIDTHS:
        total += tl.sum(tl.full([width], 1, tl.int32))
    for _ in ():
        total = total * 0
    for p in pointers:
        first = tl.load(p)
        if first == n:
            continue
        if first == n + 1:
            break
        total += 1000 * first
    tl.store(out_ptr + i, total)


@triton.jit
def zip_of(pointers):
    return [(p, (w, w == 5)) for p, w in ((pointers[0], 3), (pointers[1], 5))]


@triton.jit
def first_above(values, n):
    for value in values:
        if value > n:
            return value
    return n


@triton.jit
def early_return_kernel(out_ptr, n):
    tl.store(out_ptr, first_above((n - 1, n, 2 * n, 3 * n), n))


@pytest.mark.parametrize("n", [-1, 2, 3])
def test_loops_over_tuples(target, n):
    arrays = tuple(np.arange(8, dtype=np.int32) + start for start in (2, 3, 4))
    out = np.zeros(8, np.int32)
    over_tuples_kernel[(1,)](arrays, out, n, WIDTHS=(2, 4), BLOCK=8)
    expected = sum(arrays) + 5 * arrays[1] + 6
    for array in arrays:
        if array[0] == n:
            continue
        if array[0] == n + 1:
            break
        expected = expected + 1000 * array[0]
    np.testing.assert_array_equal(out, expected)
    early_return_kernel[(1,)](out, n)
    assert out[0] == next((v for v in (n - 1, n, 2 * n, 3 * n) if v > n), n)
