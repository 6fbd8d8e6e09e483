"""Random programs of tiles and products under control flow: every target leaves the numbers behind that exact arithmetic gives, and the assembler
leaves the registers of products under way alone."""
import ml_dtypes
import numpy as np
import pytest
import torch

import devices
import machine_code
import nested_programs
from differences import kernel_of
from nested_programs import generate
from tegula.errors import ToolchainError

HOST, SIMULATED = range(60), range(40)  # seeds
# Those of products of several warps on Hopper; the last ones were once found.
OF_SEVERAL_WARPS = [0, 4, 14, 16, 29, 66, 68, 85, 90, 94, 121, 124, 128, 149, 158, 161, 182, 185, 189, 200, 204, 222, 236, 244, 250, 5010376, 5011535, 31000628]
COPIES, SCHEDULES = ["late", "at-once", "random"], ["round-robin", "random", "priority", "apart"]
TORCH = {ml_dtypes.bfloat16: (np.int16, torch.bfloat16), ml_dtypes.float8_e4m3fn: (np.int8, torch.float8_e4m3fn),
         ml_dtypes.float8_e5m2: (np.int8, torch.float8_e5m2)}


def as_tensor(array):
    if array.dtype.type in TORCH:
        plain, dtype = TORCH[array.dtype.type]
        return torch.from_numpy(array.view(plain)).view(dtype)
    return torch.from_numpy(array)


def check(program, kernel, target):
    arrays = program.memory()
    for table in program.tables:
        arrays[table][:] = [arrays[number].ctypes.data for number in arrays[table]]
    kernel.target = target
    kernel[program.grid](*map(as_tensor, arrays), *program.scalars.values(), **program.options)
    for number, (buffer, found, right) in enumerate(zip(program.buffers, arrays, nested_programs.expected(program))):
        if number in program.tables:
            continue
        found, right = found.astype(np.float64), right.astype(np.float64)
        wrong = np.flatnonzero(found != right)
        assert wrong.size == 0, (f"seed {program.seed} on {target}, {buffer.name}: {wrong.size} of {buffer.count} elements differ, first at {wrong[0]}: "
                                 f"{found[wrong[0]]}, should be {right[wrong[0]]}\n{program.source}\n{program.grid} {program.scalars} {program.options}")


@pytest.mark.parametrize("seed", HOST)
def test_host_targets_are_exact(seed, tmp_path):
    program = generate(seed)
    kernel = kernel_of(program, tmp_path)
    check(program, kernel, "interp")
    check(program, kernel, "cpu")


@pytest.mark.sim
@pytest.mark.parametrize("seed", SIMULATED)
def test_devices_are_exact(seed, tmp_path, monkeypatch):
    monkeypatch.setenv("TEGULA_SIM_ARCH", ["sm_80", "sm_90a"][seed % 2])
    monkeypatch.setenv("TEGULA_SIM_COPIES", COPIES[seed % 3])
    monkeypatch.setenv("TEGULA_SIM_SCHEDULE", SCHEDULES[seed // 3 % 4])
    monkeypatch.setenv("TEGULA_SIM_SEED", str(seed))
    devices.use("sim", monkeypatch)
    program = generate(seed)
    try:
        check(program, kernel_of(program, tmp_path), devices.TARGET_OF["sim"])
    except Exception as error:  # slots beyond a program's shared memory are refused, with a hint
        if "out of resource: shared memory" not in str(error):
            raise


def assembled(seed, folder):
    """The program as compiled for Hopper."""
    program = generate(seed)
    kernel = kernel_of(program, folder)
    kernel.target = "sm_90a"
    try:
        return kernel.warmup(*[as_tensor(array).dtype for array in program.memory()], *program.scalars.values(), grid=program.grid, **program.options)
    except ToolchainError as error:
        if "TEGULA_PTXAS" in str(error):
            pytest.skip(f"there is no assembler here: {str(error).splitlines()[0]}")
        raise


@pytest.mark.sim
@pytest.mark.parametrize("seed", OF_SEVERAL_WARPS)
def test_no_instruction_touches_the_registers_of_products(seed, tmp_path, monkeypatch):
    monkeypatch.setenv("TEGULA_TOOLS", machine_code.tools()["TEGULA_TOOLS"])
    compiled = assembled(seed, tmp_path)
    assert "wgmma.mma_async" in compiled.asm["ptx"] and machine_code.faults(compiled.asm["sass"]) == []


@pytest.mark.sim
@pytest.mark.parametrize("seed", [42334, 3000584, 3000718, 3005089])
def test_the_assembler_survives_pairs_of_bytes(seed, tmp_path):
    assert assembled(seed, tmp_path).asm["cubin"]


def test_programs_are_of_many_kinds():
    """The generator must not silently stop making what it is for."""
    text = "".join(generate(seed).source for seed in range(150))
    for form in ["while ", ":= ", "    for ", "        for ", "elif ", "else:", "break", "continue", "tl.pointer_type(", "tl.associative_scan(", "reverse=True",
                 "tl.reduce(", "drop(", "steps(", "multiply(", "float8e4nv", "float8e5", "begin", "tl.make_block_ptr(", "-1, -1)", "tl.static_range(",
                 "tl.atomic_add(", "tl.reshape(", "% arg", "(-1)", " and ", " or ", "not (", ".T", " if "]:
        assert text.count(form) >= 3, form
    assert all(generate(seed).source == generate(seed).source for seed in range(5))
