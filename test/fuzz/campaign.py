"""Many random programs, once: `python3 test/fuzz/campaign.py --target cpu --form pointers --seeds 0:50000 --log FILE`.

In: a range of seeds of generator.py, a form, a target, and a time in minutes at most. Out: the log, a line of JSON for each program
that failed (seed, kind, text) and one for each batch with the number of programs run; at the end the totals. A batch runs in a
process of its own; one that dies is taken up behind the program that ended it. A log that is there already is gone on with.
"""
import argparse
import json
import time
from pathlib import Path

from generator import generate
from isolated import run_some
from reduce import check_on

BATCH = 100


def check_seed(target, form):
    check = check_on(target)
    return lambda seed: check(generate(seed, form))


def next_seed(log, start):
    """Behind the last seed that the log knows of."""
    done = [json.loads(line)["until"] for line in log.read_text().splitlines() if '"until"' in line] if log.exists() else []
    return max(done, default=start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--form", default="")
    parser.add_argument("--seeds", default="0:1000")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--log", type=Path, required=True)
    options = parser.parse_args()
    start, end = map(int, options.seeds.split(":"))
    seed, stop = next_seed(options.log, start), time.monotonic() + 60 * options.minutes
    check, count, failed = check_seed(options.target, options.form), 0, 0
    with open(options.log, "a") as log:
        while seed < end and time.monotonic() < stop:
            seeds = range(seed, min(seed + BATCH, end))
            made, failures = run_some(check, seeds)
            for index, failure in failures.items():
                print(json.dumps({"seed": seeds[index], "form": options.form, "target": options.target, "kind": failure.kind,
                                  "text": failure.text}), file=log)
            seed += made
            count += made
            failed += len(failures)
            print(json.dumps({"from": seeds[0], "until": seed, "failed": len(failures)}), file=log, flush=True)
            if made == 0:
                raise SystemExit("no program was run")
    print(f"{count} programs of form {options.form or 'plain'!r} on {options.target}, {failed} failed; next seed {seed}")


if __name__ == "__main__":
    # The children need this: it is imported once, here.
    import differences  # noqa: F401

    main()
