"""kernel.check and the classic mistakes over all programs of this repository: what is found there is known, with the reason."""
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula import _tegula as core
from tegula.runtime.jit import JITFunction

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "test" / "programs", ROOT / "examples" / "programs"]
NO_PROGRAMS = ["beside", "check", "conftest", "test_programs"]
UNDERSTOOD = {
    ("binary_search.py", "NegativeDivision"): "the condition of the loop says that `right - left` is positive",
    ("strided_copies.py", "NegativeDivision"): "the next line adds n where the remainder is negative",
}


@triton.jit
def add_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1)


@pytest.mark.parametrize("kind", [np.zeros, torch.zeros])
def test_a_kernel_is_checked_for_its_arguments(kind):
    x, out = kind(100), kind(100)
    (finding, ) = add_one.check(x, out, 100, BLOCK=64, grid=lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), ))
    assert (finding.kind, finding.severity) == ("TailWithoutMask", 1) and "element 127 of `out_ptr`, which has 100" in finding.message
    assert finding.file == __file__ and "tl.store(out_ptr + i" in open(__file__).read().splitlines()[finding.line - 1]
    (finding, ) = add_one.check(kind(128)[:100], kind(128)[:100], 100, BLOCK=64, grid=(2, ))
    assert "same offsets" in finding.message  # the memory reaches further than the view
    assert not out.any()  # nothing ran


@triton.jit
def chosen_indices(x_ptr, out_ptr, n, LEAST: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (i < n) & (i >= LEAST)
    tl.store(out_ptr + i, tl.load(x_ptr + tl.where(inside, i, 0)), mask=inside)


@triton.jit
def chosen_where_outside(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.where(n <= i, n - 1, i), tl.load(x_ptr + tl.where(i < n, 0, i)))


@triton.jit
def triangle(out_ptr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, i * (i - STEP) // 2)


@triton.jit
def ends_of_rows(place_ptr, out_ptr, rows):
    row = tl.program_id(0) + tl.arange(0, 1)
    tl.store(out_ptr + row, tl.load(place_ptr + row + 1) - tl.load(place_ptr + row))


def test_what_a_condition_chooses_keeps_within_its_bounds():
    x, out = torch.zeros(100), torch.zeros(100)
    assert not chosen_indices.check(x, out, 100, LEAST=-5, BLOCK=64, grid=(2, ))
    assert not chosen_indices.check(x, out, 100, LEAST=3, BLOCK=64, grid=(2, ))
    (finding, ) = chosen_indices.check(torch.zeros(99), out, 100, LEAST=3, BLOCK=64, grid=(2, ))
    assert "element 99 of `x_ptr`, which has 99" in finding.message
    (finding, ) = chosen_where_outside.check(x, out, 100, BLOCK=64, grid=(2, ))
    assert "element 127 of `x_ptr`, which has 100" in finding.message


def test_products_of_neighbours_are_not_negative():
    assert not triangle.check(torch.zeros(16, dtype=torch.int32), STEP=1, BLOCK=16, grid=(1, ))
    (finding, ) = triangle.check(torch.zeros(16, dtype=torch.int32), STEP=2, BLOCK=16, grid=(1, ))
    assert finding.kind == "NegativeDivision"


def test_an_argument_that_nothing_reads_bounds_no_launch_that_stays_inside():
    assert not ends_of_rows.check(torch.zeros(11), torch.zeros(10), 10, grid=(10, ))
    findings = ends_of_rows.check(torch.zeros(10), torch.zeros(10), 10, grid=(10, ))
    assert ["element 10 of `place_ptr`" in each.message for each in findings] == [True]


def test_a_kernel_that_does_not_compile():
    with pytest.raises(triton.CompilationError):
        add_one.check(np.zeros(4), 3.5, 4, BLOCK=4)


@pytest.mark.slow
def test_programs_have_no_mistakes_that_are_not_understood(monkeypatch):
    found, seen = {}, set()

    def checked(function, grid):
        launch = core.launcher(function, grid)

        def run(*args, **kwargs):
            values = [*args, *kwargs.values()]
            key = function.__qualname__, str([getattr(value, "shape", value) for value in values])
            if key not in seen:
                seen.add(key)
                for row in function.check(*args, grid=grid, **kwargs):
                    if row.kind != "StaticPrint":
                        found.setdefault((Path(row.file).name, row.kind), f"line {row.line}: {row.message}")
            return launch(*args, **kwargs)

        return run

    triton.install_as_triton()
    monkeypatch.setattr(JITFunction, "__getitem__", checked)
    monkeypatch.setattr(sys, "path", [*map(str, FOLDERS), *sys.path])
    for name in sorted({path.stem for folder in FOLDERS for path in folder.glob("*.py")} - set(NO_PROGRAMS)):
        program = importlib.import_module(name)
        for check in sorted(vars(program)):
            if check.startswith("check_") and not {"cpu", "interp"} & set(getattr(program, "NOT_ON", {})):
                getattr(program, check)("cpu")
    assert len(seen) > 200
    assert {place: text for place, text in found.items() if place not in UNDERSTOOD} == {}
    assert set(UNDERSTOOD) == set(found)
