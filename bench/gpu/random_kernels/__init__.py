"""Random kernels of the sorts that people write: `make(seed)` gives the source, the tensors and the launch of one.

In: a seed. Out: a `Kernel` (kernel.py), which names no compiler and needs no PyTorch; data.py makes its tensors. The kernels
are right programs: places lie inside of tensors, programs write apart or by atomic additions, sums do not overflow.
`make(seed, is_small=True)` is the same kernel, blocks, types, spelling and warps alike, over tensors for a few programs: for the
CPU and the simulator. Two users: bench/gpu/random_run.py times them beside upstream, test/fuzz/test_random_kernels.py
compares the targets.

A kind is a module with `write(draft)`, which makes its choices by `draft.choices` alone and returns `draft.kernel(...)`; it
never asks whether the kernel is small, `draft.size` does. `python3 bench/gpu/random_kernels [--small] SEED...` prints kernels.
"""
import random

from . import (attention, attention_backward, column_loops, filters, linear_attention, places, products, recurrences, rows, segments, serving,
               training)
from .kernel import Draft, Kernel

# Each kind with how often it comes up; of the seeds below LATER, and of those from there on, so that a seed stays the kernel that it was.
KINDS = {"rows": (rows.write, 5), "column loops": (column_loops.write, 4), "products": (products.write, 6),
         "attention": (attention.write, 4), "recurrences": (recurrences.write, 2),
         "linear attention": (linear_attention.write, 2), "places": (places.write, 3)}
LATER = 100_000
LATER_KINDS = {"attention backward": (attention_backward.write, 3), "serving": (serving.write, 4), "segments": (segments.write, 3),
               "filters": (filters.write, 3), "training": (training.write, 4)}


def make(seed, is_small=False) -> Kernel:
    kinds = KINDS if seed < LATER else LATER_KINDS
    choices = random.Random(seed)
    kind, = choices.choices(list(kinds), [weight for _, weight in kinds.values()])
    write, _ = kinds[kind]
    return write(Draft(seed, kind, choices, is_small))
