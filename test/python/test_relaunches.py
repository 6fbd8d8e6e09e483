"""A compiled kernel that is launched again runs its own code: what was a constant of its compile is a place among its arguments
that means nothing any more. Hosts keep kernels and fill these places with defaults, or with None."""
from typing import NamedTuple

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.tools.tensor_descriptor import TensorDescriptor

TARGETS = ["cpu", "interp", "ptxvm"]
N = 16


@triton.jit
def activate(x, o, n, B: tl.constexpr, ACT: tl.constexpr = "none"):
    i = tl.arange(0, B)
    r = tl.load(x + i, mask=i < n)
    if ACT == "relu":
        r = tl.where(r > 0, r, 0)
    tl.store(o + i, r, mask=i < n)


@pytest.fixture(params=TARGETS)
def on(request):
    """Kernels run on each target."""
    used = []

    def use(kernel):
        kernel.target = request.param
        used.append(kernel)
        return kernel

    yield use
    for kernel in used:
        kernel.target = "cpu"


def arrays():
    return np.linspace(-1, 1, N, dtype=np.float32), np.full(N, -5, np.float32)


@pytest.mark.parametrize("places", [(N, "none"), (None, None), (8, "relu"), (N, object()), ("text", 2.5), (1 << 80, [])])
def test_values_in_the_places_of_constants_mean_nothing(on, places):
    x, out = arrays()
    kernel = on(activate)[(1,)](x, out, N, B=N, ACT="relu")
    before = len(activate.device_caches[0][0])
    out[:] = -5
    kernel[(1, 1, 1)](x, out, N, *places)
    assert (out == np.maximum(x, 0)).all() and len(activate.device_caches[0][0]) == before


@triton.jit
def add_all(x, n, bias, o, B: tl.constexpr):
    i = tl.arange(0, B)
    r = tl.load(x + i) + n
    if bias is not None:
        r += tl.load(bias + i)
    tl.store(o + i, r)


def test_what_the_signature_made_a_constant_stays_one(on):
    x, out = arrays()
    kernel = on(add_all)[(1,)](x, 1, None, out, B=N)
    out[:] = -5
    kernel[(1,)](x, 100, x, out, None)
    assert (out == x + 1).all()


def test_a_number_that_was_divisible_by_16_may_be_another_one(on):
    x, out = arrays()
    kernel = on(add_all)[(1,)](x, 32, None, out, B=N)
    kernel[(1,)](x, 7, None, out, None)
    assert (out == x + 7).all()


def test_a_kernel_outlives_what_it_was_compiled_from(on):
    def body(o, n):
        tl.store(o, n + STEP)  # noqa: F821

    body.__globals__["STEP"] = tl.constexpr(1)
    try:
        function = on(triton.jit(body))
        out = np.zeros(1, np.int32)
        kernel = function[(1,)](out, 5)
        body.__globals__["STEP"] = tl.constexpr(100)
        kernel[(1,)](out, 6)
        assert out[0] == 7
        function[(1,)](out, 6)
        assert out[0] == 106
    finally:
        del body.__globals__["STEP"]
    function.device_caches.clear()
    del function
    kernel[(1,)](out, 8)
    assert out[0] == 9


@pytest.mark.parametrize("make", [lambda k, x, o: k[(1,)](x, o, N, N), lambda k, x, o: k[(1, 1, 1)](x, o, N, N, "none", 3),
                                  lambda k, x, o: k[(1,)](x, o, N, B=N), lambda k, x, o: k.run(1, 1, 1, 0, k.function, None, None, None, None, x, o),
                                  lambda k, x, o: k.run(1, 1, 1, 0, k.function, None, None, None, None, x, o, N, N, None, None)])
def test_a_wrong_number_of_arguments_is_refused(make):
    x, out = arrays()
    kernel = activate[(1,)](x, out, N, B=N, ACT="relu")
    with pytest.raises(triton.LaunchError, match="takes 5 arguments, .* given\n.*x, o, n, B, ACT"):
        make(kernel, x, out)


def test_parameters_may_be_named_and_options_are_refused(on):
    x, out = arrays()
    kernel = on(activate)[(1,)](x, out, N, B=N, ACT="relu")
    out[:] = -5
    kernel[(1,)](x, ACT=None, B=None, n=N, o=out)
    assert (out == np.maximum(x, 0)).all()
    with pytest.raises(KeyError, match="`num_warps` is no parameter"):
        kernel[(1,)](x, out, N, N, "relu", num_warps=8)
    with pytest.raises(triton.LaunchError, match="given `n` twice"):
        kernel[(1,)](x, out, N, N, n=3)
    with pytest.raises(triton.LaunchError, match="a function was given"):
        kernel[lambda meta: (1,)](x, out, N, N, "relu")


@pytest.mark.parametrize("wrong, says", [(2.5, "`n` of the compiled kernel is i32, and 2.5"), (1 << 40, "is i32"), ("a", "is i32"), (None, "i32")])
def test_a_value_that_is_none_of_its_argument_is_refused(wrong, says):
    x, out = arrays()
    kernel = activate[(1,)](x, out, N, B=N)
    with pytest.raises(triton.LaunchError, match=says.replace("i32", "(i|int)32")):
        kernel[(1,)](x, out, wrong, N, None)
    x.flags.writeable = out.flags.writeable = False
    with pytest.raises(triton.LaunchError, match="`o`, which is read-only"):
        kernel[(1,)](x, out, N, N, None)


@triton.jit
def halves(o, a: tl.float16, b: tl.bfloat16, c: tl.float64, d: tl.int1):
    tl.store(o, a)
    tl.store(o + 1, b)
    tl.store(o + 2, c)
    tl.store(o + 3, tl.where(d, 1.0, 0.0))


@pytest.mark.parametrize("value", [0.1, -3.14159, 1e5, 7, 2**20 + 1, float("inf"), 1e-7, 1 + 2.0**-8 + 2.0**-40, -1 - 3 * 2.0**-8 + 2.0**-40, 1e39])
def test_numbers_have_the_types_of_their_parameters(on, value):
    first, again = np.zeros(4), np.zeros(4)
    kernel = on(halves)[(1,)](first, value, value, value, True)
    kernel[(1,)](again, value, value, value, True)
    assert (first == again).all() and first[3] == 1


class Pair(NamedTuple):
    scale: int
    more: object


@triton.jit
def of_tuples(o, pair, kept: tl.constexpr, rest):
    tl.store(o, pair.scale * 100 + pair.more[1] * 10 + rest[0] + kept)


def test_tuples_are_read_by_their_places(on):
    out = np.zeros(1, np.int32)
    kernel = on(of_tuples)[(1,)](out, Pair(2, (1, 3)), 1000, (4,))
    kernel[(1,)](out, Pair(5, (9, 6)), None, (7,))
    assert out[0] == 5 * 100 + 6 * 10 + 7 + 1000
    with pytest.raises(triton.LaunchError, match="an `pair.0` within a tuple|`pair.0`"):
        kernel[(1,)](out, 3, None, (7,))


@triton.jit
def of_the_rest(o, *values, SCALE: tl.constexpr):
    tl.store(o, (values[0] + values[1]) * SCALE)


def test_the_rest_of_the_arguments_is_counted_by_the_kernel(on):
    out = np.zeros(1, np.int32)
    kernel = on(of_the_rest)[(1,)](out, 2, 3, SCALE=10)
    kernel[(1,)](out, 4, 5, SCALE=None)
    assert out[0] == 90
    with pytest.raises(triton.LaunchError, match="values"):
        kernel[(1,)](out, 4, SCALE=None)


@triton.jit
def through_a_descriptor(x, o, n, B: tl.constexpr):
    tl.store(o + tl.arange(0, B), tl.sum(x.load([0, 0]), 0) + n)


def test_a_kernel_of_descriptors_is_launched_again(on):
    first, other = (np.arange(64, dtype=np.float32).reshape(4, 16) + i for i in (0, 5))
    out = np.zeros(N, np.float32)
    kernel = on(through_a_descriptor)[(1,)](TensorDescriptor.from_tensor(first, [4, N]), out, 3, B=N)
    kernel[(1, 1, 1)](TensorDescriptor.from_tensor(other, [4, N]), out, 4, None)
    assert (out == other.sum(0) + 4).all()
    with pytest.raises(triton.LaunchError, match="descriptors in other places"):
        kernel[(1,)](other, out, 4, None)


def test_hooks_are_told_of_a_relaunch(on):
    x, out = arrays()
    kernel = on(activate)[(1,)](x, out, N, B=N, ACT="relu")
    told = []
    triton.knobs.runtime.launch_enter_hook.add(hook := lambda metadata: told.append(metadata.get()["name"]))
    try:
        kernel[(1,)](x, out, N, None, None)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(hook)
    assert told == ["activate"]
