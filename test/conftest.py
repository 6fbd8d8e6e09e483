"""What every Python test shares: the targets, and where the example kernels are."""
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

TARGETS = ["interp", "cpu"]


@pytest.fixture(params=TARGETS)
def target(request, monkeypatch):
    """Runs the test once on each target; launches of the package go there."""
    import tegula

    monkeypatch.setenv("TEGULA_TARGET", "cpu")  # restored behind the test
    tegula.set_target(request.param)
    yield request.param
    tegula.set_target("cpu")


@pytest.fixture
def build_dir():
    return Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))
