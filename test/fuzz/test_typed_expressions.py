"""Expressions of every type (bench/gpu/typed_expressions.py) give on each target what the interpreter gives, and their type."""
import importlib.util
import random
import sys
from pathlib import Path

import pytest
import torch

import tegula

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "gpu"))
import typed_expressions  # noqa: E402
from typed_expressions import N  # noqa: E402

JOBS, SHARES = random.Random(11).sample(typed_expressions.jobs(), 160), 8


def run(folder, number, job):
    path = folder / f"typed_{number}.py"
    path.write_text(typed_expressions.source(job))
    spec = importlib.util.spec_from_file_location("typed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, y = (typed_expressions.values(name, seed) for seed, name in enumerate(job[:2]))
    floats, integers, meta = torch.full((N,), 7.0, dtype=torch.float64), torch.full((N,), 7), torch.zeros(1, dtype=torch.int32)
    try:
        module.typed_kernel[(1,)](x, y, x.clone(), floats, integers, meta, N)
    except tegula.CompilationError as error:
        return error.kind
    return meta.item(), floats, integers


@pytest.mark.parametrize("target", ["cpu", pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)], indirect=True)
@pytest.mark.parametrize("share", range(SHARES))
def test_targets_agree_with_the_interpreter(share, target, tmp_path):
    jobs = JOBS[share::SHARES]
    found = [run(tmp_path, number, job) for number, job in enumerate(jobs)]
    tegula.set_target("interp")
    taken = 0
    for number, (job, own) in enumerate(zip(jobs, found)):
        wanted = run(tmp_path, number, job)
        if isinstance(wanted, str) or isinstance(own, str):
            assert own == wanted, job  # refused by the same name
            continue
        taken += 1
        assert own[0] == wanted[0], (job, own[0], wanted[0])
        rounding = 3e-7 if " / " in job[2] else 0.0  # f32 division rounds to 2 ulp on GPUs (N11)
        for mine, others in zip(own[1:], wanted[1:]):
            is_near = (mine == others) | (mine.isnan() & others.isnan()) | ((mine - others).abs() <= rounding * others.abs())
            differ = (~is_near).nonzero()[:3, 0]
            assert not len(differ), (job, [(mine[k].item(), others[k].item()) for k in differ])
    assert taken > 5


def test_all_types_and_kinds_are_among_them():
    jobs = typed_expressions.jobs()
    assert {a for a, _, _ in jobs} == {*typed_expressions.TYPES, *typed_expressions.EIGHT_BITS}
    for word in ("atomic_cas", "cumsum", "sort", "topk", "libdevice.", "rand", "bitcast", "x % y", "x > 0.1"):
        assert any(word in body for _, _, body in jobs), word
    assert len(set(jobs)) == len(jobs)
