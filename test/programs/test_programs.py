"""Runs the programs beside this file: their functions `check_...(device)` compare with float64 references.

A program that a target cannot run says so in `NOT_ON`, with the reason.
"""
import importlib
from pathlib import Path

import pytest

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("conftest", "test_programs"))
PROGRAMS = {name: importlib.import_module(f"programs.{name}") for name in NAMES}
CHECKS = [(name, check) for name in NAMES for check in sorted(vars(PROGRAMS[name])) if check.startswith("check_")]


@pytest.mark.parametrize("name, check", CHECKS, ids=[f"{name}-{check[6:]}" for name, check in CHECKS])
def test_beside_a_reference(device, target, name, check):
    reason = getattr(PROGRAMS[name], "NOT_ON", {}).get(target)
    if reason:
        pytest.skip(reason)
    getattr(PROGRAMS[name], check)(device)
