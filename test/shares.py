"""Running a share of the tests, for machines on which time is dear: what tools/gpu.py asks of pytest.

`--share I/N@K`: of the tests chosen every Nth, from the Ith; of these all from the Kth. `--report FILE`: outcomes and
reasons as JSON, written after each test, with the number of tests done and the one under way: a process that hangs
or dies leaves behind where. A test that loses the device ends the run, since nothing can run on it behind.
"""
import json
from collections import Counter
from pathlib import Path

import pytest

LOST = ["illegal memory access", "illegal address", "launch failure", "launch failed", "device-side assert", "misaligned address",
        "illegal instruction", "hardware stack error", "launch timed out", "context is destroyed"]


def loses_device(message):
    message = message.lower().replace("_", " ")
    return any(sign in message for sign in LOST)


def pytest_addoption(parser):
    parser.addoption("--share", metavar="I/N@K", help="run every Nth test, from the Ith; of these all from the Kth")
    parser.addoption("--report", metavar="FILE", help="write outcomes and reasons as JSON")


def part(text):
    numbers, _, start = text.partition("@")
    index, count = map(int, numbers.split("/"))
    return index, count, int(start or 0)


@pytest.hookimpl(trylast=True)  # behind the choice by marks, so that the shares are even
def pytest_collection_modifyitems(config, items):
    if config.getoption("--share"):
        index, count, start = part(config.getoption("--share"))
        items[:] = items[index::count][start:]


class Report:

    def __init__(self, path):
        self.path, self.session = Path(path), None
        self.data = {"outcomes": {}, "skipped": Counter(), "failures": [], "done": 0, "under way": None, "ended": False}

    def write(self):
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self.data) + "\n")
        partial.replace(self.path)

    def pytest_sessionstart(self, session):
        self.session = session

    def pytest_runtest_logstart(self, nodeid):
        self.data["under way"] = nodeid
        self.write()

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.outcome == "passed":
            return
        suite = report.nodeid.removeprefix("test/").split("/")[0]
        self.data["outcomes"].setdefault(suite, Counter())[report.outcome] += 1
        if report.outcome == "skipped":
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.data["skipped"][reason] += 1
        elif report.outcome == "failed":
            crash = getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr))
            self.data["failures"].append({"test": report.nodeid, "error": crash[:500]})
            if loses_device(crash):
                self.session.shouldstop = "the device was lost"

    def pytest_runtest_logfinish(self, nodeid):
        self.data["done"] += 1
        self.data["under way"] = None
        self.write()

    def pytest_sessionfinish(self, session):
        self.data["ended"] = not session.shouldstop
        self.write()


def pytest_configure(config):
    if config.getoption("--report"):
        config.pluginmanager.register(Report(config.getoption("--report")))
