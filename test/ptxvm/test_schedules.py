"""Our own kernels run without a finding and right, whatever the order of warps, for each architecture and block size."""
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
PROGRAM = Path(os.environ.get("TEGULA_BUILD_DIR", HERE.parents[1] / "build")) / "bin" / "tegula"
X = np.random.default_rng(2).standard_normal((16, 64)).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# kernel: grid, arguments, shape of the result, the result
KERNELS = {
    "softmax": (16, ["stride=64", "n=61", "BLOCK=64"], (16, 64), np.pad(softmax(X[:, :61]), ((0, 0), (0, 3)))),
    "transpose": (1, ["ROWS=16", "COLUMNS=64"], (64, 16), X.T),
    "column_sums": (1, ["ROWS=16", "COLUMNS=64"], (64,), X.sum(0)),
    "twice_in_place": (1, ["BLOCK=16"], (16,), 2 * X[0, :16]),
    "total": (4, ["n=1024", "BLOCK=256"], (1,), X.sum().reshape(1)),
}


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("schedule", ["round-robin", "random", "priority"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_runs_clean_and_right(kernel, arch, schedule, warps, tmp_path):
    grid, arguments, shape, wanted = KERNELS[kernel]
    np.save(tmp_path / "x.npy", X)
    done = subprocess.run(
        [PROGRAM, "simulate", f"{HERE}/kernels.py::{kernel}", "--grid", str(grid), "--schedule", schedule, "--seed", "7",
         "--save", "out_ptr=out.npy", *(part for argument in [f"out_ptr=new:f32{list(shape)}".replace(" ", ""),
         "in_ptr=@x.npy", f"num_warps={warps}", *arguments] for part in ("--arg", argument))],
        cwd=tmp_path, env={**os.environ, "TEGULA_SIM_ARCH": arch}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, rtol=2e-5, atol=2e-5)
