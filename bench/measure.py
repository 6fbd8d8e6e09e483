"""Times functions beside each other: in turn, in one process, with the same number of threads.

In turn, one call directly behind another's: as people mix kernels and operators, with whatever one leaves behind for the
next (threads that spin, caches). Every round calls ours behind the first baseline and that baseline behind ours, so that
what the machine does in between falls on both alike. Ours is timed twice a round, under two names: the ratio of its two
medians is the A-against-A spread, what a ratio of 1 looks like here. `alone` times the same functions each by itself.
"""
import os
import platform
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

MINIMUM_SAMPLE = 0.005  # seconds; shorter calls are repeated within a sample
# Seconds before a sample of a function alone: idle threads of the one before must be asleep, not spinning on a core.
# Then one call that is not timed wakes the threads of this one.
PAUSE = 0.01


@dataclass
class Case:
    name: str
    ours: object                                   # () -> the output, in memory that the call allocates, as users do
    baselines: dict = field(default_factory=dict)  # name -> the same; the first is what we compare with
    error: object = None                           # () -> (what we were off by, what is allowed)
    work: float = 0.0                              # bytes or operations of a call
    unit: str = ""                                 # "GB/s" or "GFLOP/s"
    goal: float | None = None                      # ratio of the baseline's time to ours that we promise


def repetitions(function):
    once = min(sample(function, 1) for _ in range(3))
    return max(1, int(MINIMUM_SAMPLE / max(once, 1e-7)))


def sample(function, count):
    time.sleep(PAUSE)
    function()
    started = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - started) / count


def timed(function):
    started = time.perf_counter()
    result = function()
    taken = time.perf_counter() - started
    del result  # giving memory back is not the call's work
    return taken


def medians(samples):
    return {name: statistics.median(times) for name, times in samples.items()}


def measure(case, seconds=3.0, rounds=(7, 1000)):
    """{name: median seconds} in turn, with the second series of ours as "ours again"."""
    first, *others = case.baselines
    functions = {"ours": case.ours, **case.baselines, "ours again": case.ours}
    for function in functions.values():  # warm up: compile, load
        function()
    samples = {name: [] for name in functions}
    started = time.perf_counter()
    while len(samples["ours"]) < rounds[1]:
        functions[first]()  # not timed: it follows another baseline
        for name in ("ours", first, "ours again", first, *others):
            samples[name].append(timed(functions[name]))
        if len(samples["ours"]) >= rounds[0] and time.perf_counter() - started > seconds:
            break
    return medians(samples)


def alone(case, seconds=2.0, rounds=(5, 60)):
    """{name: median seconds} of ours and the first baseline, with nothing else at work near them."""
    functions = {"ours": case.ours, next(iter(case.baselines)): next(iter(case.baselines.values()))}
    counts = {name: repetitions(function) for name, function in functions.items()}
    samples = {name: [] for name in functions}
    started = time.perf_counter()
    while len(samples["ours"]) < rounds[1]:
        for name, function in functions.items():
            samples[name].append(sample(function, counts[name]))
        if len(samples["ours"]) >= rounds[0] and time.perf_counter() - started > seconds:
            break
    return medians(samples)


def first_words(path, key):
    for line in Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return "unknown"


def surroundings(threads, versions):
    """What a result depends on, for the file beside it."""
    root = Path(__file__).resolve().parent.parent
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True)
    flags = first_words("/proc/cpuinfo", "flags").split()
    return {
        "commit": commit.stdout.strip(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"cpu": first_words("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)),
                    "features": [f for f in ("avx2", "avx512f", "avx512_bf16", "amx_tile") if f in flags],
                    "system": platform.platform()},
        "threads": threads,
        "versions": {"python": platform.python_version(), **versions},
    }
