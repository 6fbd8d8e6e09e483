"""Ten configurations of a product: compiled side by side with an empty disk cache, beside the slowest one alone; and found again
by a process with a full one. TEGULA_TARGET says for what (cpu, cuda). Nothing is measured but the compiles."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 5
SLOWEST, CACHED = 1.3, 50.0  # goals: of the slowest alone, on 16 cores; milliseconds

SCRIPT = """
import json, os, sys, time
import torch
import tegula as triton
from tegula import _tegula as core
sys.path.insert(0, sys.argv[1])
from matmul import matmul_kernel
configs = [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8}, num_warps=w)
           for m, n, k, w in ((32, 32, 32, 4), (64, 32, 32, 4), (32, 64, 64, 4), (64, 64, 32, 4), (64, 64, 64, 4),
                              (128, 64, 32, 4), (64, 128, 32, 4), (128, 64, 64, 8), (64, 128, 64, 8), (128, 128, 32, 8))]
def compile(config):
    half = torch.float16
    return matmul_kernel.warmup(half, half, torch.float32, 512, 512, 512, 512, 1, 512, 1, 512, 1, grid=(1,), **config.all_kwargs())
# Opens the compiler and, on a GPU, the assembler.
compile(triton.Config({"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP": 1}, num_warps=1))
start = time.perf_counter()
if sys.argv[2] == "alone":
    times = []
    for config in configs:
        begin = time.perf_counter()
        compile(config)
        times.append((time.perf_counter() - begin) * 1e3)
else:
    names = tuple(map(str, configs))
    core.tune(names, (False,) * len(names), lambda i: (True, core.digest_of(compile(configs[i])._raw)),
              lambda i, runs: (True, [1.0] * runs), False, False, len(os.sched_getaffinity(0)), 1.0, False, None, "", ())
    times = [(time.perf_counter() - start) * 1e3]
print(json.dumps(times))
"""


def process(folder, what):
    env = {**os.environ, "TEGULA_CACHE_DIR": folder, "TEGULA_DISK_CACHE": "1", "TRITON_ALWAYS_COMPILE": "0"}
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(ROOT / "examples" / "kernels"), what], env=env, capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def measure_all():
    """In turn, each cold one with an empty folder; medians."""
    rows = {"slowest alone": [], "one after another": [], "side by side": [], "from the cache": []}
    folder = tempfile.mkdtemp(prefix="tegula-tune-")
    try:
        for _ in range(ROUNDS):
            shutil.rmtree(folder, ignore_errors=True)
            alone = process(folder, "alone")
            rows["slowest alone"].append(max(alone))
            rows["one after another"].append(sum(alone))
            shutil.rmtree(folder, ignore_errors=True)
            rows["side by side"] += process(folder, "all")
            rows["from the cache"] += process(folder, "all")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    medians = {name: statistics.median(times) for name, times in rows.items()}
    ratio = medians["side by side"] / medians["slowest alone"]
    for name, milliseconds in medians.items():
        print(f"{name:20} {milliseconds:8.1f} ms")
    print(f"side by side / slowest alone: {ratio:.2f} (goal {SLOWEST} on 16 cores; here {len(os.sched_getaffinity(0))}); from the cache: "
          f"goal {CACHED:.0f} ms")
    return [{"what": name, "milliseconds": value} for name, value in medians.items()] + [{"what": "ratio", "value": ratio}]


if __name__ == "__main__":
    measure_all()
