"""The random kernels of the benchmark (bench/gpu/random_kernels), with few programs: every target computes what the interpreter does."""
import math
import sys
from collections import Counter
from pathlib import Path

import pytest

import tegula

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "gpu"))

import random_kernels
import sources
from random_kernels import data

SEEDS = [first + i for first, count in zip(random_kernels.KINDS, (60, 45, 40, 30), strict=True) for i in range(count)]
TARGETS = ["cpu", pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)]
# Of the largest element. Factors of f32 are cut to tf32 on GPUs.
ALLOWED = {"f32": 3e-3, "f16": 3e-3, "bf16": 8e-3, "i8": 0, "i32": 0}
MOST_JUMPS = 0.02  # the share of elements that may be others where one last place decides


def arch(seed):
    """Of the simulator."""
    return ["sm_80", "sm_90a"][seed % 2]


def results_of(kernel, module):
    tensors = data.made(kernel, "cpu")
    data.poison(kernel, tensors)
    data.launch(kernel, module, tensors)()
    return data.results(kernel, tensors)


def share_apart(found, right, allowed):
    found, right = found.double(), right.double()
    return (~((found - right).abs() <= allowed * right.abs().max())).double().mean().item()


def check(seed, folder):
    """Of the target that is set, beside the interpreter; leaves the latter set."""
    kernel = random_kernels.make(seed, is_small=True)
    (folder / "random.py").write_text(kernel.source)
    module = sources.load("random", "tegula", folder)
    found = results_of(kernel, module)
    tegula.set_target("interp")
    right = results_of(kernel, module)
    for tensor in kernel.tensors:
        if tensor.is_output:
            apart = share_apart(found[tensor.name], right[tensor.name], ALLOWED[tensor.dtype])
            assert apart <= (MOST_JUMPS if kernel.has_jumps else 0), (
                f"seed {seed}, {tensor.name}: {apart:.2%} of the elements differ\n{kernel}\n{kernel.source}\n"
                f"{kernel.grid} {kernel.sizes} {kernel.options}")


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("seed", SEEDS)
def test_targets_agree_with_the_interpreter(seed, target, tmp_path, monkeypatch):
    monkeypatch.setenv("TEGULA_SIM_ARCH", arch(seed))
    check(seed, tmp_path)


def test_a_seed_is_a_kernel():
    for seed in SEEDS:
        large, small = random_kernels.make(seed), random_kernels.make(seed, is_small=True)
        assert large == random_kernels.make(seed) and small == random_kernels.make(seed, is_small=True)
        assert (large.kind, large.options, large.source.count("\n")) == (small.kind, small.options, small.source.count("\n"))
        assert [(tensor.name, tensor.dtype) for tensor in large.tensors] == [(tensor.name, tensor.dtype) for tensor in small.tensors]


def test_small_kernels_have_few_programs_and_elements():
    for seed in [first + i for first in random_kernels.KINDS for i in range(300)]:
        kernel = random_kernels.make(seed, is_small=True)
        elements = sum(math.prod(tensor.shape) for tensor in kernel.tensors)
        assert math.prod(kernel.grid) <= 400 and elements <= 1 << 19, kernel


def test_all_kinds_come_up():
    """The generator must not silently stop making what it is for."""
    assert {random_kernels.make(seed).kind for seed in SEEDS} == random_kernels.names()
    kernels = [random_kernels.make(seed) for first in random_kernels.KINDS for seed in range(first, first + 1000)]
    kinds = Counter(kernel.kind for kernel in kernels)
    assert min(kinds.values()) >= 30, kinds
    text = "".join(kernel.source for kernel in kernels)
    for form in ["tl.sort(", "tl.cumsum(", "tl.argmax(", "tl.split(", "tl.gather(", "tl.make_block_ptr(", "tl.make_tensor_descriptor(", "tl.advance(", "% M",
                 "tl.atomic_add(", "tl.trans(", ".T", "tl.rand(", "num_stages=", "boundary_check", "return_indices=True", "tl.exp2(", "loop_unroll_factor=", "flatten=True", "tl.topk(",
                 "tl.associative_scan(", "tl.histogram(", "while "]:
        assert text.count(form) >= 3, form
