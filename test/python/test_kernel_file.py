"""Kernel files with kernel_fn, reference_fn and get_inputs: verified, and timed when they are right."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))

KERNEL = '''
import torch
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, out_ptr, n, f, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * f, mask=mask)

def scale(x, f=2.0):
    print("this line is no JSON")
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), f, BLOCK_SIZE=256)
    return out

kernel_fn = scale

def reference_fn(x, f=2.0):
    return x * f

def get_inputs():
    return [torch.randn(1009, device="{device}")]
'''


@pytest.fixture
def kernel(tmp_path):
    def make(old="", new="", device="cpu"):
        assert old in KERNEL
        path = tmp_path / "kernel.py"
        path.write_text(KERNEL.replace("{device}", device).replace(old, new))
        return path

    return make


COMMANDS = {"tegula": lambda verb: [BUILD / "bin" / "tegula", verb],
            "script": lambda verb: [sys.executable, ROOT / "scripts" / {"verify": "verify_kernel.py", "bench": "benchmark_kernel.py"}[verb]]}


def call(verb, *arguments, command="script"):
    done = subprocess.run([*COMMANDS[command](verb), *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "TEGULA_PYTHON": sys.executable})
    answer = json.loads(done.stdout) if done.stdout else None
    assert answer or done.returncode == 2, done.stderr
    assert done.stdout.count("\n") == (1 if answer else 0)
    return done, answer


@pytest.mark.parametrize("command", COMMANDS)
def test_a_right_kernel(kernel, command):
    done, answer = call("verify", kernel(), command=command)
    assert done.returncode == 0 and "this line is no JSON" in done.stderr
    assert answer == {"correct": True, "max_abs_diff": 0.0, "max_rel_diff": 0.0, "details": answer["details"]}
    assert "1009 elements" in answer["details"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_kernel_is_told_and_not_timed(kernel, command):
    path = kernel("mask=mask) * f", "mask=mask) * (f + 0.5)")
    for verb in ["verify", "bench"]:
        done, answer = call(verb, path, command=command)
        assert done.returncode == 1 and answer["correct"] is False and answer["max_abs_diff"] > 0.1
        assert "elements differ" in answer["details"] and "kernel_time_ms" not in answer


def test_a_right_kernel_is_timed(kernel):
    done, answer = call("bench", kernel(), "--warmup", 2, "--iters", 5, command="tegula")
    assert done.returncode == 0
    assert list(answer) == ["kernel_time_ms", "reference_time_ms", "speedup", "warmup_iters", "benchmark_iters"]
    assert answer["kernel_time_ms"] > 0 and answer["reference_time_ms"] > 0
    assert answer["speedup"] == pytest.approx(answer["reference_time_ms"] / answer["kernel_time_ms"])
    assert (answer["warmup_iters"], answer["benchmark_iters"]) == (2, 5)


def test_tolerances_are_what_is_asked_for(kernel):
    path = kernel("mask=mask) * f", "mask=mask) * (f + 0.001)")
    assert call("verify", path)[0].returncode == 1
    assert call("verify", path, "--rtol", "1e-2", "--atol", "1e-2")[0].returncode == 0


def test_a_kernel_that_writes_into_its_inputs(kernel):
    path = kernel("    return out\n", "    x.copy_(out)\n")
    path.write_text(path.read_text().replace("return x * f", "x.mul_(f)"))
    done, answer = call("verify", path)
    assert done.returncode == 0 and "input 0: 1009 elements" in answer["details"], answer


@pytest.mark.parametrize("old, new, reason", [
    ("return out\n", "return out[:5]\n", "shape (5,)"),
    ("return out\n", "return out.double()\n", "torch.float64"),
    ("return out\n", "return out, out\n", "returned 2 tensors"),
    ("return out\n", "out[7] = float('nan')\n    return out\n", "1 of 1009 elements differ"),
    ("return out\n", "out[7] = float('inf')\n    return out\n", "1 of 1009 elements differ"),
    ("kernel_fn = scale\n", "", "no function kernel_fn"),
    ("BLOCK_SIZE=256)", "BLOCK=256)", "BLOCK"),
    ("import torch\n", "import torch\nraise ValueError('not today')\n", "ValueError: not today"),
])
def test_what_is_wrong_is_named(kernel, old, new, reason):
    done, answer = call("verify", kernel(old, new))
    assert done.returncode == 1 and answer["correct"] is False and reason in answer["details"], answer


def test_nan_and_infinity_at_the_same_places_are_right(kernel):
    path = kernel("torch.randn(1009, device", "torch.tensor([float('nan'), float('inf'), -float('inf'), 1.0] * 4, device")
    done, answer = call("verify", path)
    assert done.returncode == 0 and answer["max_abs_diff"] == 0.0, answer


def test_a_file_for_a_gpu_runs_on_the_cores(kernel):
    path = kernel(device="cuda")
    done, answer = call("verify", path, "--cpu")
    assert done.returncode == 0 and answer["correct"], answer


@pytest.mark.gpu
def test_a_file_for_a_gpu(kernel):
    path = kernel(device="cuda")
    assert call("verify", path)[1]["correct"]
    assert call("bench", path)[1]["speedup"] > 0


def test_sources_of_the_package_without_its_extension_are_passed_over(kernel, tmp_path):
    """A bundle holds both: python/ as the repository has it, and what Python imports."""
    program = tmp_path / "bundle" / "bin" / "tegula"
    program.parent.mkdir(parents=True)
    shutil.copy2(BUILD / "bin" / "tegula", program)
    sources = tmp_path / "bundle" / "python" / "tegula"
    sources.mkdir(parents=True)
    (sources / "__init__.py").write_text("from . import _tegula\n")
    libraries = ":".join(map(str, (BUILD / "lib", os.environ.get("LD_LIBRARY_PATH", ""))))
    for command in ([program, "verify"], [sys.executable, ROOT / "scripts" / "verify_kernel.py"]):
        done = subprocess.run([*map(str, command), str(kernel())], capture_output=True, text=True, timeout=120, env={
            **os.environ, "TEGULA_PYTHON": sys.executable, "LD_LIBRARY_PATH": libraries,
            "TEGULA_BUILD_DIR": str(tmp_path / "bundle"), "PYTHONPATH": str(BUILD / "python")})
        assert done.returncode == 0 and json.loads(done.stdout)["correct"], done.stderr


def test_a_command_line_that_is_not_understood(kernel):
    for arguments in [[], ["--fast", kernel()]]:
        done, answer = call("verify", *arguments)
        assert done.returncode == 2 and answer is None
