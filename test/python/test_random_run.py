"""The runner of random kernels (bench/gpu/random_run.py) without a GPU: Tegula on both sides, and workers that die, hang and lie."""
import json
import sys
from pathlib import Path

import pytest
from test_bench_gpu import PACKAGES, CpuClock, harness, quick  # noqa: F401 (fixtures)

SCRIPT = """
import json, os, sys, time
out = os.fdopen(int(sys.argv[1]), "w", buffering=1)
def say(**said): out.write(json.dumps(said) + "\\n")
say(phase="idle")
for line in sys.stdin:
    (verb, seed), = json.loads(line).items()
    say(phase="checking" if verb == "check" else "timing", contestant="ours")
    if (verb, seed) == ("check", 1): os._exit(7)
    if (verb, seed) == ("check", 2): say(phase="lost", error="an illegal address")
    if (verb, seed) == ("check", 3): time.sleep(60)
    if (verb, seed) == ("time", 4): os.abort()
    entry = {"compile seconds": 0.1, "n_regs": 32, "n_spills": 0}
    if verb == "check" and seed == 5:
        say(phase="done", result={"contestants": {"ours": {"failed": "not this one"}, "upstream": entry}})
    elif verb == "check":
        say(phase="done", result={"contestants": {"ours": entry, "upstream": entry}, "differences": {"o": seed / 100}, "error": seed / 100})
    else:
        say(phase="done", result={"seconds": {"ours": 2e-6, "upstream": 1e-6}, "ratio": 2.0})
"""


class Said(list):
    def say(self, phase, **more):
        self.append((phase, more))


@pytest.mark.parametrize("seed", [0, 1, 4, 5, 10, 15])
def test_a_kernel_is_checked_and_timed(seed, quick):  # noqa: F811
    import random_worker

    said = Said()
    worker = random_worker.Worker(said, CpuClock(), PACKAGES, is_small=True)
    worker.do({"check": seed})
    worker.do({"time": seed})
    checked, timed = [more["result"] for phase, more in said if phase == "done"]
    assert checked["error"] == 0 and set(checked["contestants"]) == {"ours", "upstream"}, checked
    assert all(entry["compile seconds"] > 0 for entry in checked["contestants"].values())
    assert timed["ratio"] > 0 and all(seconds > 0 for seconds in timed["seconds"].values()), timed


def test_a_compiler_that_fails_is_said(quick):  # noqa: F811
    import random_worker

    said = Said()
    random_worker.Worker(said, CpuClock(), {"ours": "tegula", "upstream": "no_such_package"}, is_small=True).do({"check": 1})
    result = said[-1][1]["result"]
    assert "no_such_package" in result["contestants"]["upstream"]["failed"] and "error" not in result


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """Eight seeds in two workers that end badly now and then."""
    import random_run

    monkeypatch.setattr(random_run, "surroundings", dict)
    monkeypatch.setitem(random_run.LIMITS, "checking", 3)
    (tmp_path / "worker.py").write_text(SCRIPT)
    record = random_run.Record(tmp_path / "random.json", range(8))
    run = random_run.Run(record, 2, tmp_path, 60, tmp_path / "worker.py")
    run.check(range(8))
    run.time()
    record.save()
    assert not run.workers
    return json.loads((tmp_path / "random.json").read_text())["results"]


def test_a_process_that_ends_costs_its_case(ended):
    fates = {row["seed"]: row["fate"] for row in ended if "fate" in row}
    assert set(fates) == {1, 2, 3, 4}
    assert fates[1] == "the process ended with 7 while checking ours" and "an illegal address" in fates[2]
    assert "stopped after 3 s while checking ours" == fates[3] and "while timing ours" in fates[4]
    assert {row["seed"] for row in ended if "ratio" in row} == {0, 6, 7}
    assert all(row["kind"] and row["description"] and row["options"] for row in ended)


def test_the_summary_lists_what_to_look_at(ended):
    import random_table

    text = "\n".join(random_table.lines(ended))
    assert text.splitlines()[1].split() == ["all", "8", "3", "2.000", "2.000", "3", "3"]
    for title in ["slowest beside upstream (3)", "results that differ (3)", "only upstream takes (1)", "not ended (4)"]:
        assert title in text, text


def test_workers_that_do_not_start_are_given_up(tmp_path, monkeypatch):
    import random_run

    monkeypatch.setattr(random_run, "surroundings", dict)
    (tmp_path / "worker.py").write_text("raise SystemExit(5)")
    record = random_run.Record(tmp_path / "random.json", range(4))
    run = random_run.Run(record, 2, tmp_path, 60, tmp_path / "worker.py")
    run.check(range(4))
    run.time()
    assert run.started <= random_run.MOST_STILLBORN + 1
    assert all("no worker starts" in row["fate"] for row in record.rows.values())


def test_checks_on_their_way_end_when_the_time_is_up(tmp_path, monkeypatch):
    import random_run

    monkeypatch.setattr(random_run, "surroundings", dict)
    monkeypatch.setattr(random_run, "CHECKS", 0.05)
    slow = SCRIPT.replace("    entry =", "    if verb == 'check': time.sleep(2)\n    entry =", 1)
    assert slow != SCRIPT
    (tmp_path / "worker.py").write_text(slow)
    seeds = [0, 6, 7, 8, 9, 10]
    record = random_run.Record(tmp_path / "random.json", seeds)
    run = random_run.Run(record, 2, tmp_path, 60, tmp_path / "worker.py")
    run.check(seeds)
    run.time()
    fates = {seed: row["fate"] for seed, row in record.rows.items() if "fate" in row}
    assert set(fates.values()) == {"the time was up"} and run.started == 2, fates
    assert {seed for seed, row in record.rows.items() if "ratio" in row} == set(seeds) - set(fates)


ON_CORES = """
import functools, sys
sys.path[:0] = [{bench!r}, {here!r}]
import clock, random_worker, rounds
from test_bench_gpu import PACKAGES, CpuClock
clock.Clock, rounds.ROUNDS = CpuClock, 2
random_worker.Worker = functools.partial(random_worker.Worker, packages=PACKAGES, is_small=True)
random_worker.main()
"""


def test_a_run_on_cores(tmp_path, monkeypatch):
    import random_run

    monkeypatch.setattr(random_run, "surroundings", dict)
    bench, here = (str(Path(module.__file__).parent) for module in (random_run, sys.modules[__name__]))
    (tmp_path / "worker.py").write_text(ON_CORES.format(bench=bench, here=here))
    record = random_run.Record(tmp_path / "random.json", range(6))
    run = random_run.Run(record, 2, tmp_path, 120, tmp_path / "worker.py")
    run.check(range(6))
    run.time()
    rows = list(record.rows.values())
    assert all(row["error"] == 0 and row["ratio"] > 0 for row in rows), rows
    assert run.started == 2 and not run.workers
