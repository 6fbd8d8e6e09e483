"""`./x demo`: runs every kernel on the GPU if there is one that PyTorch sees, else on the cores, checks it, and prints the table."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]
THREADS = int(os.environ.setdefault("TEGULA_NUM_THREADS", str(len(os.sched_getaffinity(0)))))

import torch

import cases
import measure


def on_gpu():
    """The kernels checked, then a part of the benchmark beside PyTorch (and upstream, where it is installed)."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([sys.executable, HERE.parent / "tools" / "gpu.py", "--steps", "set,bench", "--only",
                               "vector_add,softmax,residual,layer_norm", "--budget", "150", "--out", folder]).returncode


def main():
    if torch.cuda.is_available():
        sys.exit(on_gpu())
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    rows, wrong = [], 0
    print(f"Compares each kernel with a reference, then times both in turn; {THREADS} threads, about half a minute.",
          flush=True)
    for module in cases.ALL:
        for case in module.cases():
            off, allowed = case.error()
            right = off <= allowed
            wrong += not right
            medians = measure.measure(case, seconds=1.0, rounds=(3, 20))
            baseline = next(iter(case.baselines))
            rows.append((case.name, "yes" if right else "WRONG", f"{off:.2e}", f"{medians['ours'] * 1e3:.3f}",
                         f"{medians[baseline] * 1e3:.3f} ({baseline})", f"{medians[baseline] / medians['ours']:.2f}x"))
            print(f"  {case.name}", flush=True)
    titles = ("kernel", "checked", "error", "ours, ms", "reference, ms", "ratio")
    widths = [max(len(row[i]) for row in [titles, *rows]) for i in range(len(titles))]
    print()
    for row in [titles, tuple("-" * width for width in widths), *rows]:
        print("  ".join(text.ljust(width) if i == 0 else text.rjust(width)
                        for i, (text, width) in enumerate(zip(row, widths))))
    print(f"\nratio: the reference's time over ours, {THREADS} threads each; above 1 we are faster")
    sys.exit(f"{wrong} kernels are wrong" if wrong else 0)


main()
