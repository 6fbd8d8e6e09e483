"""tools/gpu.py where there is no GPU: what it does with processes that hang and die, with shares and with archives."""
import importlib.util
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("gpu_tool", ROOT / "tools" / "gpu.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


def child(script, tmp_path):
    return tool.Process([sys.executable, "-u", "-c", script], tmp_path / "child.log", None)


def test_what_hangs_is_killed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "SILENCE", 1)
    process = child("import time; print('under way'); time.sleep(60)", tmp_path)
    started = time.monotonic()
    assert tool.follow(process, tmp_path / "record.json", started + 100) is None
    assert time.monotonic() - started < 20 and "under way" in capsys.readouterr().out
    assert child("import time; time.sleep(60)", tmp_path).wait_until(time.monotonic() + 0.5) is None


def test_a_status_is_passed_on(tmp_path):
    assert tool.follow(child("raise SystemExit(3)", tmp_path), tmp_path / "record.json", time.monotonic() + 60) == 3


def test_a_lost_case_is_behind_us_in_the_next_process(tmp_path, monkeypatch):
    """The benchmark process is started again with --resume until it ends well."""
    commands = []

    def fake(command, log, env, errors):
        errors.write_text("")
        commands.append([str(word) for word in command])
        return log

    monkeypatch.setattr(tool, "Process", fake)
    monkeypatch.setattr(tool, "follow", lambda process, record, deadline: 3 if len(commands) < 3 else 0)
    args = tool.arguments(["--out", str(tmp_path), "--budget", "100"])
    args.work = tmp_path
    (tmp_path / "gpu.json").write_text("{}")
    tool.run_bench(args, {}, {})
    assert len(commands) == 3 and "--resume" not in commands[0] and all("--resume" in c for c in commands[1:])


def test_shares_are_merged():
    one = {"outcomes": {"ops": {"passed": 3, "failed": 1}}, "skipped": {"refused: x": 2}, "failures": [{"test": "a", "error": "b"}]}
    two = {"outcomes": {"ops": {"passed": 2}, "fuzz": {"passed": 1}}, "skipped": {"refused: x": 1}}
    outcomes, skipped, failures = tool.merged([one, two, {}])
    assert outcomes == {"ops": {"passed": 5, "failed": 1}, "fuzz": {"passed": 1}}
    assert skipped == {"refused: x": 3} and len(failures) == 1
    assert not tool.right({"tests": {"failures": failures}}) and tool.right({"tests": {"failures": [], "outcomes": {"ops": {"passed": 1}}}})
    assert not tool.right({"tests": {"failures": [], "outcomes": {}}}), "where no test ran nothing is right"
    assert not tool.right({"set": {"status": 1}}) and not tool.right({"tests": "ValueError: x"})


def test_an_archive_is_unpacked_once(tmp_path):
    (tmp_path / "name").mkdir()
    (tmp_path / "name" / "file").write_text("x")
    archive = tmp_path / f"bundle-of-{tmp_path.name}.tar.xz"
    subprocess.run(["tar", "-C", tmp_path, "-cJf", archive, "name"], check=True)
    room = tool.unpacked(archive)
    assert (room / "file").read_text() == "x" and tool.unpacked(archive) == room


TESTS = """
import os, time
import pytest

@pytest.mark.gpu
@pytest.mark.parametrize("i", range(8))
def test(i):
    if i == 1: pytest.skip("because")
    if i == 2: raise RuntimeError("CUDA error: an illegal memory access was encountered")
    if i == 4: os._exit(7)
    if i == 6: time.sleep(100)
    assert i != 3
"""


def test_shares_survive_lost_devices_deaths_and_hangs(tmp_path, monkeypatch):
    """Eight tests in two shares: one skips, one fails, one loses the device, one kills its process, one hangs."""
    monkeypatch.setattr(tool, "TEST_SILENCE", 6)
    (tmp_path / "conftest.py").write_text("from shares import *\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu: x\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    args = tool.arguments([])
    args.work = tmp_path
    env = {**os.environ, "PYTHONPATH": str(ROOT / "test"), "PYTEST_ADDOPTS": f"-c {tmp_path / 'pytest.ini'} --rootdir {tmp_path}"}
    shares = [tool.Share(index, 2, [tmp_path], args, env) for index in range(2)]
    while not all(share.is_done for share in shares):
        time.sleep(0.1)
        for share in shares:
            share.poll()
    outcomes, skipped, failures = tool.merged(tool.read(report) for share in shares for report in share.reports)
    counts = sum(outcomes.values(), Counter())  # without folders each test is a suite
    assert counts["passed"] == 3 and counts["skipped"] == 1, (outcomes, [share.note for share in shares])
    assert sorted(failure["test"][-3:] for failure in failures) == ["[2]", "[3]", "[4]", "[6]"]
    assert not any(share.note for share in shares) and "Skipped: because" in skipped


def test_unknown_steps_are_refused(capsys):
    with pytest.raises(SystemExit):
        tool.arguments(["--steps", "fly"])
    assert "no step `fly`" in capsys.readouterr().err


def test_differences_are_told_apart():
    ours, theirs = [{"test": "a", "error": "x\n y"}, {"test": "b", "error": "z"}], [{"test": "b", "error": "w"}, {"test": "c", "error": "v"}]
    assert tool.differences(ours, theirs) == {"fail under Tegula only": {"a": "x y"}, "fail under upstream only": {"c": "v"},
                                              "fail under both": {"b": "z"}}
    assert not tool.right({"programs": {"differences": tool.differences(ours, theirs)}})
    assert tool.right({"programs": {"differences": tool.differences(ours[1:], theirs)}})


def test_a_step_runs_a_suite_under_both(tmp_path, monkeypatch, capsys):
    """One test passes under both, one under upstream only; which of the two runs it, the environment says."""
    suite = tmp_path / "test" / "programs"
    suite.mkdir(parents=True)
    (suite / "conftest.py").write_text("from shares import *\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu: x\n")
    (suite / "test_it.py").write_text("import os, pytest\npytestmark = pytest.mark.gpu\ndef test_a(): pass\n"
                                      "def test_b(): assert os.environ.get('TRITON_MEANS') == 'upstream'\n")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    args = tool.arguments(["--jobs", "1"])
    args.work, results = tmp_path, {}
    env = {**os.environ, "PYTHONPATH": str(ROOT / "test"), "PYTEST_ADDOPTS": f"-c {tmp_path / 'pytest.ini'} --rootdir {tmp_path}"}
    tool.run_beside("programs")(args, env, results)
    found = results["programs"]["differences"]
    assert list(found["fail under Tegula only"]) == ["test/programs/test_it.py::test_b"]
    assert not found["fail under upstream only"] and not found["fail under both"]
    assert "1 fail under Tegula only" in capsys.readouterr().out


def test_random_kernels_have_their_seeds_and_the_time_that_is_left(tmp_path, monkeypatch):
    commands, results = [], {}
    monkeypatch.setattr(tool, "Process", lambda command, log, env, errors: commands.append([str(word) for word in command]))
    monkeypatch.setattr(tool, "follow", lambda process, record, deadline: record.name == "random.json" and 0)
    args = tool.arguments(["--steps", "random", "--seeds", "5:9", "--out", str(tmp_path), "--budget", "100"])
    args.work = tmp_path
    tool.run_random(args, {}, results)
    (command,) = commands
    assert command[command.index("--seeds") + 1] == "5:9" and 75 <= int(command[command.index("--budget") + 1]) <= 80
    assert command[1].endswith("random_run.py") and results == {"random": {"status": 0}}
