"""Collections of Python's that a kernel knows: ranges, sets that do not change, dictionaries and lists."""
import numpy as np

import tegula as triton
import tegula.language as tl

STEPS = tl.constexpr(range(2, 10, 3))
NAMES = tl.constexpr(frozenset(("a", "b")))
SIZES = {"x": 1, "y": 2}
TABLE = tl.constexpr(SIZES)


@triton.jit
def asking_kernel(out):
    tl.store(out, len(STEPS))
    tl.store(out + 1, STEPS[1])
    tl.store(out + 2, 8 in STEPS)
    tl.store(out + 3, 9 in STEPS)
    tl.store(out + 4, len(NAMES))
    tl.store(out + 5, "a" in NAMES)
    tl.store(out + 6, "c" in NAMES)
    tl.store(out + 7, len(TABLE))


def test_length_entries_and_containment():
    out = np.zeros(8, np.int32)
    asking_kernel[(1, )](out)
    assert out.tolist() == [3, 5, 1, 0, 2, 1, 0, 2]


def test_a_dictionary_that_grows_compiles_anew():
    out = np.zeros(8, np.int32)
    asking_kernel[(1, )](out)
    before = out[7]
    SIZES["z"] = 3
    try:
        asking_kernel[(1, )](out)
        assert out[7] == before + 1
    finally:
        del SIZES["z"]
