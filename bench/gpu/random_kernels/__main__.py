"""Prints the kernels of the seeds given, and what they are launched with: `python3 bench/gpu/random_kernels [--small] SEED...`."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import random_kernels

arguments = sys.argv[1:]
is_small = "--small" in arguments
for seed in (int(argument) for argument in arguments if argument != "--small"):
    kernel = random_kernels.make(seed, is_small)
    print(f"# seed {seed}, {kernel}\n{kernel.source}")
    for tensor in kernel.tensors:
        print(f"# {tensor.name}: {tensor.dtype} {tensor.shape}, {tensor.filled}")
    print(f"# grid {kernel.grid}, {kernel.sizes}, {kernel.options}\n")
