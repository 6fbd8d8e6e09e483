"""The runner of spellings (bench/gpu/spelling_run.py) without a GPU: workers that die, hang and lose the device, each with a configuration of its own."""
import argparse
import json

import pytest
from test_bench_gpu import harness  # noqa: F401 (a fixture)

SCRIPT = """
import json, os, sys, time
out = os.fdopen(int(sys.argv[1]), "w", buffering=1)
def say(**said): out.write(json.dumps(said) + "\\n")
say(phase="idle")
for line in sys.stdin:
    case = json.loads(line)["case"]
    fault = case["spelling"]
    bad = {name for rows in case["skipped"].values() for name in rows}
    for config in ("first", "second"):
        say(phase="compiling", contestant="upstream", config=config)
        if config == "second" and config not in bad and fault != "matmul, right":
            if fault == "matmul, dies": os._exit(7)
            if fault == "matmul, is lost": say(phase="lost", error="an illegal address")
            time.sleep(60)
    say(phase="ready")
    assert sys.stdin.readline().strip() == "go"
    say(phase="done", result={"purpose": case["purpose"], "spelling": fault, "contestants": {}, "skipped": case["skipped"]})
"""


@pytest.fixture
def spelling_run(harness, tmp_path, monkeypatch):  # noqa: F811
    import spelling_run

    (tmp_path / "worker.py").write_text(SCRIPT)
    monkeypatch.setattr(spelling_run.Worker, "script", tmp_path / "worker.py")
    monkeypatch.setattr(spelling_run, "surroundings", dict)
    monkeypatch.setitem(spelling_run.LIMITS, "compiling", 3)
    return spelling_run


def ended(spelling_run, folder, spellings):
    from spelling_cases import Case

    args = argparse.Namespace(out=folder, set="quick", jobs=2, logs=folder, budget=60)
    run = spelling_run.Run(args, [Case(f"purpose {index}", spelling, "f16", {}, []) for index, spelling in enumerate(spellings)])
    run.work()
    assert not run.workers
    return {row["spelling"]: row for row in json.loads((folder / "spellings.json").read_text())["results"]}, run


def test_a_case_goes_on_without_the_configuration_at_fault(spelling_run, tmp_path):
    rows, run = ended(spelling_run, tmp_path, ["matmul, right", "matmul, dies", "matmul, is lost", "matmul, hangs"])
    assert len(rows) == 4 and not any("fate" in row for row in rows.values()), rows
    fates = {name: row["skipped"]["upstream"]["second"] for name, row in rows.items() if row["skipped"]}
    assert fates == {"matmul, dies": "the process ended with 7 while compiling second",
                     "matmul, is lost": "the device was lost: an illegal address while compiling second",
                     "matmul, hangs": "stopped after 3 s while compiling second"}
    assert run.measuring is None


def test_workers_that_do_not_start_are_given_up(spelling_run, tmp_path):
    (tmp_path / "worker.py").write_text("raise SystemExit(5)")
    rows, run = ended(spelling_run, tmp_path, ["matmul, right", "matmul, dies"])
    assert all("no worker starts" in row["fate"] for row in rows.values()) and len(rows) == 2
    assert run.started <= 2 + spelling_run.MOST_STILLBORN
