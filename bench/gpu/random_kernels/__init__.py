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

from . import (attention, attention_backward, column_loops, filters, hinted_loops, interleaved, linear_attention, orders, places, products,
               recurrences, rows, segments, serving, several_products, training)
from .kernel import Draft, Kernel

# Each kind with how often it comes up, by the first seed of those kinds: a seed stays the kernel that it was.
FIRST_KINDS = {"rows": (rows.write, 5), "column loops": (column_loops.write, 4), "products": (products.write, 6),
         "attention": (attention.write, 4), "recurrences": (recurrences.write, 2),
         "linear attention": (linear_attention.write, 2), "places": (places.write, 3)}
LATER_KINDS = {"attention backward": (attention_backward.write, 3), "serving": (serving.write, 4), "segments": (segments.write, 3),
               "filters": (filters.write, 3), "training": (training.write, 4)}
NEWEST_KINDS = {"hinted loops": (hinted_loops.write, 3), "several products": (several_products.write, 4), "orders": (orders.write, 4)}
KINDS = {0: FIRST_KINDS, 100_000: LATER_KINDS, 200_000: NEWEST_KINDS, 300_000: {"interleaved": (interleaved.write, 1)}}


def names():
    """Of all kinds."""
    return {name for kinds in KINDS.values() for name in kinds}


def make(seed, is_small=False) -> Kernel:
    kinds = KINDS[max(first for first in KINDS if first <= seed)]
    choices = random.Random(seed)
    kind, = choices.choices(list(kinds), [weight for _, weight in kinds.values()])
    write, _ = kinds[kind]
    return write(Draft(seed, kind, choices, is_small))
