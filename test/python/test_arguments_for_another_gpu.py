"""`kernel.warmup` for the target of a driver that the program has set describes arguments by a signature: tuples keep their class
there, and elements are constants where a launch makes them such."""
from typing import NamedTuple

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.backends.compiler import GPUTarget
from tegula.tools.tensor_descriptor import TensorDescriptor


class Sizes(NamedTuple):
    n: object
    c: object
    rest: object = None


class Driver:
    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)


@pytest.fixture
def another_gpu():
    triton.runtime.driver.set_active(Driver())
    yield
    triton.runtime.driver.reset_active()


@triton.jit
def fields(x, sizes, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i * sizes.n) + sizes.c)


@triton.jit
def nested(x, pair, o, B: tl.constexpr):
    i = tl.arange(0, B)
    more = 0 if pair[1].c is None else 5
    tl.store(o + i, tl.load(x + i * pair[0].n) + pair[0].c[1] + tl.load(pair[1].rest + i) + more)


@triton.jit
def described(x, sizes, o, B: tl.constexpr):
    tl.store(o + tl.arange(0, B), tl.sum(sizes.rest.load([0, 0]), 0) + sizes.n)


@triton.jit
def increment(x):
    return x + 1


@triton.jit
def constants(x, sizes, o, B: tl.constexpr):
    f, kind = sizes.c
    tl.store(o + tl.arange(0, B), tl.full([B], f(sizes.n), sizes.rest))
    tl.static_assert(kind == "one")


X, OUT, MATRIX = np.zeros(64, np.float32), np.zeros(16, np.float32), np.zeros((4, 16), np.float32)
CASES = [(fields, Sizes(3, 2)), (fields, Sizes(1, 16)), (fields, Sizes(3, 2.5)), (fields, Sizes(tl.constexpr(3), 2)),
         (nested, (Sizes(3, (1, 2)), Sizes(1, None, X))), (nested, [Sizes(3, [1, 2]), Sizes(1, None, X)]),
         (constants, Sizes(3, (increment, "one"), tl.float32)), (constants, Sizes(3, (increment, tl.constexpr("one")), tl.float16))]


@pytest.mark.parametrize("kernel, value", CASES)
def test_tuples_are_those_of_a_launch(another_gpu, kernel, value):
    made = kernel.warmup(X, value, OUT, B=16, grid=(1,))
    assert made.target == "cuda"
    triton.runtime.driver.reset_active()
    assert made.arguments == kernel.warmup(X, value, OUT, B=16, grid=(1,)).arguments


def test_descriptors_in_tuples_keep_their_places(another_gpu):
    made = described.warmup(X, Sizes(3, 2, TensorDescriptor.from_tensor(MATRIX, [4, 16])), OUT, B=16, grid=(1,))
    assert made.target == "cuda" and [argument.name for argument in made.arguments][3] == "sizes.2.0"


@pytest.mark.parametrize("value", [tl.float32, type("Other", (), {})()])
def test_what_no_run_time_parameter_takes_is_refused(another_gpu, value):
    for argument in (value, Sizes(1, object())):
        with pytest.raises(TypeError):
            fields.warmup(X, argument, OUT, B=16, grid=(1,))


def test_fields_that_check_their_values_are_not_asked_for_types(another_gpu):
    class Checked(Sizes):
        def __new__(cls, n, c, rest=None):
            return super().__new__(cls, n + 0, c, rest)

    assert fields.warmup(X, Checked(3, 2), OUT, B=16, grid=(1,)).target == "cuda"


@pytest.mark.parametrize("kernel, value", CASES[:-1])
def test_the_source_of_a_launched_kernel_compiles_again(kernel, value):
    made = kernel[(1,)](X, value, OUT, B=16)
    again = triton.compile(made.src, target=GPUTarget("cuda", 90, 32))
    assert again.arguments == made.arguments
