"""`tegula verify` and `tegula bench` where their command line, their output or the machine is not as it should be."""
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest

FILE = """
import sys, time
print("it is read", file=sys.stderr, flush=True)
def kernel_fn(): {kernel}
def reference_fn(): return 1.0
def get_inputs(): return []
"""
HAS_TORCH = importlib.util.find_spec("torch") is not None


def command(tmp_path, verb, *more, kernel="return 1.0"):
    (tmp_path / "file.py").write_text(FILE.replace("{kernel}", kernel))
    return [sys.executable, "-m", "tegula.kernel_file", verb, str(tmp_path / "file.py"), *more]


@pytest.mark.parametrize("arguments", [("--iters", "0"), ("--iters", "-5"), ("--warmup", "-1"), ("--rtol", "nan"), ("--atol", "-1"),
                                       ("--rtol", "inf")])
def test_numbers_that_mean_nothing_are_refused(tmp_path, arguments):
    done = subprocess.run(command(tmp_path, "bench", *arguments), capture_output=True, text=True)
    assert done.returncode == 2 and arguments[0] in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["full", "closed"])
def test_an_answer_that_cannot_be_written_is_an_error_of_one_sentence(tmp_path, where):
    reads, writes = os.pipe()
    os.close(reads)
    with open("/dev/full", "w") if where == "full" else os.fdopen(writes, "w") as out:
        done = subprocess.run(command(tmp_path, "verify"), stdout=out, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "the standard output cannot be written to: " in done.stderr and "Traceback" not in done.stderr


def test_that_pytorch_is_missing_is_said(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['torch'] = None  # as if it were not there\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(command(tmp_path, "verify"), capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
    assert done.returncode == 1 and "pip install torch" in json.loads(done.stdout)["details"] and "Traceback" not in done.stderr


@pytest.mark.skipif(not HAS_TORCH, reason="there is no PyTorch")
def test_a_kernel_that_exits_is_wrong(tmp_path):
    done = subprocess.run(command(tmp_path, "verify", kernel="sys.exit(3)"), capture_output=True, text=True)
    assert done.returncode == 1 and json.loads(done.stdout)["details"] == "SystemExit: 3"


@pytest.mark.skipif(not HAS_TORCH, reason="there is no PyTorch")
def test_an_interrupt_ends_it_as_a_signal_does(tmp_path):
    with subprocess.Popen(command(tmp_path, "verify", kernel="print('now', file=sys.stderr, flush=True); time.sleep(60)"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.stderr.readline() != "now\n":
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=60)
    assert (process.returncode, out, told) == (-signal.SIGINT, "", "")
