"""`./x gpu --steps random`: random kernels (random_kernels), ours beside upstream's: results side by side, then times in turn.

    random_run.py [--seeds FIRST:LAST,SEED,...] [--budget SECONDS] [--jobs N] [--out FOLDER] [--logs FOLDER]

Standard library only. Worker processes (random_worker.py) compile and run kernels side by side; then one at a time is told to
time those that it has compiled. A worker that dies, hangs or loses the device costs its case, and another one goes on. Nothing is
failed here: upstream is the wrong one now and then, and what differs is a case to look at (random_table.py lists them). Writes
FOLDER/random.json.
"""
import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import random_kernels
import random_table
from surroundings import surroundings
from worker_process import WorkerProcess, Workers

# Seconds that a worker may spend in one phase, which is of one contestant.
LIMITS = {"starting": 150, "checking": 60, "timing": 30}
MOST_STILLBORN = 3
CHECKS = 0.6                # of the budget; the rest is for times
SAVE_SECONDS, SAY_SECONDS = 2, 15


class Record:
    """The results by seed, and their file."""

    def __init__(self, path, seeds):
        self.path, self.rows, self.saved = path, {seed: described(seed) for seed in seeds}, 0.0
        self.save()

    def add(self, seed, result):
        self.rows[seed].update(result)
        if time.monotonic() - self.saved > SAVE_SECONDS:
            self.save()

    def save(self):
        partial = self.path.with_suffix(".partial")
        data = {"surroundings": surroundings(), "limits": LIMITS, "results": list(self.rows.values())}
        partial.write_text(json.dumps(data, indent=1) + "\n")
        partial.replace(self.path)
        self.saved = time.monotonic()


def described(seed):
    kernel = random_kernels.make(seed)
    return {"seed": seed, "kind": kernel.kind, "description": kernel.description, "options": kernel.options}


class Worker(WorkerProcess):
    def __init__(self, script, log):
        super().__init__(script, log)
        self.seed = None
        self.checked = []  # seeds whose kernels it holds

    @property
    def is_idle(self):
        return self.seed is None and self.said["phase"] != "starting"

    def begin(self, verb, seed):
        self.seed = seed
        self.send(json.dumps({verb: seed}))
        self.enter({"phase": {"check": "checking", "time": "timing"}[verb]})


class Run(Workers):
    def __init__(self, record, jobs, logs, budget, script=HERE / "random_worker.py"):
        super().__init__(LIMITS, record.path)
        self.record, self.jobs, self.logs, self.script = record, jobs, logs, script
        self.begun = time.monotonic()
        self.budget = budget

    # --- workers ---

    def make(self, number):
        return Worker(self.script, self.logs / f"random-worker-{number}.log")

    def drop(self, worker, why):
        """Ends a worker that is at fault or late; its case, if it has one, ends with it."""
        said, status = worker.said, self.end(worker)
        if worker.seed is not None:
            at = f"{said['phase']} {said.get('contestant', '')}".strip()
            self.record.add(worker.seed, {"fate": f"{why or f'the process ended with {status}'} while {at}"})
        elif said["phase"] == "starting":
            self.stillborn += 1

    def done(self, worker, result):
        self.record.add(worker.seed, result)
        worker.checked.append(worker.seed)
        worker.seed = None

    def can_start(self):
        return self.stillborn < MOST_STILLBORN

    # --- side by side ---

    def check(self, seeds):
        """Checks in as many workers as there are jobs. At the deadline no check begins, and those on their way end: what a worker has
        compiled is timed in it."""
        waiting, deadline, said = list(seeds), self.begun + CHECKS * self.budget, time.monotonic()
        late = []
        while True:
            if time.monotonic() > deadline:
                late, waiting = late + waiting, []
            busy = [worker for worker in self.workers.values() if worker.seed is not None]
            if not busy and not waiting:
                break
            while len(self.workers) < min(self.jobs, len(busy) + len(waiting)) and self.can_start():
                self.start()
            if not self.workers:
                break
            for worker in self.workers.values():
                if worker.is_idle and waiting:
                    worker.begin("check", waiting.pop(0))
            self.look()
            if time.monotonic() - said > SAY_SECONDS:
                said = time.monotonic()
                print(f"{len(seeds) - len(waiting) - len(late)} of {len(seeds)} kernels begun, {said - self.begun:.0f} s", flush=True)
        fate = "the time was up" if self.can_start() else f"no worker starts; see {self.logs}/random-worker-*.log"
        for seed in late + waiting:
            self.record.add(seed, {"fate": fate})

    # --- in turn ---

    def time(self):
        """Times of what both compilers took, each in the worker that has compiled it, if that lives."""
        left = [seed for seed, row in self.record.rows.items() if "error" in row]
        for worker in list(self.workers.values()):
            own = [seed for seed in worker.checked if seed in left]
            left = [seed for seed in left if seed not in own]
            self.time_some(worker, own)
        self.time_some(None, left)

    def time_some(self, worker, seeds):
        """In one worker, and in others after it where it dies; the worker goes afterwards, with its memory."""
        for seed in seeds:
            if time.monotonic() > self.begun + self.budget:
                break
            if worker is None or worker.out not in self.workers:
                worker = self.ready_worker()
            if worker is None:
                break
            worker.begin("time", seed)
            while worker.out in self.workers and worker.seed is not None:
                self.look()
        if worker is not None and worker.out in self.workers:
            self.end(worker)

    def ready_worker(self):
        """A new worker that has started; None where none starts."""
        while self.can_start():
            worker = self.start()
            while worker.out in self.workers and not worker.is_idle:
                self.look()
            if worker.out in self.workers:
                return worker
        return None


def seeds_of(text):
    """The seeds of `FIRST:LAST`, the last left out, of `SEED`, or of several of these with commas between them."""
    seeds = []
    for part in text.split(","):
        first, colon, last = part.partition(":")
        seeds += range(int(first), int(last) if colon else int(first) + 1)
    return seeds


def arguments():
    parser = argparse.ArgumentParser(prog="random_run.py", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=seeds_of, default=range(300), metavar="FIRST:LAST,SEED,...", help="each range without its last (0:300)")
    parser.add_argument("--budget", type=float, default=300, help=f"seconds; no check begins after {100 * CHECKS:.0f} %% of them")
    parser.add_argument("--jobs", type=int, default=max(2, len(os.sched_getaffinity(0)) - 1), help="workers")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results")
    parser.add_argument("--logs", type=Path, default=Path(tempfile.gettempdir()), help="folder for what workers print")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    return args


def main():
    args = arguments()
    print(f"{len(args.seeds)} kernels, {args.jobs} workers, {surroundings()}", flush=True)
    record = Record(args.out / "random.json", args.seeds)
    run = Run(record, args.jobs, args.logs, args.budget)
    run.check(args.seeds)
    checked = time.monotonic() - run.begun
    run.time()
    record.save()
    for line in random_table.lines(list(record.rows.values())):
        print(line)
    print(f"{time.monotonic() - run.begun:.0f} s, of these {checked:.0f} s checking; {run.started} workers; {record.path}")


if __name__ == "__main__":
    main()
