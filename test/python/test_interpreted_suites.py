"""The suites of the language again, with kernels that Python runs: programs and upstream's documented behaviours whole, and
of the tests of operations a part. What they compare with is the same as for compiled kernels."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
OPS = [f"ops/test_{name}.py" for name in ("promotion", "casts", "reduce", "scan", "shape", "memory", "indexing", "sort",
                                          "block_pointers", "tensor_descriptors", "atomic", "chains", "control", "packed", "debug")]


@pytest.mark.slow
@pytest.mark.parametrize("what, least", [
    (["conformance"], 300), (["programs/test_programs.py", "-k", "beside_a_reference", "--share", "0/2"], 40),
    ([*OPS, "--share", "3/12"], 80), (["kernels/test_softmax.py", "kernels/test_layernorm.py", "kernels/test_matmul.py",
                                        "kernels/test_attention.py", "--share", "0/6"], 8)], ids=lambda p: p[0] if isinstance(p, list) else "")
def test_kernels_that_python_runs(what, least):
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *what], cwd=TESTS, text=True,
                          capture_output=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = int(done.stdout.rsplit(" passed", 1)[0].split()[-1])
    assert passed >= least, done.stdout[-500:]
