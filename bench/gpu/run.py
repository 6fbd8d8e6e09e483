"""`./x bench gpu`: our kernels beside upstream's compiler and PyTorch, from one source, in turn, in one process.

    run.py [--only PART,...] [--budget SECONDS] [--out FOLDER] [--skip CASE]...

Writes FOLDER/gpu.json after each case, and the PTX of what was measured to FOLDER/ptx.zip. The case under way is in
the file too, so that whoever watches knows where a run ended. Exit status 3: the device was lost in that case; run
again with the same FOLDER and `--resume` to go on behind it.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "examples")]

import torch

import host
import parts
import rounds
import sources
import table
import work_cases

# by priority
PARTS = {"launch": host.launch, "softmax": parts.softmax, "vector_add": parts.vector_add, "residual": parts.residual,
         "layer_norm": parts.layer_norm, "wide_softmax": parts.wide_softmax, "gemv": parts.gemv,
         "gemv_int3": parts.gemv_int3, "work": work_cases.work, "more_work": work_cases.more_work,
         "models": work_cases.models, "forms": work_cases.forms, "compile": host.compile_times}
DEVICE_LOST = 3


def version(package):
    try:
        return __import__(package).__version__
    except Exception as error:
        return f"missing: {error}"


def card():
    """What nvidia-smi says of the card now; it is only read."""
    fields = "name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu"
    try:
        said = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=20)
        return dict(zip(fields.split(","), [value.strip() for value in said.stdout.split(",")]))
    except (OSError, subprocess.TimeoutExpired):
        return {}


class Record:
    """The file of results. It is whole at any time."""

    def __init__(self, folder, resume):
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.archive = folder / "gpu.json", folder / "ptx.zip"
        self.data = {"results": []}
        if resume and self.path.exists():
            self.data = json.loads(self.path.read_text())
            self.end_case("ended here: the process died or hung")
        elif self.archive.exists():
            self.archive.unlink()

    def done(self):
        return {result["name"] for result in self.data["results"]}

    def begin_case(self, part, name):
        self.data["under way"] = {"part": part, "name": name}
        self.save()

    def end_case(self, fate):
        """The case under way gets a result that says how it ended."""
        under_way = self.data.pop("under way", None)
        if under_way:
            self.data["results"].append({**under_way, "contestants": {}, "fate": fate})
        self.save()

    def add(self, result):
        self.data.pop("under way", None)
        self.data["results"].append(result)
        self.save()

    def save(self):
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self.data, indent=1) + "\n")
        partial.replace(self.path)

    def keep(self, case, contestant, label, compiled):
        """The PTX of one configuration."""
        try:
            text = compiled.asm["ptx"]
        except (AttributeError, KeyError, TypeError):
            return
        name = f"{case.name} {label} {contestant}.ptx".replace("/", "-").replace(" ", "_").replace("*", "x")
        with zipfile.ZipFile(self.archive, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, text if isinstance(text, str) else text.decode())


def surroundings():
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True)
    return {"commit": commit.stdout.strip(), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "system": platform.platform(), "card": card(),
            "versions": {"python": platform.python_version(), "torch": torch.__version__,
                         **{name: version(package) for name, package in sources.PACKAGES.items()}}}


def report(result, copy):
    print(table.line(result, copy), flush=True)
    for problem in table.problems(result):
        print(problem, flush=True)


def run_part(part, record, clock, deadline, packages=None):
    """Runs the cases that have no result yet. False when the time is up."""
    copy = record.data.get("copy bandwidth")
    whole = part in ("launch", "compile")  # generators of finished results
    if whole and any(result["part"] == part for result in record.data["results"]):
        return True
    if whole:
        record.begin_case(part, part)
    for item in PARTS[part](clock, packages):
        if not whole:
            if item.name in record.done():
                continue
            record.begin_case(part, item.name)
        result = item if whole else rounds.measure(item, clock, lambda *what, item=item: record.keep(item, *what))
        record.add(result)
        report(result, copy)
        if time.monotonic() > deadline:
            print("the time is up", flush=True)
            return False
    return True


def measure_all(names, record, clock, budget, packages=None):
    deadline = time.monotonic() + budget
    print(table.HEADER, flush=True)
    for part in names:
        try:
            if not run_part(part, record, clock, deadline, packages):
                break
        except rounds.DeviceLost as error:
            record.end_case(f"the device was lost: {error}")
            print(f"device lost: {error}", flush=True)
            return DEVICE_LOST
        except Exception as error:  # a fault of this harness must not cost the other parts
            record.end_case(f"failed: {type(error).__name__}: {error}")
            print(f"{part} failed: {type(error).__name__}: {error}", flush=True)
    record.data["card after"] = card()
    record.save()
    return 0


def arguments():
    parser = argparse.ArgumentParser(prog="./x bench gpu", description="parts: " + " ".join(PARTS))
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--budget", type=float, default=420, help="seconds after which no new case begins")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results")
    parser.add_argument("--resume", action="store_true", help="keep the results that are there, do the rest")
    args = parser.parse_args()
    args.only = [name for name in args.only.split(",") if name]
    for name in args.only:
        if name not in PARTS:
            parser.error(f"no part `{name}`; there are: {' '.join(PARTS)}")
    return args


def main():
    args = arguments()
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"  # both compile anew
    if not torch.cuda.is_available():
        sys.exit("bench gpu: PyTorch sees no CUDA device here")
    from clock import Clock, copy_bandwidth

    record = Record(args.out, args.resume)
    clock = Clock()
    if "copy bandwidth" not in record.data:
        record.data.update(surroundings())
        record.data["copy bandwidth"] = copy_bandwidth(clock)
        record.save()
    print(f"copy: {record.data['copy bandwidth'] / 1e9:.0f} GB/s, {record.data.get('card')}", flush=True)
    sys.exit(measure_all(args.only, record, clock, args.budget))


if __name__ == "__main__":
    main()
