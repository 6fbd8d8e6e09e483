"""Python functions that run while a kernel is compiled: their arguments, and what they raise."""
import traceback

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.constexpr_function
def scaled(x, by=2, *, plus=0):
    if by == 0:
        raise ValueError("by must not be 0")
    return x * by + plus


@triton.constexpr_function
def silent():
    raise KeyError


def compiled(body, **kwargs):
    """The value that a kernel stores."""
    out = np.zeros(1, np.float32)
    body.target = "interp"
    body[(1,)](out, **kwargs)
    return out[0]


def test_keywords_and_defaults():
    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        tl.store(out_ptr, scaled(N, plus=1) + scaled(by=N, x=10) + scaled(N, N, plus=N))

    assert compiled(kernel, N=3) == 7 + 30 + 12


def test_an_exception_is_told_with_its_text_and_place():
    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        tl.store(out_ptr, scaled(1, N))

    with pytest.raises(triton.CompilationError, match="constexpr_function `scaled` raised ValueError: by must not be 0") as caught:
        compiled(kernel, N=0)
    error = caught.value
    assert error.kind == "HostFunctionRaised"
    assert error.diagnostics[0].file == __file__ and "scaled(1, N)" in str(error)
    assert isinstance(error.__cause__, ValueError)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert frames[-1].name == "scaled" and frames[-1].filename == __file__
    assert compiled(kernel, N=1) == 1  # and the next compile knows nothing of it


def test_an_exception_within_a_helper_has_its_cause_too():
    @triton.jit
    def helper(N: tl.constexpr):
        return scaled(1, N)

    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        tl.store(out_ptr, helper(N))

    with pytest.raises(triton.CompilationError, match="by must not be 0") as caught:
        compiled(kernel, N=0)
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_exception_without_text():
    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, silent())

    with pytest.raises(triton.CompilationError, match=r"`silent` raised KeyError\b"):
        compiled(kernel)


def test_wrong_arguments_are_told_by_python():
    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, scaled(1, times=2))

    with pytest.raises(triton.CompilationError, match="raised TypeError: .*unexpected keyword argument 'times'"):
        compiled(kernel)


def test_an_exception_of_a_property_is_told():
    class Config:
        @property
        def N(self):
            raise RuntimeError("not configured yet")

    cfg = Config()

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, cfg.N)

    with pytest.raises(triton.CompilationError, match="raised RuntimeError: not configured yet") as caught:
        compiled(kernel)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_run_time_values_are_refused():
    @triton.jit
    def kernel(out_ptr, n):
        tl.store(out_ptr, scaled(n))

    with pytest.raises(triton.CompilationError, match="`scaled` raised TypeError: a run-time value of type int32 is not known"):
        compiled(kernel, n=5)


def test_other_python_functions_cannot_be_called():
    def plain(x):
        return x

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, plain(1))

    with pytest.raises(triton.CompilationError, match="without @triton.jit"):
        compiled(kernel)


@tl.constexpr
def successor(x):
    return x + 1


def test_constexpr_on_a_python_function():
    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        tl.store(out_ptr, successor(N))

    assert compiled(kernel, N=4) == 5 and successor(4) == 5


def test_a_function_of_the_language_by_name():
    @triton.jit
    def kernel(out_ptr, NAME: tl.constexpr):
        tl.store(out_ptr, getattr(tl, NAME)(4.0) + getattr(tl, "nothing", 3))

    assert compiled(kernel, NAME="sqrt") == 5


def mark(function):
    function.__triton_builtin__ = True
    return function


@mark
def first_or(a, b, *, _semantic):
    return b if isinstance(a, tl.constexpr) and a.value is None else a


@mark
def kind(a, _semantic=None):
    return tl.constexpr("constant" if isinstance(a, tl.constexpr) else "value" if isinstance(a, tl.tensor) else "?")


def test_functions_that_are_marked_as_builtins():
    """Inductor's if_mask: constants are tl.constexpr there, run-time values are passed through."""
    @triton.jit
    def kernel(out_ptr, GIVEN: tl.constexpr):
        x = tl.load(out_ptr) + 7
        tl.store(out_ptr, first_or(GIVEN, x) if kind(x) == "value" and kind(GIVEN) == "constant" else -1)

    assert compiled(kernel, GIVEN=None) == 7 and compiled(kernel, GIVEN=2) == 2


def test_defaults_that_python_evaluates():
    """The front end does not know NumPy; the definition was evaluated long before."""
    @triton.jit
    def helper(x, low: tl.constexpr = float(np.finfo(np.float16).min)):
        return tl.maximum(x, low)

    @triton.jit
    def kernel(out_ptr, v: tl.constexpr = int(np.iinfo(np.int16).max)):
        tl.store(out_ptr, v + helper(-1e9))

    assert compiled(kernel) == 32767 - 65504
