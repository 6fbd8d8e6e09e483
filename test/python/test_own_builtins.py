"""Functions that Python runs as builtins of the language, and that compute: `@tl.core.builtin`, `@tl.core.extern`."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.language import core

FP32, FP64 = core.dtype("fp32"), core.dtype("fp64")


def run(kernel, x, *arguments, **constants):
    out = np.zeros(x.shape, constants.pop("out", x.dtype))
    kernel[(1,)](x, out, *arguments, N=x.size, **constants)
    return out


@pytest.fixture
def x():
    return np.linspace(-3, 4, 32).astype(np.float32)


@core.builtin
def polynomial(x, coefficients, _semantic=None):
    """A loop of Python over a list that only Python knows."""
    result = _semantic.full([], 0.0, x.dtype)
    for each in coefficients.value:
        result = _semantic.add(_semantic.mul(result, x, True), _semantic.to_tensor(each), True)
    return result


def test_operations_of_the_semantic(target, x):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr, C: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, polynomial(tl.load(x_ptr + i), C))

    np.testing.assert_allclose(run(kernel, x, C=(2.0, -1.0, 3.0)), 2 * x * x - x + 3, rtol=1e-6)
    np.testing.assert_allclose(run(kernel, x, C=(0.5, 4.0)), 0.5 * x + 4, rtol=1e-6)


@core.builtin
def halves(x, y, _semantic=None):
    kept = core.where(_semantic.greater_than(x, 0.0), x, y, _semantic=_semantic)
    small = kept.to(tl.float16, _semantic=_semantic)
    assert small.dtype == tl.float16 and small.shape == kept.shape == x.shape == (32,) and kept.type == x.type
    return small.to(tl.float32, _semantic=_semantic), x.__mul__(2.0, _semantic=_semantic)


def test_functions_of_the_language_with_the_semantic(target, x):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        x = tl.load(x_ptr + i)
        small, twice = halves(x, 7.0)
        tl.store(out_ptr + i, small - twice)

    np.testing.assert_allclose(run(kernel, x), np.where(x > 0, x, 7).astype(np.float16).astype(np.float32) - 2 * x, rtol=1e-6)


@core.builtin
def refuse_large(size, _semantic=None):
    assert isinstance(_semantic.builder.options.arch, str)
    if core._unwrap_if_constexpr(size) > 64:
        raise ValueError(f"too large for {_semantic.builder.options.backend_name}")


def test_a_builtin_that_only_checks(target, x):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        refuse_large(N)
        tl.store(out_ptr + i, tl.load(x_ptr + i))

    np.testing.assert_array_equal(run(kernel, x), x)
    with pytest.raises(triton.CompilationError, match="too large for"):
        run(kernel, np.zeros(128, np.float32))


@core.extern
def root(x, of_three=False, _semantic=None):
    name = "cbrt" if core._unwrap_if_constexpr(of_three) else "sqrt"
    return core.extern_elementwise("", "", [x], {(FP32,): (f"__nv_{name}f", FP32), (FP64,): (f"__nv_{name}", FP64)}, is_pure=True,
                                   _semantic=_semantic)


def test_constants_choose_the_symbol(target, x):
    """Once a marked function ran a single time, with placeholders, which were all true."""
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr, THREE: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, root(tl.load(x_ptr + i), THREE))

    x = np.abs(x)
    np.testing.assert_allclose(run(kernel, x, THREE=False), np.sqrt(x), rtol=1e-6)
    np.testing.assert_allclose(run(kernel, x, THREE=True), np.cbrt(x), rtol=1e-6)


@core.builtin
def rotated(x, by, _semantic=None):
    by = core._unwrap_if_constexpr(by)
    return core.inline_asm_elementwise(f"shf.l.wrap.b32 $0, $1, $1, {by};", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1,
                                       _semantic=_semantic)


def test_assembly_that_python_writes():
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr, BY: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, rotated(tl.load(x_ptr + i), BY))

    kernel.target = "ptxvm"
    x = np.arange(32, dtype=np.int32) - 7
    bits = x.view(np.uint32)
    for by in (5, 9):
        np.testing.assert_array_equal(run(kernel, x, BY=by).view(np.uint32), bits << by | bits >> 32 - by)


@core.builtin
def swapped(pointers, _semantic=None, *, _generator):
    """Reads through the pointer, by types of computed values; unpacks computed tuples; calls a function of the language."""
    x = tl.load(pointers, _semantic=_semantic)
    assert core._unwrap_shape(x.shape) == core._shape_check_impl(core._unwrap_iterable((x.shape, ))) == [32]
    assert core._unwrap_iterable((core.constexpr(4), 8)) == (4, 8) and x.dtype == pointers.dtype.element_ty and x.numel.value == 32
    left, right = x.reshape([x.shape[0] // 2, 2], _semantic=_semantic).split(_semantic=_semantic)
    assert left.shape == (16,)
    joined = tl.join(right, _generator.call_JitFunction(negated, (left,), {}), _semantic=_semantic)
    return joined.reshape([joined.numel], _semantic=_semantic)


@triton.jit
def negated(x):
    return -x


def test_types_of_computed_values(target, x):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, swapped(x_ptr + i))

    np.testing.assert_array_equal(run(kernel, x), np.stack([x[1::2], -x[::2]], 1).reshape(-1))


@core.builtin
def table(x, _semantic=None):
    column = x.__getitem__((slice(None), None), _semantic=_semantic)
    row = x.__neg__(_semantic=_semantic).__getitem__((None, slice(None)), _semantic=_semantic)
    column = tl.where(column.__eq__(row, _semantic=_semantic), column, column, _semantic=_semantic)
    return tl.max(column.__add__(row, _semantic=_semantic).__rsub__(1.0, _semantic=_semantic), 1, _semantic=_semantic)


def test_operators_with_the_semantic(target, x):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, table(tl.load(x_ptr + i)))

    np.testing.assert_allclose(run(kernel, x), (1 - (x[:, None] - x[None, :])).max(1), rtol=1e-6)


@core.builtin
def with_one_more(values, one, _semantic=None):
    return tl.tuple([*values.values, one])


def test_tuples_that_grow(target, x):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        values = ()
        for k in tl.static_range(3):
            values = with_one_more(values, tl.load(x_ptr + i) + k)
        tl.store(out_ptr + i, values[0] + values[1] * values[2])

    np.testing.assert_allclose(run(kernel, x), x + (x + 1) * (x + 2), rtol=1e-6)


@core._aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    @triton.constexpr_function
    def __init__(self, first, second):
        self.first, self.second = first, second

    def get_second(self, _semantic=None):
        return self.second

    def total(self, _semantic=None):
        return _semantic.add(self.first, self.second, True)


def test_methods_of_aggregates_that_python_runs(target, x):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        pair = Pair(tl.load(x_ptr + i), 5.0)
        tl.store(out_ptr + i, pair.total() * pair.get_second())

    np.testing.assert_allclose(run(kernel, x), (x + 5) * 5, rtol=1e-6)


@core.builtin
def asks_too_much(x, what, _semantic=None):
    if what.value == "builder":
        return _semantic.builder.create_fadd(x, x)
    if what.value == "bool":
        return x if _semantic.equal(x, 1.0) else 2
    return x.sin(_semantic=None)


@pytest.mark.parametrize("what,text", [
    ("builder", "`_semantic.builder.create_fadd` builds an operation of upstream's compiler"),
    ("bool", "is not known while the kernel is compiled"), ("semantic", "`sin` of a run-time value needs _semantic=_semantic")])
def test_what_a_builtin_cannot_know(x, what, text):
    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr, WHAT: tl.constexpr):
        tl.store(out_ptr, asks_too_much(tl.load(x_ptr), WHAT))

    with pytest.raises(triton.CompilationError, match=text):
        run(kernel, x, WHAT=what)
