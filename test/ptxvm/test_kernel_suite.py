"""The suite of kernels on the machine once more: for the other architecture, with the warps in other orders and copies that complete at other times.

`test/kernels` itself runs them for sm_90a in round-robin, with copies that complete late. A race, an access out of bounds or a wrong result fails it.
Each test runs once more, in one of the four ways: all of them in all four took as long as all other suites.
"""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("arch, share, schedule, copies", [("sm_80", "0/4", "round-robin", "at-once"), ("sm_80", "2/4", "random", "random"),
                                                           ("sm_90a", "1/4", "random", "late"), ("sm_90a", "3/4", "priority", "random")])
def test_all_kernels_are_clean(arch, share, schedule, copies):
    env = {**os.environ, "TEGULA_SIM_ARCH": arch, "TEGULA_SIM_SCHEDULE": schedule, "TEGULA_SIM_SEED": "11",
           "TEGULA_SIM_COPIES": copies}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-m", "sim",
                           "--share", share, ROOT / "test" / "kernels"], env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:]
    passed = int(done.stdout.split(" passed")[0].split()[-1])
    assert passed > 300, done.stdout[-500:]
