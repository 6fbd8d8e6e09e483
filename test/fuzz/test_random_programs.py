"""500 random programs: `interp`, `cpu` and plain Python leave the same memory behind, within the numerical contract."""
import importlib.util

import ml_dtypes
import numpy as np
import pytest
import torch

import devices
import eager
import tegula
from generator import FLOATS, generate

PROGRAMS = 500
OVERLAPPING = 150
MOVING = 200
HELD = 150
ON_DEVICE = {"sim": 20, "cuda": 150}
MOVING_ON_DEVICE = {"sim": 20, "cuda": 100}
HELD_ON_DEVICE = {"sim": 15, "cuda": 100}


def filled(buffer, rng):
    """The memory of a buffer before the run, as a NumPy array."""
    if buffer.dtype not in FLOATS:
        info = np.iinfo(buffer.dtype)
        values = rng.integers(info.min, info.max, buffer.count, dtype=buffer.dtype, endpoint=True)
        small = rng.integers(0, 4, buffer.count).astype(buffer.dtype)  # divisors of 0, equal values
        return np.where(rng.random(buffer.count) < 0.2, small, values) if buffer.data != "zeros" else small * 0
    dtype = ml_dtypes.bfloat16 if buffer.dtype == "bfloat16" else buffer.dtype
    if buffer.data == "zeros":
        return np.zeros(buffer.count, dtype)
    if buffer.data == "ints":
        return rng.integers(-64, 65, buffer.count).astype(dtype)
    if buffer.data == "positive":
        return rng.uniform(0.25, 2.0, buffer.count).astype(dtype)
    values = rng.standard_normal(buffer.count) * 10.0 ** rng.integers(-3, 4, buffer.count)
    special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 65504.0, 1e-7, 1e30], buffer.count)
    with np.errstate(over="ignore"):
        return np.where(rng.random(buffer.count) < 0.1, special, values).astype(dtype)


def as_argument(array):
    """NumPy arrays go in as they are; bf16, which NumPy lacks, as a tensor over the same memory."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return array


def disagreement(buffer, a, b):
    if buffer.dtype in FLOATS:
        a, b = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= buffer.relative * np.abs(a)
        return ~((a == b) | (np.isnan(a) & np.isnan(b)) | (near & (buffer.relative > 0)))
    return a != b


def memory(program):
    rng = np.random.default_rng(program.seed)
    if program.buffers[0].offset < 0:
        return [filled(buffer, rng) for buffer in program.buffers]
    ends = [b.offset + b.count * np.dtype(b.dtype).itemsize for b in program.buffers]
    arena = rng.integers(0, 256, max(ends) + 64, dtype=np.uint8)
    return [arena[b.offset:end].view(b.dtype) for b, end in zip(program.buffers, ends)]


def run(program, kernel, target):
    arrays = memory(program)
    kernel.target = target
    kernel[program.grid](*map(as_argument, arrays), *program.scalars.values())
    return arrays


def compare(program, name, ones, other_name, others):
    for buffer, a, b in zip(program.buffers, ones, others):
        wrong = np.flatnonzero(disagreement(buffer, a, b))
        assert wrong.size == 0, (
            f"seed {program.seed}, {buffer.name} ({buffer.dtype}): {wrong.size} of {buffer.count} elements differ, "
            f"first at {wrong[0]}: {name} {a[wrong[0]]!r}, {other_name} {b[wrong[0]]!r}\n{program.source}\n"
            f"grid {program.grid}, {program.scalars}")


def kernel_of(program, folder):
    path = folder / f"program_{program.seed}.py"
    path.write_text(program.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def check(program, folder):
    kernel = kernel_of(program, folder)
    meant = run(program, kernel, "interp")
    as_python = memory(program)
    eager.run(program, as_python)
    compare(program, "python", as_python, "interp", meant)
    compare(program, "interp", meant, "cpu", run(program, kernel, "cpu"))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_agree(seed, tmp_path):
    check(generate(seed), tmp_path)


@pytest.mark.parametrize("seed", range(OVERLAPPING))
def test_agree_where_arguments_overlap(seed, tmp_path):
    """M1, M2, M6, M7, M13: what the guards of the CPU target are for"""
    check(generate(seed, "overlapping"), tmp_path)


@pytest.mark.parametrize("seed", range(MOVING))
def test_agree_where_elements_move(seed, tmp_path):
    check(generate(seed, "moving"), tmp_path)


@pytest.mark.parametrize("seed", range(HELD))
def test_agree_where_results_are_held(seed, tmp_path):
    check(generate(seed, "held"), tmp_path)


def device_cases(counts):
    marks = {"sim": pytest.mark.sim, "cuda": pytest.mark.gpu}
    return [pytest.param(device, seed, marks=marks[device], id=f"{device}-{seed}")
            for device, count in counts.items() for seed in range(count)]


def check_on_device(program, folder, device, monkeypatch):
    devices.use(device, monkeypatch)
    kernel = kernel_of(program, folder)
    compare(program, "interp", run(program, kernel, "interp"), device, run(program, kernel, devices.TARGET_OF[device]))


@pytest.mark.parametrize("target, seed", device_cases(ON_DEVICE))
def test_devices_agree(target, seed, tmp_path, monkeypatch):
    check_on_device(generate(seed), tmp_path, target, monkeypatch)


@pytest.mark.parametrize("target, seed", device_cases(MOVING_ON_DEVICE))
def test_devices_agree_where_elements_move(target, seed, tmp_path, monkeypatch):
    check_on_device(generate(seed, "moving"), tmp_path, target, monkeypatch)


@pytest.mark.parametrize("target, seed", device_cases(HELD_ON_DEVICE))
def test_devices_agree_where_results_are_held(target, seed, tmp_path, monkeypatch):
    check_on_device(generate(seed, "held"), tmp_path, target, monkeypatch)


def test_generator_is_deterministic():
    assert all(generate(seed).source == generate(seed).source for seed in range(20))


def test_programs_are_of_many_kinds():
    """The generator must not silently stop making what it is for."""
    text = "".join(generate(seed).source for seed in range(PROGRAMS))
    for form in ["tl.where", "tl.sum", "tl.max(", "//", "<<", ">>", "for i", "if ", "else:", ".to(tl.bfloat16)", "tl.exp",
                 "tl.sqrt", "other=", "[:, None]", "ptr", "tl.maximum", "~", " % "]:
        assert text.count(form) >= 10, form
    text = "".join(generate(seed, "moving").source for seed in range(MOVING))
    for form in ["tl.cumsum", "tl.cumprod", "reverse=True", "tl.gather", "tl.flip", "tl.join", "tl.cat", "tl.interleave",
                 "tl.histogram"]:
        assert text.count(form) >= 5, form
    text = "".join(generate(seed, "held").source for seed in range(HELD))
    for form in ["tl.dot(", "out_dtype=tl.float16", "tl.sort", "tl.trans", "tl.int8)", "acc1"]:
        assert text.count(form) >= 5, form
