"""Kernels that a program makes of a text, and whose place it tells: JITFunction, _unsafe_update_src, assigned attributes. So do
libraries that specialize a kernel for the functions that it calls."""
import inspect
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

TEXT = "def scale(x_ptr, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    tl.store(x_ptr + i, n * 2.0, mask=i < n)\n"


def defined(text, **attributes):
    """A kernel of another function's code, the signature of the text, and then the text."""

    def empty():
        pass

    scope = {"tl": tl, "triton": triton}
    exec(text, scope)
    function = types.FunctionType(empty.__code__, scope, "scale")
    function.__signature__ = inspect.signature(scope["scale"])
    kernel = triton.JITFunction(function, **attributes)
    kernel._unsafe_update_src(text)
    return kernel


def values_of(kernel, n):
    x = np.zeros(8, np.float32)
    kernel[(1,)](x, n, 8)
    return x.tolist()


@pytest.mark.parametrize("attributes", [{"do_not_specialize": ["n"]}, {"do_not_specialize_on_alignment": [1]},
                                        {"do_not_specialize": ["n"], "repr": lambda specialization: "named"}])
def test_marks_of_parameters_leave_the_text_to_be_updated(attributes):
    kernel = defined(TEXT, **attributes)
    assert values_of(kernel, 1) == [2.0] + [0.0] * 7
    with pytest.raises(RuntimeError, match="`scale` was compiled already"):
        kernel._unsafe_update_src(TEXT)


def test_marks_count_for_the_updated_text():
    assert values_of(defined(TEXT), 1) == values_of(defined(TEXT, do_not_specialize=["n"]), 1)
    for attributes, count in (({}, 3), ({"do_not_specialize": ["n"]}, 1), ({"do_not_specialize_on_alignment": ["n"]}, 2)):
        kernel = defined(TEXT, **attributes)
        handles = {id(kernel.warmup(np.zeros(8, np.float32), n, 8, grid=(1,))) for n in (1, 3, 16)}
        assert len(handles) == count, attributes


def unmarked(x_ptr, n):
    tl.store(x_ptr, n)


def test_marks_are_kept_by_a_pickle_and_for_threads_that_start_together():
    other = triton.JITFunction.__new__(triton.JITFunction)
    other.__setstate__(triton.JITFunction(unmarked, do_not_specialize=["n"]).__getstate__())
    x = np.zeros(1, np.float32)
    assert other.warmup(x, 1, grid=(1,)) is other.warmup(x, 16, grid=(1,))
    for _ in range(20):
        kernel, made = triton.JITFunction(unmarked, do_not_specialize=["n"]), []
        threads = [threading.Thread(target=lambda kernel, made, n: made.append(kernel.warmup(x, n, grid=(1,))),
                                    args=(kernel, made, n)) for n in (1, 3, 16, 64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4


def test_a_text_that_cannot_be_read_is_refused_at_each_launch():
    function = types.FunctionType(compile("def f(x_ptr, n): pass", "<nowhere>", "exec").co_consts[0], {}, "f")
    kernel = triton.JITFunction(function, do_not_specialize=["n"])
    for _ in range(2):
        with pytest.raises(ValueError, match="the source of `f`"):
            kernel.warmup(np.zeros(1, np.float32), 1, grid=(1,))


class Nested:

    @triton.jit
    def kernel(x_ptr):
        tl.store(x_ptr, 1)


def test_the_place_of_a_kernel():
    kernel = Nested.kernel
    assert kernel.raw_src[0].strip() == "@triton.jit" and kernel.file_name == __file__
    lines = Path(__file__).read_text().splitlines()
    assert lines[kernel.starting_line_number - 1].strip() == "@triton.jit"
    assert (kernel.def_file_line_number, kernel.def_file_col_number) == (kernel.starting_line_number + 1, 5)
    assert lines[kernel.def_file_line_number - 1][kernel.def_file_col_number - 1:].startswith("def kernel(")


def test_the_place_is_assigned_and_errors_tell_it():
    kernel = defined("def scale(x_ptr, n, B: tl.constexpr):\n    tl.store(x_ptr, nothing)\n")
    kernel.raw_src = triton.jit(unmarked).raw_src
    kernel.starting_line_number, kernel.def_file_line_number, kernel.def_file_col_number = 40, 41, 1
    kernel.file_name = "/elsewhere/template.py"
    assert kernel.raw_src == triton.jit(unmarked).raw_src and kernel.src.startswith("def scale(")
    with pytest.raises(triton.CompilationError, match="/elsewhere/template.py:42:") as caught:
        values_of(kernel, 1)
    assert caught.value.diagnostics[0].line == 42
