"""The command line under test, and what its tests share."""
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "bin" / "tegula"


@pytest.fixture
def tegula(tmp_path):
    """Runs the command line in a folder of its own; a hang or a crash fails the test."""

    def run(*arguments, env=None):
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                              env={**os.environ, **(env or {})})
        assert done.returncode >= 0, f"killed by signal {-done.returncode}"
        return done

    run.folder, run.program = tmp_path, PROGRAM
    return run


ADD = '''import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)
'''


@pytest.fixture
def add_file(tmp_path):
    path = tmp_path / "add.py"
    path.write_text(ADD)
    return path
