"""TEGULA_DEVICE=sim: a script's kernels run on the machine, on the host's arrays, with checks."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula.runtime.simulate import memory_of

SCRIPT = '''
import numpy as np
import tegula as triton
import tegula.language as tl


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


x, out = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
kernel = double[(3,)](x, out, {n}, BLOCK=128)
print((out == 2 * x).all(), double.target)
'''


def run(tmp_path, n, **env):
    (tmp_path / "script.py").write_text(SCRIPT.replace("{n}", str(n)))
    return subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env={**os.environ, "TEGULA_DEVICE": "sim", **env},
                          capture_output=True, text=True, timeout=60)


def test_a_script_runs_on_the_machine(tmp_path):
    done = run(tmp_path, 300)
    assert (done.stdout, done.stderr) == ("True ptxvm\n", "")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_settings_of_the_machine(tmp_path, arch):
    env = {"TEGULA_SIM_ARCH": arch, "TEGULA_SIM_SCHEDULE": "random", "TEGULA_SIM_SEED": "3", "TEGULA_SIM_RECORD": "runs"}
    assert run(tmp_path, 300, **env).returncode == 0
    (bundle,) = (tmp_path / "runs").iterdir()
    assert f".target {arch}" in (bundle / "kernel.ptx").read_text()
    assert "schedule random 3" in (bundle / "launch.txt").read_text()
    program = Path(os.environ["TEGULA_BUILD_DIR"]) / "bin" / "tegula"
    replay = subprocess.run([program, "simulate", "--replay", bundle], capture_output=True, text=True)
    assert replay.returncode == 0 and "no findings" in replay.stdout


def test_a_finding_is_an_exception_with_the_line(tmp_path):
    done = run(tmp_path, 301)
    assert done.returncode == 1
    assert "LaunchError" in done.stderr and "script.py:10: out-of-bounds: reads 4 bytes" in done.stderr
    assert "byte 1200 of argument memory 0, which has 1200" in done.stderr


def test_an_unknown_schedule_is_refused(tmp_path):
    assert "TEGULA_SIM_SCHEDULE is 'fair'; it must be one of round-robin" in run(tmp_path, 300, TEGULA_SIM_SCHEDULE="fair").stderr


def test_an_unknown_completion_of_copies_is_refused(tmp_path):
    assert "it must be one of late, at-once, random" in run(tmp_path, 300, TEGULA_SIM_COPIES="never").stderr


def test_memory_is_the_whole_piece_behind_a_view():
    base = np.zeros(100, np.float32)
    address = base.__array_interface__["data"][0]
    assert memory_of((base[10:20], 3, "text", None)) == [(address, 400, True)]
    assert memory_of((base[::-1], (base[5:], base))) == [(address, 400, True)]
    tensor = torch.zeros(50)
    assert memory_of((tensor[7:],)) == [(tensor.data_ptr(), 200, True)]


def test_an_array_without_dimensions_is_memory_and_a_scalar_is_none():
    array = np.array(3.0, np.float32)
    assert memory_of([array, np.float32(3), 3.0]) == [(array.ctypes.data, 4, True)]


def test_read_only_memory_is_read_only():
    array = np.zeros(4)
    array.flags.writeable = False
    assert memory_of((array,))[0][2] is False


def test_memory_of_unknown_extent_is_said_to_be_unknown():

    class Pointer:
        dtype = torch.float32

        def data_ptr(self):
            return 4096

    assert memory_of((Pointer(),)) is None


@triton.jit
def table_kernel(table, out, first, second, N: tl.constexpr):
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0), tl.sum(tl.load(p + tl.arange(0, N))))


def test_what_a_table_leads_to_is_memory_if_it_is_an_argument(monkeypatch):
    monkeypatch.setattr(table_kernel, "target", "ptxvm")
    tensors, out = [torch.ones(32), torch.full((32,), 2.0)], torch.zeros(2)
    table = torch.tensor([tensor.data_ptr() for tensor in tensors])
    table_kernel[(2,)](table, out, *tensors, N=32)
    assert out.tolist() == [32, 64]
    with pytest.raises(triton.errors.LaunchError, match="what a table of pointers leads to has to be an argument, too"):
        table_kernel[(2,)](table, out, None, None, N=32)


def test_what_a_table_leads_to_is_told_of_near_a_buffer_too(monkeypatch):
    """The distance to the next buffer says nothing: allocators put tensors side by side."""
    monkeypatch.setattr(table_kernel, "target", "ptxvm")
    whole = np.ones(96, np.float32)
    near = torch.from_numpy(whole[:32].copy())
    table = torch.tensor([near.data_ptr() + 4 * 32 + 64])
    with pytest.raises(triton.errors.LaunchError, match="byte 192 of .*what a table of pointers leads to has to be an argument, too"):
        table_kernel[(1,)](table, torch.zeros(2), near, None, N=32)


@triton.jit
def gather_kernel(x, index, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + tl.load(index + at)))


@pytest.mark.parametrize("index", [40, 10**7, 10**12])
def test_an_index_that_was_loaded_is_no_table_of_pointers(monkeypatch, index):
    monkeypatch.setattr(gather_kernel, "target", "ptxvm")
    x, out = torch.zeros(32), torch.zeros(32)
    with pytest.raises(triton.errors.LaunchError, match="reads 4 bytes at") as error:
        gather_kernel[(1,)](x, torch.full((32,), index), out, N=32)
    assert "table of pointers" not in str(error.value)


@triton.jit
def assembly_kernel(x, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(x + at, tl.inline_asm_elementwise("popcc.b32 $0, $1;", "=r,r", [tl.load(x + at)], dtype=tl.int32, is_pure=True, pack=1))


def test_a_mistake_in_the_kernels_assembly_is_no_bug_of_ours(monkeypatch):
    monkeypatch.setattr(assembly_kernel, "target", "ptxvm")
    with pytest.raises(triton.errors.ToolchainError, match="(?s)unknown instruction: `popcc.b32`.*hint: look into the kernel's inline assembly"):
        assembly_kernel[(1,)](torch.zeros(32, dtype=torch.int32), N=32)
