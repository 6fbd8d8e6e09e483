"""`./x bench cpu [KERNEL...]`, `./x bench compile [KERNEL...]`, `./x bench startup` and `./x bench tune`:
measures, prints a table, keeps a file of results.

The file says how busy the machine was (its load average before and behind), and what TEGULA_BENCH_NOTE says.
"""
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]

THREADS = int(os.environ.setdefault("TEGULA_NUM_THREADS", str(len(os.sched_getaffinity(0)))))

import numpy
import torch

import measure

LOAD_BEFORE = os.getloadavg()[0]


def note():
    busy = f"load average {LOAD_BEFORE:.1f} before, {os.getloadavg()[0]:.1f} behind, on {len(os.sched_getaffinity(0))} cores"
    return "; ".join(filter(None, [busy, os.environ.get("TEGULA_BENCH_NOTE")]))


def save(what, results):
    versions = {"torch": torch.__version__, "numpy": numpy.__version__}
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{what}.json"
    path.write_text(json.dumps({**measure.surroundings(THREADS, versions), "note": note(), "results": results}, indent=1) + "\n")
    print(f"\nresults: {path.relative_to(HERE.parent)}")


def selected(names):
    import cases
    for module in cases.ALL:
        if not names or any(name in module.__name__ for name in names):
            yield from module.cases()


def bench_cpu(names):
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    print("in turn, outputs allocated within; alone: ours and torch each by itself")
    print(f"{'kernel':42} {'ours':>10} {'torch':>10} {'numpy':>10} {'rate':>14} {'ratio':>7} {'A/A':>6} "
          f"{'alone':>10} {'torch':>10} {'ratio':>7}  goal")
    results, missed = [], []
    for case in selected(names):
        off, allowed = case.error()
        medians, alone = measure.measure(case), measure.alone(case)
        ours = medians["ours"]
        again = medians.pop("ours again") / ours
        baseline = next(iter(case.baselines))
        ratio = medians[baseline] / ours
        # As fast as the goal asks, as far as this machine can tell: the spread is what equal looks like.
        met = case.goal is None or ratio >= case.goal * min(again, 1 / again)
        rate = f"{case.work / ours / 1e9:.1f} {case.unit}"
        columns = [f"{medians[n] * 1e3:.3f} ms" if n in medians else "" for n in ("ours", "torch", "numpy")]
        apart = [f"{alone[n] * 1e3:.3f} ms" for n in ("ours", baseline)]
        goal = "" if case.goal is None else f"{case.goal:.1f} {'met' if met else 'MISSED'}"
        right = off <= allowed
        print(f"{case.name:42} {columns[0]:>10} {columns[1]:>10} {columns[2]:>10} {rate:>14} {ratio:6.2f}x {again:6.3f}"
              f" {apart[0]:>10} {apart[1]:>10} {alone[baseline] / alone['ours']:6.2f}x  {goal}{'' if right else '  WRONG'}",
              flush=True)
        if not right:
            missed.append(f"{case.name}: off by {off:.3g}, allowed {allowed:.3g}")
        results.append({"kernel": case.name, "seconds": medians, "alone": alone, "ratio": ratio, "spread": again,
                        "goal": case.goal, "error": off, "allowed": allowed})
    save("cpu", results)
    if missed:
        sys.exit("wrong results: " + "; ".join(missed))


def bench_compile(names):
    import compile_time
    save("compile", compile_time.measure_all(names))


def bench_startup(names):
    import startup
    save("startup", startup.measure_all())


def bench_tune(names):
    import tune
    save("tune", tune.measure_all())


if __name__ == "__main__":
    {"startup": bench_startup, "tune": bench_tune, "cpu": bench_cpu, "compile": bench_compile}[sys.argv[1]](sys.argv[2:])
