"""`pip install .` into a fresh environment: the package and its command line run there without the checkout."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = '''
import ctypes, pathlib, tegula, tegula.language as tl
assert "site-packages" in tegula.__file__, tegula.__file__

@tegula.jit
def fill(out, n, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), n)

class Memory:
    is_cpu, is_cuda, dtype = True, False, tl.int32
    memory = (ctypes.c_int32 * 16)()
    def data_ptr(self):
        return ctypes.addressof(self.memory)

fill[(1,)](Memory(), 7, B=16)
assert list(Memory.memory) == [7] * 16
print("right")
'''


@pytest.mark.slow
def test_pip_installs_a_wheel_that_runs(build_dir, tmp_path):
    if build_dir.name != "build" or not (build_dir / "lib" / "libtegula_capi.a").exists():
        pytest.skip("the wheel is made of the development build")
    room = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", room], check=True, timeout=120)
    python = room / "bin" / "python"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TEGULA", "LD_"))}
    env["TEGULA_CACHE_DIR"] = str(tmp_path / "cache")
    done = subprocess.run([python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "--config-settings", "dev=1",
                           "--config-settings", "no-build=1", ROOT], capture_output=True, text=True, timeout=540, env=env)
    assert done.returncode == 0, done.stdout + done.stderr

    def run(*command):
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, cwd=tmp_path)

    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = run(python, path)
    assert done.returncode == 0 and done.stdout == "right\n", done.stderr
    program = room / "bin" / "tegula"
    done = run(program, "doctor")
    assert done.returncode == 0 and "a kernel was compiled and run" in done.stdout, done.stdout + done.stderr
    done = run(program, "verify", "missing.py")
    assert done.returncode == 1 and '"correct": false' in done.stdout, done.stderr
    done = run(python, "-m", "pip", "check")
    assert done.returncode == 0, done.stdout
