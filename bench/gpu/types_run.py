"""Typed expressions of both compilers on a GPU, compared bit by bit: which give another type, or another number.

    types_run.py [--budget SECONDS] [--jobs N] [--out FOLDER] [--logs FOLDER]

Writes FOLDER/types.json: a row for each expression on which the two differ, [type of x, type of y, expression, what, ours, upstream's],
`what` being "type", "values" (how many, and the first ones with their operands), "refused" (by one of them) or "lost" (a process whose
device one of them has lost says this of all that it is asked from then on). Those that both refuse are only counted.
"""
import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import typed_expressions
from typed_expressions import N

SHOWN = 3  # differences of an expression
REFUSED = "refused by both"


def result(job, contestant, package, folder):
    """(type, numbers) of one compiler, or the text of its refusal."""
    import torch

    import sources

    x, y = (typed_expressions.values(name, seed).cuda() for seed, name in enumerate(job[:2]))
    floats, integers = (torch.full((N,), 7, dtype=dtype, device="cuda") for dtype in (torch.float64, torch.int64))
    meta = torch.zeros(1, dtype=torch.int32, device="cuda")
    try:
        kernel = sources.load("typed", package, folder).typed_kernel
        kernel[(1,)](x, y, x.clone(), floats, integers, meta, N)
        torch.cuda.synchronize()
    except Exception as error:
        torch.cuda.synchronize()  # raises where the device is lost
        return f"{type(error).__name__}: {error}"[:300]
    return meta.item(), (floats if meta.item() < 1000 else integers).cpu()


def compare(job):
    """The row of an expression on which the two differ; None where they agree, REFUSED where both refuse."""
    import sources

    with tempfile.TemporaryDirectory(prefix="typed-") as folder:
        (Path(folder) / "typed.py").write_text(typed_expressions.source(job))
        try:
            ours, upstream = (result(job, name, package, Path(folder)) for name, package in sources.PACKAGES.items())
        except Exception as error:
            return [*job, "lost", f"{type(error).__name__}: {error}"[:300], ""]
    if isinstance(ours, str) or isinstance(upstream, str):
        both = isinstance(ours, str) and isinstance(upstream, str)
        return REFUSED if both else [*job, "refused", *(each if isinstance(each, str) else "taken" for each in (ours, upstream))]
    if ours[0] != upstream[0]:
        return [*job, "type", ours[0], upstream[0]]
    differ = ((ours[1] != upstream[1]) & ~((ours[1] != ours[1]) & (upstream[1] != upstream[1]))).nonzero()[:, 0].tolist()
    if not differ:
        return None
    x, y = (typed_expressions.values(name, seed) for seed, name in enumerate(job[:2]))
    rows = [[f"x = {x[k].item()}, y = {y[k].item()}", ours[1][k].item(), upstream[1][k].item()] for k in differ[:SHOWN]]
    return [*job, "values", [len(differ), *((where, own) for where, own, _ in rows)], [other for _, _, other in rows]]


def main():
    parser = argparse.ArgumentParser(prog="types_run.py", description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=200, help="seconds (200)")
    parser.add_argument("--jobs", type=int, default=14, help="processes (14)")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of types.json")
    parser.add_argument("--logs", type=Path, help="not used: the processes write to the error stream")
    args = parser.parse_args()
    started, jobs, rows = time.monotonic(), typed_expressions.jobs(), []
    done = refused = 0
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(compare, job) for job in jobs]
        for future in as_completed(futures):
            done += 1
            row = future.result()
            refused += row == REFUSED
            rows += [row] if row and row != REFUSED else []
            if done % 100 == 0:
                (args.out / "types.json").write_text(json.dumps(sorted(rows, key=str), indent=1) + "\n")
            if time.monotonic() - started > args.budget:
                pool.shutdown(wait=False, cancel_futures=True)
                break
    (args.out / "types.json").write_text(json.dumps(sorted(rows, key=str), indent=1) + "\n")
    for row in sorted(rows, key=str):
        print(" ".join(map(str, row))[:260])
    print(f"{done} of {len(jobs)} expressions in {time.monotonic() - started:.0f} s; {REFUSED}: {refused}; differ:", dict(Counter(row[3] for row in rows)))


if __name__ == "__main__":
    main()
