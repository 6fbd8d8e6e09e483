"""Mutated kernel files, signatures, options and arguments through the C interface: nothing exits, dies by a signal, runs for
ten seconds, or leaks. ABI_FUZZ_SECONDS (100) says for how long, ABI_FUZZ_SEED with which mutations; inputs that were
found before are run as they are."""
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUZZER = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build")) / "bin" / "tegula_abi_fuzz"
FOUND = sorted((Path(__file__).parent / "abi" / "found").glob("*.py"))


def fuzz(seconds, seed, folder, files):
    command = [FUZZER, str(seconds), str(seed), folder, *files]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds + 600)


def test_mutated_inputs_are_statuses(tmp_path):
    files = [*(ROOT / "examples").rglob("*.py"), *(ROOT / "test/golden").rglob("*.py"), *(ROOT / "test/bad_input").glob("*.py")]
    done = fuzz(int(os.environ.get("ABI_FUZZ_SECONDS", 100)), int(os.environ.get("ABI_FUZZ_SEED", 1)), tmp_path, sorted(files))
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_inputs_that_were_found_before(tmp_path):
    done = fuzz(0, 0, tmp_path, FOUND)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
