"""Runs a program of generator.py on several targets and says what differs beyond the numerical contract.

In: a program, a folder for its source, the names of targets. Out: nothing, or an AssertionError that names the first buffer,
element and both values. `interp` is compared with plain Python (eager.py), every other target with `interp`.
"""
import importlib.util
import zlib

import ml_dtypes
import numpy as np
import torch

import eager
from generator import FLOATS

WARPS = (1, 2, 4, 8)


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
    if all(buffer.offset < 0 for buffer in program.buffers):
        return [filled(buffer, rng) for buffer in program.buffers]
    ends = [b.offset + b.count * np.dtype(b.dtype).itemsize for b in program.buffers]
    arena = rng.integers(0, 256, max(ends) + 64, dtype=np.uint8)
    return [arena[b.offset:end].view(b.dtype) for b, end in zip(program.buffers, ends)]


def run(program, kernel, target):
    arrays = memory(program)
    kernel.target = target
    # By no small power of two of the seed, which chooses architectures.
    warps = WARPS[zlib.crc32(b"warps %d" % program.seed) % len(WARPS)]
    kernel[program.grid](*map(as_argument, arrays), *program.scalars.values(), num_warps=warps)
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


def check(program, folder, targets=("cpu",)):
    kernel = kernel_of(program, folder)
    meant = run(program, kernel, "interp")
    as_python = memory(program)
    eager.run(program, as_python)
    compare(program, "python", as_python, "interp", meant)
    for target in targets:
        compare(program, "interp", meant, target, run(program, kernel, target))
