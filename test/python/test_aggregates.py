"""Classes with @triton.aggregate: fields of bases and defaults, constructors, methods; compiled, interpreted and in Python."""
from typing import NamedTuple

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

TARGETS = ["cpu", "interp", pytest.param("ptxvm", marks=pytest.mark.sim), "python"]


@pytest.fixture(params=TARGETS)
def run(request, monkeypatch):
    """Runs a Python function as a kernel with 16 results, each on a target or by Python itself."""
    if request.param == "python":
        monkeypatch.setenv("TEGULA_INTERPRET", "1")

    def launch(function):
        kernel = triton.jit(function)
        kernel.target = "cpu" if request.param == "python" else request.param
        out = np.zeros(16, np.int32)
        kernel[(1, )](out)
        return out

    return launch


@triton.aggregate
class Window:
    offsets: tl.tensor
    WIDTH: tl.constexpr = 16

    @triton.jit
    def moved(self, by):
        return self.offsets + by * self.WIDTH

    @staticmethod
    @triton.jit
    def of_width(WIDTH: tl.constexpr):
        return Window(tl.arange(0, 16), WIDTH)


@triton.aggregate
class Scaled(Window):
    factor: tl.constexpr = 10

    @triton.jit
    def value(self):
        return self.moved(1) * self.factor


@triton.aggregate
class Counted:
    start: tl.tensor
    STEP: tl.constexpr

    def __init__(self, start, step):
        self.start = start + 100
        self.STEP = tl.constexpr(step)

    @triton.jit
    def at(self, i):
        return self.start + i * self.STEP


class Pair(NamedTuple):
    first: int
    second: int = 7


def test_fields_without_a_value_have_their_defaults(run):

    def kernel(out):
        i = tl.arange(0, 16)
        tl.store(out + i, Window(i).moved(1) + 100 * Window(i, WIDTH=2).moved(1))

    i = np.arange(16)
    np.testing.assert_array_equal(run(kernel), i + 16 + 100 * (i + 2))


def test_fields_methods_and_defaults_of_a_base_are_inherited(run):

    def kernel(out):
        i = tl.arange(0, 16)
        tl.store(out + i, Scaled(i, 4).value() + Scaled(i, factor=1).value())

    i = np.arange(16)
    np.testing.assert_array_equal(run(kernel), (i + 4) * 10 + i + 16)


def test_a_constructor_gives_the_fields(run):

    def kernel(out):
        i = tl.arange(0, 16)
        tl.store(out + i, Counted(i, 3).at(2))

    np.testing.assert_array_equal(run(kernel), np.arange(16) + 106)


def test_a_static_method_has_no_self(run):

    def kernel(out):
        tl.store(out + tl.arange(0, 16), Window.of_width(3).moved(2))

    np.testing.assert_array_equal(run(kernel), np.arange(16) + 6)


def test_aggregate_replace_makes_another_object(run):

    def kernel(out):
        i = tl.arange(0, 16)
        one = Window(i, 8)
        two = tl.aggregate_replace(one, offsets=i * 2)
        tl.store(out + i, one.moved(1) + 1000 * two.moved(1))

    i = np.arange(16)
    np.testing.assert_array_equal(run(kernel), i + 8 + 1000 * (2 * i + 8))


def test_named_tuples_have_their_defaults(run):

    def kernel(out):
        pair = Pair(tl.arange(0, 16))
        tl.store(out + tl.arange(0, 16), pair.first + pair.second)

    np.testing.assert_array_equal(run(kernel), np.arange(16) + 7)


def test_a_changed_default_compiles_anew(monkeypatch):

    @triton.aggregate
    class Local:
        x: tl.tensor
        N: tl.constexpr = 1

    @triton.jit
    def kernel(out):
        tl.store(out, Local(tl.load(out)).N)

    out = np.zeros(1, np.int32)
    kernel[(1, )](out)
    assert out[0] == 1
    Local._field_defaults = {"N": 5}
    kernel[(1, )](out)
    assert out[0] == 5


def test_python_makes_objects_too():
    window = Window(1, WIDTH=4)
    assert isinstance(window.WIDTH, tl.constexpr) and window.WIDTH.value == 4 and window.offsets == 1
    assert Scaled(1).factor.value == 10 and Scaled(1).WIDTH.value == 16
    other = tl.aggregate_replace(window, WIDTH=9)
    assert (other.WIDTH.value, other.offsets, window.WIDTH.value) == (9, 1, 4)


def test_mistakes_in_python_are_type_errors():
    with pytest.raises(TypeError, match="needs a value for offsets"):
        Window()
    with pytest.raises(TypeError, match="the fields are offsets, WIDTH"):
        Window(1, 2, 3)
    with pytest.raises(TypeError, match="the fields are offsets, WIDTH"):
        Window(1, offsets=2)
    with pytest.raises(TypeError, match="has no field 'z'"):
        tl.aggregate_replace(Window(1), z=2)
    with pytest.raises(TypeError, match="expects an aggregate instance"):
        tl.aggregate_replace(42, x=1)
    with pytest.raises(AttributeError, match="cannot assign to field 'WIDTH' on immutable aggregate"):
        Window(1).WIDTH = 3


def test_a_missing_field_is_refused():

    @triton.jit
    def kernel(out):
        tl.store(out, Window().WIDTH)

    with pytest.raises(triton.CompilationError, match="needs a value for its parameter `offsets`"):
        kernel[(1, )](np.zeros(1, np.int32))
