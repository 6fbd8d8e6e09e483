"""Processes that may not compile, and the list of what a process needed."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''
import json, sys
import numpy as np
import tegula as triton
import tegula.language as tl

@triton.jit
def scale(x_ptr, n, f, B: tl.constexpr, KIND: tl.constexpr = "plain"):
    i = tl.arange(0, B)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * f, mask=i < n)

@triton.jit
def with_function(x_ptr, FN: tl.constexpr):
    tl.store(x_ptr, FN(tl.load(x_ptr)))

@triton.jit
def double(x):
    return x + x

options = json.loads(sys.argv[1])
x = np.ones(64, np.float32)
try:
    for block in options.get("blocks", [64]):
        scale[(1,)](x, 48, 2.0, B=block, KIND="it's", **options.get("launch", {}))
    if options.get("function"):
        with_function[(1,)](x, double)
    print(json.dumps({"sum": float(x.sum())}))
except triton.TritonError as error:
    print(json.dumps({"kind": error.kind, "text": str(error)}))
'''


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    def run(options=None, **environment):
        env = {**os.environ, "TEGULA_CACHE_DIR": str(tmp_path / "cache"), "TEGULA_DISK_CACHE": "1", **environment}
        env.pop("TRITON_ALWAYS_COMPILE", None)
        done = subprocess.run([sys.executable, str(path), json.dumps(options or {})], capture_output=True, text=True, timeout=120,
                              env=env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run.path = path
    return run


def test_a_closed_process_names_the_specialization_that_is_missing(script):
    said = script(TEGULA_CLOSED="1")
    assert said["kind"] == "ClosedProcess"
    assert "kernel `scale` is not compiled yet for cpu" in said["text"]
    assert "x_ptr=*fp32:16,n=int32:16,f=fp32,B=64" in said["text"] and "tegula build" in said["text"]
    assert f"{script.path}:" in said["text"]


def test_a_closed_process_takes_what_is_on_disk(script):
    total = script()["sum"]
    assert total == 48 * 2 + 16
    assert script(TEGULA_CLOSED="1")["sum"] == total
    assert script({"blocks": [32]}, TEGULA_CLOSED="1")["kind"] == "ClosedProcess"
    assert script({"blocks": [32]}, TEGULA_CLOSED="0")["sum"] > 0


def test_a_launch_may_be_closed_alone(script):
    assert script({"launch": {"closed": True}})["kind"] == "ClosedProcess"
    script()
    assert script({"launch": {"closed": True}})["sum"] > 0


def test_a_closed_process_without_a_cache_compiles_nothing(script):
    script()
    assert script(TEGULA_CLOSED="1", TEGULA_DISK_CACHE="0")["kind"] == "ClosedProcess"


def test_arguments_that_no_signature_says_are_named_so(script):
    script()
    said = script({"function": True}, TEGULA_CLOSED="1")
    assert said["kind"] == "ClosedProcess" and "functions, classes, tuples" in said["text"]


def test_a_record_is_a_list_to_build(script, build_dir, tmp_path):
    record = tmp_path / "record"
    script({"blocks": [64, 32, 64], "launch": {"num_warps": 8, "enable_fp_fusion": False}}, TEGULA_RECORD=str(record))
    script({"function": True}, TEGULA_RECORD=str(record))
    lines = record.read_text().splitlines()
    assert len(lines) == 4 and lines[3].startswith("# no signature can say its arguments: ")
    place, target, options, signature = lines[0].split("\t")
    assert place == f"{script.path}::scale" and target == "cpu" and options == "num_warps=8,enable_fp_fusion=False"
    assert "B=64" in signature and "KIND=\"it's\"" in signature
    done = subprocess.run([build_dir / "bin" / "tegula", "build", "--list", record, "-o", tmp_path / "k.tga", "--header",
                           tmp_path / "k.h"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    header = (tmp_path / "k.h").read_text()
    assert "tg_status scale(" in header and "tg_status scale_2(" in header and "tg_status scale_3(" in header


def test_a_record_that_cannot_be_written_is_told(script):
    said = script(TEGULA_RECORD="/nowhere/record")
    assert "TEGULA_RECORD names `/nowhere/record`" in said["text"] and "hint" in said["text"]
