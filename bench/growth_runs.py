"""`./x bench growth [--jobs N] [--out FILE] [--bundle FOLDER] [--seconds S] [SHAPE...]`: how compile time grows with programs.

In: the shapes of test/growth/shapes.py, all or those whose names contain a word given. Out: a line for each series, and a
file of them all: exponents of CPU time in the size, until a compile takes ten seconds. Series run side by side, N at once,
those first that took longest in the last results. Standard library only: with the folder or the archive of `./x bundle`
it runs where nothing is built (`tools/gpu.py` finds it).
"""
import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "growth.json"
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "test" / "growth"), str(ROOT / "tools")]

import gpu
import growth
import measure
import shapes


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./x bench growth")
    parser.add_argument("names", nargs="*", help="words in names of shapes; all without")
    parser.add_argument("--jobs", type=int, default=1, help="series side by side (1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--bundle", type=Path, help="a folder or an archive of `./x bundle`; the build without")
    parser.add_argument("--seconds", type=float, default=growth.BENCH_SECONDS, help="of the largest compile of a series (10)")
    parser.add_argument("--wall", type=float, help="seconds in which a series must end; a hang is a result, too")
    return parser.parse_args()


def seconds_before():
    """CPU seconds that each series took in the results that are kept."""
    try:
        series = json.loads(RESULTS.read_text())["results"]
    except (OSError, ValueError, KeyError):
        return {}
    return {(each["shape"], each["target"]): sum(point["seconds"] for point in each["points"]) for each in series}


def chosen(names):
    """Series to run, the longest first: what is started last ends the run, and should be short."""
    before = seconds_before()
    picked = [(name, target) for name in shapes.SHAPES for target in growth.TARGETS
              if not names or any(part in name for part in names)]
    return sorted(picked, key=lambda each: -before.get(each, float("inf")))


def summary(results):
    """Counts of series: within the goal, above it, and those that a budget ends before they take time."""
    short = [each for each in results if growth.ends_early(each)]
    above = [each for each in results if growth.is_steep(each, growth.GOAL)]
    ended = [each for each in results if each["fault"]]
    within = len(results) - len(short) - len(above) - len(ended)
    return {"series": len(results), "within": within, "ended early by a budget": len(short),
            "above": [f"{each['shape']} on {each['target']}: {each['exponent']:.2f}" for each in above],
            "faults": [f"{each['shape']} on {each['target']}: {each['fault']}" for each in ended]}


def save(path, results, begun, jobs):
    """Written behind each series: what a limit of time cuts off loses the rest only."""
    order = {name: index for index, name in enumerate(shapes.SHAPES)}
    rows = sorted(results, key=lambda each: (order[each["shape"]], each["target"]))
    note = f"{jobs} series side by side; load average {os.getloadavg()[0]:.1f} behind; CPU time, until a compile takes ten seconds"
    note = "; ".join(filter(None, [note, os.environ.get("TEGULA_BENCH_NOTE")]))
    document = {**measure.surroundings(1, {}), "note": note, "wall": round(time.monotonic() - begun, 1),
                "summary": summary(results), "results": rows}
    partial = path.with_suffix(".partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.write_text(json.dumps(document, indent=1) + "\n")
    partial.replace(path)


def main():
    args = parse_arguments()
    if args.bundle:
        os.environ["TEGULA_BUILD_DIR"] = str(gpu.library(args.bundle)[0])
    results, begun = [], time.monotonic()
    with ThreadPoolExecutor(args.jobs) as pool:
        running = [pool.submit(growth.run, *each, args.seconds, args.wall) for each in chosen(args.names)]
        for future in as_completed(running):
            results.append(future.result())
            print(growth.line_of(results[-1]), flush=True)
            save(args.out, results, begun, args.jobs)
    for what, count in summary(results).items():
        print(f"{what}: {', '.join(count) if isinstance(count, list) else count}")
    print(f"{time.monotonic() - begun:.0f} s; results: {args.out}")
    if not results or any(each["fault"] for each in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
