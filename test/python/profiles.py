"""The tests of triton.profiler share this: a folder and no session for each test, a kernel with launch_metadata, and readers
of files."""
import json

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
import tegula.profiler as proton
from tegula.profiler import scopes, sessions


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Each test has a folder of its own, and no session before and after."""
    monkeypatch.chdir(tmp_path)
    yield
    for number in list(sessions._sessions):
        proton.finalize(number)
    assert not triton.knobs.runtime.launch_enter_hook and not scopes.entries() and not sessions._pending


def describe(grid, metadata, args):
    return {"name": f"fill [{args['n']}]", "flops32": 2.0 * args["n"], "bytes": 4 * args["n"], "others": "are left out"}


@triton.jit(launch_metadata=describe)
def fill(x_ptr, n, B: tl.constexpr):
    offsets = tl.arange(0, B)
    tl.store(x_ptr + offsets, 3.0, mask=offsets < n)


def launch(n=5, kernel=fill):
    kernel[(1,)](np.zeros(8, np.float32), n, B=8)


def read(name="proton"):
    with open(f"{name}.hatchet") as file:
        return json.load(file)


def shape(node):
    """Names and counts of a frame's children: {name: count or {...}}."""
    return {child["frame"]["name"]: shape(child) or child["metrics"].get("count") for child in node["children"]}


def finish():
    proton.finalize()
    return read()[0]


def frame(root, *path):
    for name in path:
        root, = (child for child in root["children"] if child["frame"]["name"] == name)
    return root
