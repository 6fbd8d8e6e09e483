"""Kernels that take the rest of their arguments as a tuple, and arguments that are given by name only."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

TARGETS = ["cpu", "interp", pytest.param("ptxvm", marks=pytest.mark.sim), "python"]


@pytest.fixture(params=TARGETS)
def made(request, monkeypatch):
    """Makes a kernel of a Python function, for a target or for Python itself."""
    if request.param == "python":
        monkeypatch.setenv("TEGULA_INTERPRET", "1")

    def make(function):
        kernel = triton.jit(function)
        kernel.target = "cpu" if request.param == "python" else request.param
        return kernel

    return make


def sums(out, n, *rest, scale=1, BLOCK: tl.constexpr = 4):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, ), tl.float32) + n
    for pointer in rest:
        total += tl.load(pointer + i)
    tl.store(out + i, total * scale)
    tl.store(out + BLOCK, len(rest))


def ordered(out, *, n, BLOCK: tl.constexpr = 2):
    tl.store(out + tl.arange(0, BLOCK), n)


def mixed(out, *rest):
    x, k = rest[0]
    tl.store(out, tl.load(x) + k + rest[1])


def test_the_rest_is_a_tuple(made):
    kernel = made(sums)
    arrays = [np.full(4, value, np.float32) for value in (10, 20, 30)]
    for count in (0, 1, 3, 2):
        out = np.zeros(5, np.float32)
        kernel[(1, )](out, 5, *arrays[:count], scale=2)
        assert out.tolist() == [2 * (5 + sum((10, 20, 30)[:count]))] * 4 + [count]


def test_equal_calls_are_one_kernel():
    kernel = triton.jit(sums)
    x, out = np.ones(8, np.float32), np.zeros(9, np.float32)
    for _ in range(3):
        kernel[lambda meta: (len(meta["rest"]) // 2 + meta["scale"] - 1, )](out, 1, x, x, BLOCK=8)
    assert out.tolist() == [3.0] * 8 + [2.0]
    kernel[(1, )](out, 1, x, BLOCK=8)
    assert out.tolist() == [2.0] * 8 + [1.0]


def test_tuples_among_the_rest(made):
    kernel = made(mixed)
    x, out = np.full(1, 7, np.int32), np.zeros(1, np.int32)
    kernel[(1, )](out, (x, 2), 100)
    assert out[0] == 109


def test_what_stands_behind_the_star_is_given_by_name(made):
    kernel, out = made(ordered), np.zeros(2, np.int32)
    kernel[(1, )](out, n=3)
    assert out.tolist() == [3, 3]
    with pytest.raises(triton.LaunchError, match="takes 1 arguments, and 2 were given") as error:
        kernel[(1, )](out, 4)
    assert "`n`, behind the `*`, is given by its name" in str(error.value)


def test_the_rest_has_no_name(made):
    with pytest.raises(triton.LaunchError, match="neither a parameter of kernel `mixed` nor an option"):
        made(mixed)[(1, )](np.zeros(1, np.int32), rest=(1, 2))


@triton.jit
def add_all(first, *rest, scale):
    for value in rest:
        first += value
    return first * scale


def test_helpers_take_the_rest_too(made):

    def kernel(out, *rest):
        tl.store(out, add_all(*rest, scale=10))
        tl.store(out + 1, add_all(rest[0], scale=1))

    out = np.zeros(2, np.int32)
    made(kernel)[(1, )](out, 1, 2, 3)
    assert out.tolist() == [60, 1]
