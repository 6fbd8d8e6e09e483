"""torch.compile with Tegula in Triton's place. Inductor writes Triton kernels for the cores here; bench/gpu/inductor.py has
more cases, and runs them on a GPU."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch._inductor")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("target", ["cpu", "ptxvm"])
def test_cases_beside_eager(target, tmp_path):
    words = "pointwise,user_kernel,triton_op,softmax,scans" if target == "cpu" else "pointwise,user_kernel_in_place"
    command = [sys.executable, "-m", "tegula", str(ROOT / "bench/gpu/inductor.py"), "--device", "cpu", "--only", words,
               "--out", str(tmp_path / "out.json")]
    environment = {**os.environ, "TEGULA_TARGET": target, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
                   "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert "assuming every input is mutated" not in done.stderr
