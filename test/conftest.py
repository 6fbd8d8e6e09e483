"""What every Python test shares: the targets, and where the example kernels are."""
import gc
import os
import sys
import tempfile
import zlib
from pathlib import Path

import pytest

from shares import pytest_addoption, pytest_collection_modifyitems, pytest_configure  # hooks of pytest

# Compiled kernels of these tests alone, and gone with them: no result of another build or run is found.
_cache = tempfile.TemporaryDirectory(prefix="tegula-test-")
os.environ["TEGULA_CACHE_DIR"] = _cache.name

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

DEVICES = ["sim", "cuda"]
TARGETS = ["interp", "cpu", pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)]


# With TRITON_INTERPRET=1 Python runs the kernels of the tests: test/python/test_interpreted_suites.py.
IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def choose_launches(item):
    """Half of the tests of devices run the code for programs that have a multiprocessor each, as launches of few do, the
    others that for many programs (decision 35): a test by its name always the same."""
    os.environ.pop("TEGULA_PROGRAMS_ALONE", None)
    if any(item.get_closest_marker(mark) for mark in ("sim", "gpu")):
        os.environ["TEGULA_PROGRAMS_ALONE"] = ("0", "1000000")[zlib.crc32(item.nodeid.encode()) % 2]


def pytest_collection_finish(session):
    gc.freeze()  # thousands of tests that stay would be gone through at each collection


def pytest_runtest_setup(item):
    choose_launches(item)
    if IS_INTERPRETED and item.get_closest_marker("compiled"):
        pytest.skip("Python runs one path of a kernel, and `print` is its own")


@pytest.fixture(params=["eager"] if IS_INTERPRETED else TARGETS)
def target(request, monkeypatch):
    """Runs the test once on each target; launches of the package go there."""
    import tegula

    if request.param == "eager":
        yield "interp"  # which is what carries out the operations
        return

    monkeypatch.setenv("TEGULA_TARGET", "cpu")  # restored behind the test
    if request.param in DEVICES:
        import devices

        devices.use(request.param, monkeypatch)
    else:
        tegula.set_target(request.param)
    import contract

    contract.target = request.param
    yield request.param
    tegula.set_target("cpu")


@pytest.fixture
def build_dir():
    return Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))
