"""Runs the programs beside this file and in examples/programs: their functions `check_...(device)` compare with
float64 references. A program that a target cannot run says so in `NOT_ON`, with the reason.
"""
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "programs"
FOLDERS = [Path(__file__).parent, EXAMPLES]
sys.path[:0] = map(str, FOLDERS)
NO_PROGRAMS = ["beside", "check", "conftest", "test_programs"]
NAMES = sorted(path.stem for folder in FOLDERS for path in folder.glob("*.py") if path.stem not in NO_PROGRAMS)
PROGRAMS = {name: importlib.import_module(name) for name in NAMES}
CHECKS = [(name, check) for name in NAMES for check in sorted(vars(PROGRAMS[name])) if check.startswith("check_")]


@pytest.mark.parametrize("name, check", CHECKS, ids=[f"{name}-{check[6:]}" for name, check in CHECKS])
def test_beside_a_reference(device, target, name, check):
    reason = getattr(PROGRAMS[name], "NOT_ON", {}).get(target)
    if reason:
        pytest.skip(reason)
    getattr(PROGRAMS[name], check)(device)


def test_there_are_sixty():
    assert len(NAMES) >= 60


def test_examples_run_by_themselves():
    ran = subprocess.run([sys.executable, "-m", "tegula", EXAMPLES / "check.py", "rotary"], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout.count(": right\n") == 2, ran.stdout + ran.stderr
