"""Random programs with products in loops: every target leaves the numbers behind that exact arithmetic gives."""
import ml_dtypes
import numpy as np
import pytest
import torch

import devices
import dot_programs
from differences import kernel_of
from dot_programs import generate

PROGRAMS = 120
ON_DEVICE = {"sim": 90, "cuda": 300}


def is_buffered(seed):
    """Returns true for programs that carry operands through loops and branches and make them of products in 16 bits."""
    return seed % 2 == 0


def as_argument(array):
    """NumPy arrays go in as they are; bf16, which NumPy lacks, as a tensor over the same memory."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return array


def check(program, kernel, target):
    arrays = program.memory()
    kernel.target = target
    kernel[program.grid](*map(as_argument, arrays), *program.scalars.values(), **program.options)
    for buffer, found, right in zip(program.buffers, arrays, dot_programs.expected(program)):
        found, right = found.astype(np.float64), right.astype(np.float64)
        wrong = np.flatnonzero(found != right)  # the sign of a zero depends on the order of a sum
        assert wrong.size == 0, (
            f"seed {program.seed} on {target}, {buffer.name} ({buffer.dtype}): {wrong.size} of {buffer.count} elements differ, first at "
            f"{wrong[0]}: {found[wrong[0]]}, should be {right[wrong[0]]}\n{program.source}\n{program.scalars} {program.options}")


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_host_targets_are_exact(seed, tmp_path):
    program = generate(seed, is_buffered(seed))
    kernel = kernel_of(program, tmp_path)
    check(program, kernel, "interp")
    check(program, kernel, "cpu")


MARKS = {"sim": pytest.mark.sim, "cuda": pytest.mark.gpu}


@pytest.mark.parametrize("target, seed", [pytest.param(device, seed, marks=MARKS[device], id=f"{device}-{seed}")
                                          for device, count in ON_DEVICE.items() for seed in range(count)])
def test_devices_are_exact(target, seed, tmp_path, monkeypatch):
    program = generate(seed, is_buffered(seed))
    devices.use(target, monkeypatch)
    check(program, kernel_of(program, tmp_path), devices.TARGET_OF[target])


def test_programs_are_of_many_kinds():
    """The generator must not silently stop making what it is for."""
    programs = [generate(seed, is_buffered(seed)) for seed in range(300)]
    text = "".join(program.source for program in programs)
    for form in ["+= tl.dot(", ", acc=", "tl.trans(tl.load(", ".T", "tl.permute(", " % n", "mask=", "other=", "ptr", "    if ", "tl.int32",
                 "tl.bfloat16", "out_dtype=tl.float16", "next", "input_precision", "num_stages=", "axis=1", "[:, None, None]",
                 "tl.maximum(", "tl.where(", "sign", ".to(tl.int8)", "= tl.full("]:
        assert text.count(form) >= 8, form
    for name, values in (("num_warps", {1, 2, 4, 8}), ("num_stages", {1, 2, 3, 4})):
        assert {program.options[name] for program in programs} == values
    assert all(generate(seed).source == generate(seed).source for seed in range(20))


def test_values_stay_exact():
    """No program may store a value that its type does not hold, or the comparison would judge rounding."""
    for seed in range(200):
        program = generate(seed, is_buffered(seed))
        for buffer, array in zip(program.buffers, dot_programs.expected(program)):
            assert np.abs(array.astype(np.float64)).max() <= dot_programs.EXACT[buffer.dtype], seed


KNOWN = """
import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(p0, p1, p2):
    a = tl.load(p0 + tl.arange(0, 3)[:, None, None] * 64 + tl.arange(0, 4)[None, :, None] * 16 + tl.arange(0, 16)[None, None, :])
    b = tl.load(p1 + tl.arange(0, 3)[:, None, None] * 112 + tl.arange(0, 7)[None, :, None] * 16 + tl.arange(0, 16)[None, None, :])
    c = tl.dot(a, tl.permute(b, (0, 2, 1)))
    tl.store(p2 + tl.arange(0, 3)[:, None, None] * 28 + tl.arange(0, 4)[None, :, None] * 7 + tl.arange(0, 7)[None, None, :], c)
"""


@pytest.mark.sim
def test_three_batches_of_a_permuted_operand(tmp_path, monkeypatch):
    """Found by the random programs: the second operand was read beyond the shared memory that holds it."""
    program = dot_programs.Program(0, KNOWN.lstrip(), [dot_programs.Buffer("p0", "float32", 192, 3), dot_programs.Buffer("p1", "float32", 336, 3),
                                              dot_programs.Buffer("p2", "float32", 84, 0)], options=dict(num_warps=4))
    devices.use("sim", monkeypatch)
    check(program, kernel_of(program, tmp_path), "ptxvm")
