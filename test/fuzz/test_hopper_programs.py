"""Random programs of Hopper's shapes, and of accesses of one argument that meet, on the PTX machine: every one leaves the numbers behind that
exact arithmetic gives, without a finding, whenever copies arrive."""
import ml_dtypes
import numpy as np
import pytest
import torch

import devices
import hopper_programs
import memory_programs
from differences import kernel_of
from tegula.tools.tensor_descriptor import TensorDescriptor

COPIES, SCHEDULES = ["late", "at-once", "random"], ["round-robin", "random", "priority", "apart"]
HOPPER, MEMORY = range(80), range(60)  # seeds


def as_tensor(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def simulate(module, seed, folder, monkeypatch):
    """Runs a program on the machine in an order of its own; returns its kernel as compiled."""
    monkeypatch.setenv("TEGULA_SIM_ARCH", "sm_90a")
    monkeypatch.setenv("TEGULA_SIM_COPIES", COPIES[seed % 3])
    monkeypatch.setenv("TEGULA_SIM_SCHEDULE", SCHEDULES[seed // 3 % 4])
    monkeypatch.setenv("TEGULA_SIM_SEED", str(seed))
    devices.use("sim", monkeypatch)
    return check(module, seed, folder, devices.TARGET_OF["sim"])


def check(module, seed, folder, target):
    """Runs a program and compares; returns its kernel as compiled."""
    program = module.generate(seed)
    arrays = program.memory()
    host = {buffer: TensorDescriptor(as_tensor(arrays[buffer]), shape, strides, block)
            for _, buffer, shape, strides, block in program.descriptors}
    arguments = [as_tensor(array) for number, array in enumerate(arrays) if number not in host] + list(host.values())
    kernel = kernel_of(program, folder)
    kernel.target = target
    compiled = kernel[program.grid](*arguments, *program.scalars.values(), **program.options)
    for buffer, found, right in zip(program.buffers, arrays, module.expected(program)):
        found, right = found.astype(np.float64), right.astype(np.float64)
        wrong = np.flatnonzero((found != right) & ~(np.isnan(found) & np.isnan(right)))
        assert wrong.size == 0, (f"seed {seed}, {buffer.name}: {wrong.size} of {buffer.count} elements differ, first at {wrong[0]}: "
                                 f"{found[wrong[0]]}, should be {right[wrong[0]]}\n{program.source}\n{program.scalars} {program.options}")
    return compiled


@pytest.mark.sim
@pytest.mark.parametrize("seed", HOPPER)
def test_loops_of_products_are_exact(seed, tmp_path, monkeypatch):
    try:
        simulate(hopper_programs, seed, tmp_path, monkeypatch)
    except Exception as error:  # slots beyond a program's shared memory are refused, with a hint
        assert "out of resource: shared memory" in str(error), error


@pytest.mark.sim
@pytest.mark.parametrize("seed", MEMORY)
def test_accesses_of_one_argument_are_in_order(seed, tmp_path, monkeypatch):
    simulate(memory_programs, seed, tmp_path, monkeypatch)


def test_programs_are_of_many_kinds():
    """The generators must not silently stop making what they are for."""
    text = "".join(hopper_programs.generate(seed).source for seed in range(300))
    for form in ["tl.make_block_ptr(", "tl.make_tensor_descriptor(", "host0.load(", "tl.advance(", "while ", "tl.trans(", ".T", "boundary_check=",
                 "other=0.0", ".to(tl.int64)", "tl.atomic_add(", "eviction_policy", "num_stages=", "dk", "block", "best", "tl.store(notes", "tl.load(notes"]:
        assert text.count(form) >= 8, form
    assert text.count("    return") >= 4
    assert len({tuple(hopper_programs.generate(seed).options.items()) for seed in range(100)}) > 12
    text = "".join(memory_programs.generate(seed).source for seed in range(300))
    for form in ["tl.store(", "tl.atomic_max(", "tl.debug_barrier()", "tl.sort(", "tl.cumsum(", "tl.gather(", "for ", "if ", "mask=", "at1, at2 = at2, at1",
                 "tl.flip(", ", sem="]:
        assert text.count(form) >= 8, form
    for module in (hopper_programs, memory_programs):
        assert all(module.generate(seed).source == module.generate(seed).source for seed in range(20))


def test_values_stay_exact():
    """No program may store a value that its type does not hold, or read what it must not."""
    for module in (hopper_programs, memory_programs):
        for seed in range(40):
            program = module.generate(seed)
            with np.errstate(invalid="ignore"):
                for buffer, array in zip(program.buffers, module.expected(program)):
                    if buffer.values is None:
                        assert np.abs(array.astype(np.float64)).max(initial=0) <= 2**24, (module.__name__, seed)
