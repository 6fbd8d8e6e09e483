"""tl.static_print says what Python's print would, compiled and where Python runs the kernel."""
import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@pytest.mark.parametrize("is_interpreted", [False, True])
def test_lines_are_those_of_python(is_interpreted, monkeypatch, capsys):
    if is_interpreted:
        monkeypatch.setenv("TEGULA_INTERPRET", "1")

    @triton.jit
    def kernel(out, n):
        tl.static_print((1, 2))
        tl.static_print((1, ), "x", end="|")
        tl.static_print(5, end="")
        tl.static_print("z")
        tl.static_print("a", 1, sep="-", end=None)
        tl.static_print("%s|%03d" % (n.dtype, 7))
        tl.static_print()
        tl.store(out, tl.tensor.sum(tl.arange(0, 4) + n, 0).__add__(2))

    out = np.zeros(1, np.int32)
    kernel[(1, )](out, 3)
    assert capsys.readouterr().out == "(1, 2)\n(1,) x|5z\na-1\nint32|007\n\n"
    assert out[0] == 20


def test_a_line_without_an_end_is_printed(capsys):

    @triton.jit
    def kernel(out):
        tl.store(out, 1)
        tl.static_print("no end", end="")

    kernel[(1, )](np.zeros(1, np.int32))
    assert capsys.readouterr().out == "no end\n"


def test_all_lines_are_printed(capsys):

    @triton.jit
    def kernel(out):
        for i in tl.static_range(300):
            tl.static_print("trip", i)
        tl.store(out, 1)

    kernel[(1, )](np.zeros(1, np.int32))
    assert capsys.readouterr().out == "".join(f"trip {i}\n" for i in range(300))


def test_lines_ahead_of_an_error_are_printed_and_are_no_part_of_it(capsys):

    @triton.jit
    def kernel(out):
        tl.static_print("so far")
        tl.store(out, missing)  # noqa: F821

    with pytest.raises(triton.CompilationError) as caught:
        kernel[(1, )](np.zeros(1, np.int32))
    assert capsys.readouterr().out == "so far\n"
    assert "error: " in str(caught.value).split("\n")[0] and "so far" not in str(caught.value)
