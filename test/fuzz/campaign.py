"""Many random programs, once: `python3 test/fuzz/campaign.py --target cuda --kinds hopper,nested --seeds 0:50000 --jobs 56 --devices 4 --log FOLDER`.

In: a range of seeds, kinds of programs, a target, and a time in minutes at most. A seed is one program of one kind. Out: a log for each job in the
folder, a line of JSON for each program that failed (kind of program, seed, what happened, text) and one for each batch; at the end the totals.
A batch runs in a process of its own; one that dies is taken up behind the program that ended it. Logs that are there already are gone on with.
"""
import argparse
import json
import os
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from generator import generate
from isolated import Unusable, run_some

BATCH = 50
HOST = ("interp", "cpu")
NO_ROOM = "out of resource: shared memory"  # slots beyond a program's shared memory are refused, with a hint


# --- kinds of programs: (seed, folder, target) -> nothing, or an error ------------------------------------
# Called in a child, which alone imports the package.


def of_form(form):
    def check(seed, folder, target):
        import differences

        differences.check(generate(seed, form), folder, (target,))

    return check


def dots(seed, folder, target):
    import test_dot_programs as tests

    program = tests.generate(seed, tests.is_buffered(seed))
    tests.check(program, tests.kernel_of(program, folder), target)


def hopper(seed, folder, target):
    import hopper_programs
    import test_hopper_programs as tests

    tests.check(hopper_programs, seed, folder, target)


def memory(seed, folder, target):
    import memory_programs
    import test_hopper_programs as tests

    tests.check(memory_programs, seed, folder, target)


def nested(seed, folder, target):
    import test_nested_programs as tests

    program = tests.generate(seed)
    if target != "cuda" or not program.tables:  # tables hold addresses of the host's memory
        tests.check(program, tests.kernel_of(program, folder), target)


def kernels(seed, folder, target):
    import tegula
    import test_random_kernels as tests

    os.environ["TEGULA_SIM_ARCH"] = tests.arch(seed)
    tegula.set_target(target)
    tests.check(seed, folder)


FORMS = {form or "plain": of_form(form) for form in ("", "moving", "held", "pointers", "exits", "overlapping")}
KINDS = {**FORMS, "dots": dots, "hopper": hopper, "kernels": kernels, "memory": memory, "nested": nested}
ON_HOST = {"overlapping"}  # of arguments that overlap a GPU promises nothing without a barrier, and ptxvm finds the races


def check_seed(target, kinds):
    def check(seed):
        import pytest

        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            if target == "cuda":  # the host's arrays go to the device and back
                import devices

                devices.mirror_launches(patch)
            # By no small power of two of the seed, which chooses architectures and orders.
            patch.setenv("TEGULA_PROGRAMS_ALONE", ("0", "1000000")[zlib.crc32(b"%d" % seed) % 2])
            try:
                KINDS[kinds[seed % len(kinds)]](seed, Path(folder), target)
            except Exception as error:
                if target == "cuda" and is_lost():
                    raise Unusable(f"{type(error).__name__}: {error}") from error
                if NO_ROOM not in str(error):
                    raise

    return check


def is_lost():
    import torch

    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


# --- jobs ---------------------------------------------------------------------------------------------------


def ends_of(log):
    """Returns the ends of a log's batches: {first seed: the seed behind the last program}."""
    lines = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
    return {line["batch"]: line["until"] for line in lines if "batch" in line}


def run_job(options, job, stop):
    """Every batch whose number leaves `job`; returns (programs, failures)."""
    check, log = check_seed(options.target, options.kinds), options.log / f"{job}.jsonl"
    known, count, failed = ends_of(log), 0, 0
    with open(log, "a") as file:
        for first in range(options.first + job * BATCH, options.last, options.jobs * BATCH):
            seed, end = known.get(first, first), min(first + BATCH, options.last)
            while seed < end and time.monotonic() < stop:
                made, failures = run_some(check, range(seed, end))
                for index, failure in failures.items():
                    kind = options.kinds[(seed + index) % len(options.kinds)]
                    print(json.dumps({"program": kind, "seed": seed + index, "target": options.target, "kind": failure.kind,
                                      "text": failure.text}), file=file)
                if made == 0:
                    raise SystemExit("no program was run")
                seed, count, failed = seed + made, count + made, failed + len(failures)
                print(json.dumps({"batch": first, "until": seed, "failed": len(failures)}), file=file, flush=True)
    return count, failed


def start_job(options, job, stop):
    """In a process of its own, with a device and a cache of its own. Returns (process, pipe of its totals)."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.environ.update(CUDA_VISIBLE_DEVICES=str(job % options.devices), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TEGULA_CACHE_DIR"] = cache
        os.write(writing, json.dumps(run_job(options, job, stop)).encode())
    os._exit(0)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--kinds", help=f"of {','.join(KINDS)}; all that the target takes, without")
    parser.add_argument("--seeds", default="0:1000", help="the first, and the one behind the last")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="processes beside each other")
    parser.add_argument("--devices", type=int, default=1, help="GPUs that the jobs share")
    parser.add_argument("--log", type=Path, required=True, help="a folder")
    options = parser.parse_args()
    options.first, options.last = map(int, options.seeds.split(":"))
    options.kinds = options.kinds.split(",") if options.kinds else [kind for kind in KINDS if options.target in HOST or kind not in ON_HOST]
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"no kinds of programs: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    options.log.mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = parsed()
    stop = time.monotonic() + 60 * options.minutes
    started = [start_job(options, job, stop) for job in range(options.jobs)]
    totals = [json.loads(os.read(pipe, 1 << 12) or b"null") for _, pipe in started]
    count, failed = (sum(total[i] for total in totals if total) for i in range(2))
    print(f"{count} programs ({', '.join(options.kinds)}) on {options.target}, {failed} failed; logs in {options.log}")
    if lost := [job for job, total in enumerate(totals) if not total]:
        raise SystemExit(f"jobs that ended without an answer: {lost}")


if __name__ == "__main__":
    # The children need this: it is imported once, here.
    import differences  # noqa: F401

    main()
