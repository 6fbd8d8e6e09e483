"""`./x gpu --steps spellings`: products and attention in many spellings, ours beside upstream's and the libraries, in one run.

    spelling_run.py [--quick | --goals | --lengths] [--only TEXT] [--budget SECONDS] [--jobs N] [--out FOLDER] [--logs FOLDER] [--no-compile]

Standard library only. Worker processes (spelling_worker.py) compile cases side by side; one at a time is told to measure. A worker
that dies, hangs or loses the device is replaced; the case is tried again without the configuration that was under way, or without
the contestant, and that is reported with its fate. Writes FOLDER/spellings.json (goals.json, lengths.json) after each case. At the end cold compiles are timed alone.
"""
import argparse
import json
import os
import selectors
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import spelling_cases
import spelling_table
from surroundings import surroundings
from worker_process import WorkerProcess, Workers

# Seconds that a worker may spend in one phase, which is one configuration of one contestant.
LIMITS = {"starting": 150, "compiling": 40, "checking": 15, "trying": 8, "timing": 10}
MOST_STILLBORN = 3
MOST_SKIPPED = 2  # configurations of one contestant; then the contestant is given up


class Worker(WorkerProcess):
    script = HERE / "spelling_worker.py"

    def __init__(self, folder, number):
        super().__init__(self.script, folder / f"spelling-worker-{number}.log")
        self.case, self.measures = None, False

    def begin(self, case, verb="case"):
        self.case, self.verb, self.measures = case, verb, False
        self.send(json.dumps({verb: case.plain()}))
        self.enter({"phase": "compiling", "contestant": "ours", "config": ""})


class Run(Workers):
    def __init__(self, args, cases):
        super().__init__(LIMITS, args.out / f"{args.set if args.set in ('goals', 'lengths') else 'spellings'}.json")
        self.args, self.waiting = args, list(cases)
        self.deadline = time.monotonic() + args.budget
        self.results = []
        self.order = {case.name(): index for index, case in enumerate(cases)}
        self.measuring = None
        self.measured_seconds = 0.0
        self.save()

    # --- workers ---

    def make(self, number):
        return Worker(self.args.logs, number)

    def drop(self, worker, why):
        """Ends a worker; its case goes on without the contestant that was under way."""
        said, case = worker.said, worker.case
        status = self.end(worker)
        if self.measuring is worker:
            self.measuring = None
        if case is None:
            self.stillborn += said["phase"] == "starting"
            return
        fate = f"{why or f'the process ended with {status}'} while {said['phase']} {said.get('config', '')}".strip()
        culprit, label = said.get("contestant"), said.get("config")
        if culprit in (None, "the reference") or culprit in case.without:
            self.add({"purpose": case.purpose, "spelling": case.spelling, "fate": fate})
            return
        rows = case.skipped.setdefault(culprit, {})
        if label and label not in rows and len(rows) < MOST_SKIPPED:
            rows[label] = fate
        else:
            case.without[culprit] = fate
        self.waiting.insert(0, case)

    def done(self, worker, result):
        self.add(result)
        worker.case = None
        if self.measuring is worker:
            self.measured_seconds += time.monotonic() - self.granted
            self.measuring = None

    # --- what is done next ---

    def feed(self):
        """Cases to idle workers, in order; the GPU to the first in order of those that are ready."""
        for worker in self.workers.values():
            if worker.case is None and worker.said["phase"] != "starting" and self.waiting and time.monotonic() < self.deadline:
                worker.begin(self.waiting.pop(0))
        ready = [worker for worker in self.workers.values() if worker.said["phase"] == "ready"]
        if self.measuring is None and ready and time.monotonic() < self.deadline:
            worker = min(ready, key=lambda worker: self.order[worker.case.name()])
            self.measuring, self.granted = worker, time.monotonic()
            worker.send("go")
            worker.enter({"phase": "checking", "contestant": "the reference", "config": ""})

    def work(self):
        jobs = min(self.args.jobs, len(self.waiting))
        for _ in range(jobs):
            self.start()
        while True:
            busy = [worker for worker in self.workers.values() if worker.case is not None]
            if not busy and not self.waiting:
                break
            if time.monotonic() > self.deadline and self.measuring is None:
                break
            wanted = min(jobs, len(busy) + len(self.waiting))
            if len(self.workers) < wanted and (not self.stillborn or not self.workers) and self.stillborn < jobs + MOST_STILLBORN:
                self.start()
            if not self.workers:
                break
            self.feed()
            self.look()
        for worker in list(self.workers.values()):
            if worker.case is not None:
                self.add({"purpose": worker.case.purpose, "spelling": worker.case.spelling, "fate": "the time was up"})
                worker.case = None
            self.drop(worker, "")
        fate = "the time was up" if time.monotonic() > self.deadline else f"no worker starts; see {self.args.logs}/spelling-worker-*.log"
        for case in self.waiting:
            self.add({"purpose": case.purpose, "spelling": case.spelling, "fate": fate})

    def compile_alone(self):
        """Cold compiles, nothing beside them."""
        for name, config in (("matmul, wrapped nn", spelling_cases.WIDE[1]), ("attention, two loops", spelling_cases.ATTENTION[0])):
            size = dict(m=4096, n=4096, k=4096) if name[0] == "m" else dict(batch=4, heads=16, length=4096, head=128, causal=True)
            case = spelling_cases.Case("cold compile", name, "f16", size, [config])
            worker = Worker(self.args.logs, self.started)
            self.started += 1
            limit = time.monotonic() + 60
            result = {"purpose": "cold compile", "spelling": name, "fate": "not ended within 60 s"}
            asked = False
            while time.monotonic() < limit:
                if not select_one(worker.out, 0.5):
                    continue
                said = worker.read()
                if said is None:
                    result["fate"] = "the process died"
                    break
                if any(message["phase"] == "done" for message in said):
                    result = said[-1]["result"]
                    break
                if not asked and said[-1]["phase"] == "idle":
                    asked = True
                    worker.begin(case, "compile")
            worker.end()
            self.add(result)

    # --- results ---

    def add(self, result):
        self.results.append(result)
        print(spelling_table.line(result), flush=True)
        for problem in spelling_table.problems(result):
            print(problem, flush=True)
        self.save()

    def save(self):
        data = {"surroundings": surroundings(), "limits": LIMITS, "results": self.results}
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(data, indent=1) + "\n")
        partial.replace(self.path)


def select_one(descriptor, timeout):
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(timeout))


def arguments():
    parser = argparse.ArgumentParser(prog="spelling_run.py", description=__doc__.splitlines()[0])
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--quick", dest="set", action="store_const", const="quick", default="whole",
                        help="a third of the cases, two configurations each")
    chosen.add_argument("--goals", dest="set", action="store_const", const="goals", help="one spelling at many sizes")
    chosen.add_argument("--lengths", dest="set", action="store_const", const="lengths", help="rows that are no multiples of 16 elements")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no new case is measured; 300, quick 110")
    parser.add_argument("--jobs", type=int, default=max(2, len(os.sched_getaffinity(0)) - 2), help="workers")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results")
    parser.add_argument("--logs", type=Path, default=Path(tempfile.gettempdir()), help="folder for what workers print")
    parser.add_argument("--no-compile", action="store_true", help="leave out the cold compiles")
    args = parser.parse_args()
    args.budget = args.budget or (110 if args.set == "quick" else 300)
    args.out.mkdir(parents=True, exist_ok=True)
    return args


def main():
    args, started = arguments(), time.monotonic()
    cases = spelling_cases.cases(args.set, args.only)
    if not cases:
        sys.exit(f"spelling_run: no case has `{args.only}` in its name")
    print(f"{len(cases)} cases, {args.jobs} workers, {surroundings()}", flush=True)
    print(spelling_table.HEADER, flush=True)
    run = Run(args, cases)
    run.work()
    if not args.no_compile:
        run.compile_alone()
    for row in spelling_table.summary(run.results):
        print(row)
    print(f"{time.monotonic() - started:.0f} s, of these {run.measured_seconds:.0f} s measuring; {run.started} workers; {run.path}")


if __name__ == "__main__":
    main()
