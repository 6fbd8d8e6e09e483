"""triton.profiler.viewer and the commands: what they show of a profile."""
import json
import math
import os
import subprocess
import sys

import pytest

from tegula.profiler import viewer


def node(name, metrics, *children):
    return {"frame": {"name": name, "type": "function"}, "metrics": metrics, "children": list(children)}


def kernel(name, milliseconds, count, index="0", **more):
    return node(name, {"time (ns)": milliseconds * 10**6, "count": count, "device_id": index, "device_type": "CUDA", **more})


DEVICES = {"CUDA": {"0": {"arch": "90", "bus_width": 6144, "clock_rate": 1980000, "memory_clock_rate": 2619000,
                          "num_sms": 132}}}
LIBRARY = node("library", {"flops16": 8e12, "bytes": 10**9}, kernel("<whole scope>", 20, 2))
OURS = node("ours", {}, kernel("/home/me/a.py:3@matmul", 60, 3, flops16=24e12, bytes=10**9))
HOST = node("host", {"cpu_time (ns)": 5 * 10**6, "note": "text"})
META = node("only metadata", {}, node("__proton_launch_metadata", {}, kernel("inner", 1000, 1)))
PROFILE = [node("ROOT", {"time (ns)": 0, "count": 0, "flops16": 0, "bytes": 0}, LIBRARY, OURS, HOST, META), DEVICES]


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "p.hatchet"
    path.write_text(json.dumps(PROFILE))
    return path


def show(profile, metrics, capsys, **options):
    shown = {name: options.pop(name) for name in ("depth", "format", "print_sorted") if name in options}
    tree, names = viewer.parse(metrics, profile, **options)
    viewer.print_tree(tree, names, **shown)
    return capsys.readouterr().out


def test_what_the_tutorial_shows(profile, capsys):
    assert show(profile, ["tflop16/s", "time/ms"], capsys) == """\
400.000 80.000 ROOT
├─ 400.000 20.000 library
│  └─ nan 20.000 <whole scope>
├─ 400.000 60.000 ours
│  └─ 400.000 60.000 /home/me/a.py:3@matmul
└─ nan nan host
"""


@pytest.mark.parametrize("metric, name, root, first", [
    ("time/s", "time/s (inc)", 0.08, 0.02), ("time/us", "time/us (inc)", 80e3, 20e3), ("time/ns", "time/ns (inc)", 80e6, 20e6),
    ("avg_time/ms", "avg_time/ms (inc)", 16, 10), ("count", "count (inc)", 5, 2), ("time", "time (ns) (inc)", 80e6, 20e6),
    ("gbyte/s", "gbyte/s (inc)", 25, 50), ("byte/s", "byte/s (inc)", 25e9, 50e9), ("tbyte/s", "tbyte/s (inc)", 0.025, 0.05),
    ("gflop16/s", "gflop16/s (inc)", 400e3, 400e3), ("flops16", "flops16 (inc)", 32e12, 8e12),
    ("FLOPS16", "flops16 (inc)", 32e12, 8e12),
    ("time/%", "time/% (inc)", 100, 25), ("bytes", "bytes (inc)", 2e9, 1e9)])
def test_metrics(profile, metric, name, root, first):
    tree, names = viewer.parse([metric], profile)
    assert names == [name]
    assert tree.values[name] == pytest.approx(root) and tree.children[0].values[name] == pytest.approx(first)


def test_metrics_that_are_not_added_up(profile):
    tree, names = viewer.parse("cpu_time/ms,note,cpu_time/%", profile)
    assert names == ["cpu_time/ms (inc)", "note", "cpu_time/%"]
    assert list(tree.children[2].values.values()) == [5, "text", 100] and math.isnan(tree.values["note"])


def test_utilization(profile):
    """132 multiprocessors at 1980 MHz: 1513e12 * 132 / 114 * 1980 / 1755 operations of 8 bits a second."""
    tree, _ = viewer.parse(["util"], profile)
    assert tree.children[1].children[0].values["util"] == pytest.approx(24e12 / (1513e12 * 132 / 114 * 1980 / 1755 / 2) / 0.06)
    assert math.isnan(tree.values["util"])


@pytest.mark.parametrize("metrics, error", [([], "which metrics"), (["tflop8/s"], "no metric `flops8`; it has bytes, count"),
                                            (["time/h"], "unit `h`"), (["flops16/ms"], "unit `ms`"), (["x"], "no metric `x`")])
def test_metrics_that_are_not_there(profile, metrics, error):
    with pytest.raises(ValueError, match=error):
        viewer.parse(metrics, profile)


@pytest.mark.parametrize("options, names", [
    ({"include": ".*matmul"}, ["ROOT", "ours", "/home/me/a.py:3@matmul"]),
    ({"include": "ours"}, ["ROOT", "ours", "/home/me/a.py:3@matmul"]),
    ({"include": "nothing"}, ["ROOT"]), ({"exclude": "lib|ho"}, ["ROOT", "ours", "/home/me/a.py:3@matmul"]),
    ({"threshold": 30}, ["ROOT", "ours", "/home/me/a.py:3@matmul"]), ({"exclude": ".*"}, ["ROOT"])])
def test_frames_that_are_left_out(profile, options, names):
    tree, _ = viewer.parse(["time/ms"], profile, **options)
    assert [frame.name for frame in tree.walk()] == names and tree.values["time/ms (inc)"] == 80


@pytest.mark.parametrize("format, name", [(None, "/home/me/a.py:3@matmul"), ("full", "/home/me/a.py:3@matmul"),
                                          ("file_function_line", "a.py:3@matmul"), ("function_line", "3@matmul"),
                                          ("file_function", "a.py@matmul")])
def test_names_of_frames(profile, capsys, format, name):
    assert f" {name}\n" in show(profile, ["count"], capsys, format=format)


def test_depth_and_order(profile, capsys):
    assert show(profile, ["count"], capsys, depth=1) == "5.000 ROOT\n"
    out = show(profile, ["time/ms"], capsys, print_sorted=True).split("Sorted by time/ms (inc)\n")[1]
    assert [line.split()[1] for line in out.splitlines()] == ["ours", "/home/me/a.py:3@matmul", "library", "<whole"]
    viewer.show_metrics(profile)
    assert capsys.readouterr().out.split() == ["bytes", "count", "cpu_time", "flops16", "note", "time"]


def test_bad_calls(profile):
    tree, names = viewer.parse(["count"], profile)
    with pytest.raises(ValueError, match="format is"):
        viewer.print_tree(tree, names, format="short")
    with pytest.raises(ValueError, match="no 'time'"):
        viewer.print_tree(tree, ["time"])
    with pytest.raises(ValueError, match="no regular expression"):
        viewer.parse(["count"], profile, include="(")


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1, 2]", '[{"frame": {}}, {}]',
                                  '[{"frame": {"name": "R"}, "metrics": {}}, {}]'])
def test_files_that_are_no_profiles(tmp_path, text):
    path = tmp_path / "bad.hatchet"
    path.write_text(text)
    with pytest.raises(ValueError, match="is no profile"):
        viewer.parse(["count"], path)


def command(*arguments, folder=None, **environment):
    return subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=folder,
                          env={**os.environ, **environment})


def test_the_viewer_as_a_command(profile):
    done = command("tegula.profiler.viewer", "-m", "time/ms", "-d", "1", profile, PYTHONIOENCODING="ascii")
    assert done.stdout == "80.000 ROOT\n" and done.returncode == 0, done.stderr
    assert "|- 20.000 library" in command("tegula.profiler.viewer", "-m", "time/ms", profile, PYTHONIOENCODING="ascii").stdout
    assert "flops16" in command("tegula.profiler.viewer", "-l", profile).stdout
    for wrong in (["-m", "x", profile], [profile], ["-m", "count", "nowhere"], ["-m", "count", "-i", "a", "-e", "b", profile]):
        done = command("tegula.profiler.viewer", *wrong)
        assert done.returncode == 2 and "error: " in done.stderr and "Traceback" not in done.stderr


def test_the_commands_by_the_names_of_triton(profile, tmp_path):
    done = command("tegula", "-m", "triton.profiler.viewer", "-m", "time/ms", "-d", "1", profile)
    assert done.stdout == "80.000 ROOT\n", done.stderr
    dropin = os.path.join(os.path.dirname(sys.modules["tegula"].__file__), "dropin")
    folders = os.pathsep.join([dropin, os.environ.get("PYTHONPATH", "")])
    (tmp_path / "empty.py").write_text("import triton.profiler as proton\nassert proton.start('mine') is None\n")
    done = command("triton.profiler.proton", "empty.py", folder=tmp_path, PYTHONPATH=folders)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.glob("*.hatchet") if path != profile] == ["proton.hatchet"]


SCRIPT = """
import sys
import numpy as np
import triton
import triton.language as tl
import triton.profiler as proton
import triton.profiler.viewer as proton_viewer

@triton.jit(launch_metadata=lambda grid, metadata, args: {"name": "described", "flops16": 1e6})
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)

proton.start("mine", hook="triton")
with proton.scope("scope"):
    kernel[(1,)](np.zeros(1, np.float32))
proton.finalize()
if "--show" in sys.argv:
    tree, metrics = proton_viewer.parse(["tflop16/s", "time/ms"], "mine.hatchet")
    proton_viewer.print_tree(tree, metrics)
if "--fail" in sys.argv:
    sys.exit(7)
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def test_a_script_that_imports_the_profiler_of_triton(script):
    done = command("tegula", "script.py", "--show", folder=script)
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["ROOT", "scope", "described"]


@pytest.mark.parametrize("options, status, name", [
    ([], 0, "kernel"), (["-k", "triton", "-n", "other"], 0, "described"), ([], 7, "kernel")])
def test_the_command_that_profiles_a_script(script, options, status, name):
    done = command("tegula.profiler.proton", *options, "script.py", *(["--fail"] if status else []), folder=script)
    assert done.returncode == status, done.stderr
    file, = script.glob("*.hatchet")
    assert file.stem == ("other" if options else "proton")
    tree, _ = viewer.parse(["count"], file)
    assert [frame.name for frame in tree.walk()] == ["ROOT", "scope", name]


def test_the_command_and_pytest(script):
    (script / "test_it.py").write_text("def test_it():\n    import script\n")
    done = command("tegula.profiler.proton", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", folder=script)
    assert "1 passed" in done.stdout and (script / "proton.hatchet").exists(), done.stdout + done.stderr


def test_commands_that_make_no_sense(script):
    for wrong in ([], ["nowhere.py"], ["-b", "cupti", "script.py"], ["-d", "trace", "script.py"],
                  ["-n", "no/folder", "script.py"]):
        done = command("tegula.profiler.proton", *wrong, folder=script)
        assert done.returncode == 2 and "error: " in done.stderr and "Traceback" not in done.stderr
    assert not list(script.glob("*.hatchet"))
