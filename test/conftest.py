"""What every Python test shares: the targets, where the example kernels are, and running a share of the tests."""
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

DEVICES = ["sim", "cuda"]
TARGETS = ["interp", "cpu", pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(params=TARGETS)
def target(request, monkeypatch):
    """Runs the test once on each target; launches of the package go there."""
    import tegula

    monkeypatch.setenv("TEGULA_TARGET", "cpu")  # restored behind the test
    if request.param in DEVICES:
        import devices

        devices.use(request.param, monkeypatch)
    else:
        tegula.set_target(request.param)
    yield request.param
    tegula.set_target("cpu")


@pytest.fixture
def build_dir():
    return Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """On a device, an op that is refused by name skips the test, with what was said."""
    outcome = yield
    if outcome.excinfo and getattr(item, "callspec", None) and item.callspec.params.get("target") in DEVICES:
        import devices

        said = devices.refusal(outcome.excinfo[1])
        if said:
            outcome.force_exception(pytest.skip.Exception(f"refused: {said}", _use_item_location=True))


# --- a share of the tests, for machines on which time is dear (tools/gpu.py) -----------------


def pytest_addoption(parser):
    parser.addoption("--share", metavar="I/N", help="run every Nth test, from the Ith")
    parser.addoption("--report", metavar="FILE", help="write outcomes and reasons as JSON")


@pytest.hookimpl(trylast=True)  # behind the choice by marks, so that the shares are even
def pytest_collection_modifyitems(config, items):
    share = config.getoption("--share")
    if share:
        index, count = map(int, share.split("/"))
        items[:] = items[index::count]


class Report:

    def __init__(self, path):
        self.path, self.outcomes, self.reasons, self.failures = path, {}, Counter(), []

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.outcome == "passed":
            return
        suite = report.nodeid.removeprefix("test/").split("/")[0]
        self.outcomes.setdefault(suite, Counter())[report.outcome] += 1
        if report.outcome == "skipped":
            self.reasons[report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)] += 1
        elif report.outcome == "failed":
            crash = getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr))
            self.failures.append({"test": report.nodeid, "error": crash[:500]})

    def pytest_sessionfinish(self, session):
        data = {"outcomes": self.outcomes, "skipped": self.reasons, "failures": self.failures}
        Path(self.path).write_text(json.dumps(data) + "\n")


def pytest_configure(config):
    if config.getoption("--report"):
        config.pluginmanager.register(Report(config.getoption("--report")))
