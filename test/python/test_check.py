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
