"""Tuples, lists, shapes and NamedTuples as one argument of a kernel."""
from typing import NamedTuple

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

TARGETS = ["cpu", "interp", "ptxvm"]


@pytest.fixture(params=TARGETS, autouse=True)
def target(request):
    before = {kernel: kernel.target for kernel in KERNELS}
    for kernel in KERNELS:
        kernel.target = request.param
    yield
    for kernel, name in before.items():
        kernel.target = name


@triton.jit
def add_all(parts, out, B: tl.constexpr):
    offsets = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for i in tl.static_range(len(parts)):
        total += tl.load(parts[i] + offsets)
    tl.store(out + offsets, total)


class Pair(NamedTuple):
    values: object
    scale: object


@triton.jit
def helper(pair, offsets):
    return tl.load(pair.values + offsets) * pair.scale


@triton.jit
def scaled(first, second, out, B: tl.constexpr):
    offsets = tl.arange(0, B)
    tl.store(out + offsets, helper(first, offsets) - helper(second, offsets))


@triton.jit
def nested(tree, out):
    (a, b), c = tree
    tl.store(out, tl.load(a) * 100 + b * 10 + c)


@triton.jit
def extents(shape, out):
    tl.store(out, shape[0] * 100 + shape[1])
    if shape[1] == 1:
        tl.store(out, 7)


@triton.jit
def both(first, second, out):
    tl.store(out, first[0] * 1000 + first[len(first) - 1] * 100 + second[0] * 10 + len(second))


@triton.jit
def in_place(parts, value):
    tl.store(parts[0], value)


@triton.jit
def plus_one(x):
    return x + 1


@triton.jit
def applied(function, parts, out):
    tl.store(out, function(parts[1](parts[0].to(parts[2]))))


KERNELS = [applied, add_all, scaled, nested, extents, both, in_place]


def zeros(n=8):
    return np.zeros(n, np.float32)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("kind", [tuple, list])
def test_arrays(count, kind):
    out = zeros()
    add_all[(1,)](kind(np.full(8, i + 1, np.float32) for i in range(count)), out, B=8)
    assert (out == count * (count + 1) / 2).all()


def test_fields():
    out, x, y = zeros(), np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    scaled[(1,)](Pair(x, 3.0), Pair(y, 2), out, B=8)
    assert (out == 3 * x - 2).all()


def test_tuples_in_tuples():
    out = zeros(1)
    kernel = nested[(1,)](((np.full(1, 4, np.float32), 5), 6), out)
    assert out[0] == 456 and [argument.name for argument in kernel.arguments] == ["tree.0.0", "tree.0.1", "tree.1", "out"]


def test_each_element_is_specialized():
    out = zeros(1)
    assert extents[(1,)]((3, 5), out) is extents[(1,)]((7, 9), out) and out[0] == 709
    extents[(1,)]((3, 1), out)
    assert out[0] == 7
    assert extents[(1,)]((3, 5), out) is not extents[(1,)]((16, 5), out)


def test_where_a_tuple_ends_counts():
    """((2, 3), (4,)) and ((2,), (3, 4)) have the same elements."""
    out = zeros(1)
    both[(1,)]((2, 3), (4,), out)
    assert out[0] == 2341
    both[(1,)]((2,), (3, 4), out)
    assert out[0] == 2232


def test_constants_of_all_kinds():
    out = zeros(1)
    both[(1,)]((tl.constexpr(2), 3), (4,), out)
    assert out[0] == 2341


def test_what_is_written_is_known():
    x = zeros(1)
    x.flags.writeable = False
    with pytest.raises(triton.LaunchError, match="parts.0"):
        in_place[(1,)]((x,), 3.0)


def test_an_empty_tuple_and_one_that_holds_itself():
    out = zeros()
    add_all[(1,)]((), out, B=8)
    assert not out.any()
    endless = []
    endless.append(endless)
    with pytest.raises(TypeError):
        add_all[(1,)](endless, out, B=8)
    with pytest.raises(triton.LaunchError, match="a dict"):
        both[(1,)](({}, 1), (2,), out)


def test_functions_and_types_are_constants():
    out = zeros(1)
    applied[(1,)](plus_one, (5, plus_one, tl.float32), out)
    assert out[0] == 7
