"""Kernels that stand beside plain products and softmax in what people run (bench/gpu/work), on every target, against float64."""
import importlib.util
import re
import sys
from pathlib import Path

import pytest
import torch

BENCH = Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(BENCH))

import form_cases
import model_cases
import more_work_cases
import work_cases

BEHIND_ADDRESSES = {"products of a list"}  # addresses in memory are the host's, and the machine knows only of arguments
WITHOUT_PRODUCTS = {"rows", "updates"}
CASES = [(work, stages) for work in [*work_cases.WORK, *more_work_cases.WORK, *model_cases.WORK, *form_cases.WORK]
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


class Compiled:
    """Stands in for a kernel: a launch compiles for the architecture that multiplies by several warps, and runs nothing."""

    def __init__(self, kernel):
        self.kernel, self.texts = kernel, []

    def __getitem__(self, grid):
        return lambda *arguments, **options: self.texts.append(
            self.kernel.warmup(*arguments, grid=grid, arch="sm90a", **options).asm["ptx"])


@pytest.mark.sim
@pytest.mark.parametrize("work", form_cases.WORK, ids=lambda work: work.name)
def test_products_run_on_several_warps_however_they_are_written(work, monkeypatch):
    """Each configuration of the benchmark: one product that falls back to an instruction of one warp costs half of the speed."""
    module = module_of(work.source)
    kernels = {name: Compiled(kernel) for name, kernel in vars(module).items() if name.endswith("_kernel")}
    for name, kernel in kernels.items():
        kernel.kernel.target = "ptxvm"
        monkeypatch.setattr(module, name, kernel)
    size = {name: value for name, value in work.small.items() if name != "config"}
    s = work_cases.made(work, torch.Generator().manual_seed(1), **size)
    for config in work.configs:
        work.call(module, s, **config)
    texts = [text for kernel in kernels.values() for text in kernel.texts]
    assert len(texts) == len(work.configs)
    single = 8 if "8 bits" in work.name else 16
    for text in texts:
        assert "wgmma.mma_async" in text and "\tmma.sync" not in text
        if "attention" in work.name:  # whose weights go to shared memory by pairs, if at all
            assert not re.search(rf"st\.shared\.[bu]{single}\b", text)
