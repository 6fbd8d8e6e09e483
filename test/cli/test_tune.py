"""tegula tune: finds the fastest configuration of a kernel file."""
import json
import os
import pty
import struct
import sys

import pytest

FILE = '''import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (16, 256)], key=["n"])
@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def dot(x_ptr, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + i * BLOCK + j)
    tl.store(x_ptr + i * BLOCK + j, tl.dot(x, x))
'''
CALL = ["--grid", "cdiv(n, BLOCK)", "--arg", "x_ptr=new:f32[3000]", "--arg", "y_ptr=new:f32[3000]", "--arg", "n=3000",
        "--milliseconds", "1"]


@pytest.fixture
def tune(tegula, monkeypatch):
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tegula.folder / "cache"))
    (tegula.folder / "k.py").write_text(FILE)
    return lambda *arguments, kernel="add": tegula("tune", f"k.py::{kernel}", *arguments)


def test_the_files_configurations(tune):
    done = tune(*CALL)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and done.stdout.count("the fastest") == 1
    assert all(f"BLOCK={block}, num_warps=4" in done.stdout for block in (16, 256))


@pytest.mark.parametrize("target", ["cpu", "ptxvm"])
def test_json_of_own_configurations_and_what_is_kept(tune, target):
    given = [*CALL, "--target", target, "--config", "BLOCK=32", "--config", "BLOCK=512,num_warps=8", "--json"]
    first, second, third = (json.loads(tune(*given, *more).stdout) for more in ([], [], ["--forget"]))
    assert [row["name"] for row in first["configurations"]] == ["BLOCK=32", "BLOCK=512, num_warps=8"]
    assert all(0 < row["low"] <= row["milliseconds"] <= row["high"] and row["runs"] > 0 for row in first["configurations"])
    assert all(row["is_kept"] and row["runs"] == 0 for row in second["configurations"])
    assert second["best"] == first["best"]
    assert not any(row["is_kept"] for row in third["configurations"])


def test_a_configuration_that_does_not_fit_is_refused_before_code_is_made(tune):
    """The tile's layout says how much shared memory it takes."""
    done = tune("--grid", "1", "--target", "ptxvm", "--arg", "x_ptr=new:f16[262144]", "--config", "BLOCK=512", kernel="dot")
    assert done.returncode == 1 and "no configuration of `dot` can run" in done.stderr
    assert "shared memory" in done.stderr or "too" in done.stderr


def test_refusals(tune):
    for arguments, says in ((["--grid", "cdiv(m, BLOCK)", *CALL[2:]], "names `m`"),
                            ([*CALL, "--config", "16"], "is no configuration"),
                            ([*CALL[:2], "--arg", "x_ptr=1"], "")):
        done = tune(*arguments)
        assert done.returncode == 1 and says in done.stderr and done.stdout == "", (arguments, done.stderr)
    assert tune("--arg", "n=1").returncode == 2


def test_a_terminal_gets_a_line_of_progress(tune, tegula):
    import subprocess

    outer, inner = pty.openpty()
    done = subprocess.run([tegula.program, "tune", "k.py::add", *CALL], stderr=inner, stdout=subprocess.PIPE, cwd=tegula.folder,
                          env={**os.environ, "TERM": "xterm"})
    os.close(inner)
    shown = os.read(outer, 1 << 16).decode()
    os.close(outer)
    assert done.returncode == 0 and "tuning add [" in shown and "1/2" in shown and shown.endswith("\x1b[K")


def test_plot(tune, tegula, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("TEGULA_PYTHON", sys.executable)
    done = tune(*CALL, "--plot", "out.png")
    assert done.returncode == 0 and "the fastest" in done.stdout, done.stderr
    png = (tegula.folder / "out.png").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert png.startswith(b"\x89PNG") and png.endswith(b"IEND\xaeB`\x82") and width > 600 and height > 100
    done = tune(*CALL, "--plot", "missing/out.png")
    assert done.returncode == 1 and "missing/out.png: error" in done.stderr


def test_plot_without_matplotlib_says_so(tune, tegula, monkeypatch):
    (tegula.folder / "matplotlib.py").write_text("raise ImportError('no matplotlib here')")
    monkeypatch.setenv("PYTHONPATH", str(tegula.folder))
    done = tune(*CALL, "--plot", "out.png")
    assert done.returncode == 1 and "no matplotlib here" in done.stderr and "hint" in done.stderr
    assert "the fastest" in done.stdout
