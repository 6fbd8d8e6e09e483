"""A campaign runs each seed once, in as many jobs as it is told, and goes on behind what its logs know."""
import json
import subprocess
import sys
from pathlib import Path

CAMPAIGN = Path(__file__).resolve().parent / "campaign.py"


def run(folder, *options):
    return subprocess.run([sys.executable, CAMPAIGN, "--log", folder, *options], capture_output=True, text=True, timeout=300)


def until(folder):
    lines = [json.loads(line) for log in folder.iterdir() for line in log.read_text().splitlines()]
    return {line["batch"]: line["until"] for line in lines}, sum(line["failed"] for line in lines)


def test_each_seed_runs_once(tmp_path):
    options = ["--target", "interp", "--kinds", "memory,plain", "--jobs", "2"]
    done = run(tmp_path, *options, "--seeds", "100:152")
    assert done.stdout.startswith("52 programs (memory, plain) on interp, 0 failed"), done.stdout + done.stderr
    assert until(tmp_path) == ({100: 150, 150: 152}, 0)
    done = run(tmp_path, *options, "--seeds", "100:154")
    assert done.stdout.startswith("2 programs"), done.stdout + done.stderr


def test_kinds_that_are_none(tmp_path):
    done = run(tmp_path, "--kinds", "dots,drops")
    assert done.returncode == 2 and "no kinds of programs: drops" in done.stderr
