"""Kernels that stand beside plain products and softmax in what people run (bench/gpu/work), on every target, against float64."""
import importlib.util
import sys
from pathlib import Path

import pytest
import torch

BENCH = Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(BENCH))

import model_cases
import more_work_cases
import work_cases

BEHIND_ADDRESSES = {"products of a list"}  # addresses in memory are the host's, and the machine knows only of arguments
WITHOUT_PRODUCTS = {"rows", "updates"}
CASES = [(work, stages) for work in [*work_cases.WORK, *more_work_cases.WORK, *model_cases.WORK]
         for stages in ((1, 3) if work.source not in WITHOUT_PRODUCTS else (1,))]


def module_of(source):
    spec = importlib.util.spec_from_file_location(source, BENCH / "work" / f"{source}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("work, stages", CASES, ids=lambda value: getattr(value, "name", value))
def test_beside_a_reference(target, work, stages):
    if target in ("sim", "cuda") and work.name in BEHIND_ADDRESSES:
        pytest.skip("the tables hold addresses of the host's memory")
    size = dict(work.small)
    config = size.pop("config")
    s = work_cases.made(work, torch.Generator().manual_seed(1), **size)
    for name in work.outputs:
        if name not in work.kept:
            s[name].fill_(float("nan") if s[name].dtype.is_floating_point else -7)
    work.call(module_of(work.source), s, **config, num_stages=stages)
    assert work_cases.off(work, s) <= work.allowed
