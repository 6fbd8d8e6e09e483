"""Bounds of docs/language/numerical-contract.md, as the tests use them. References are computed in f64."""
import torch

# One unit in the last place, relative, by type (the distance of neighbours just above 1).
ULP = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
# Smallest normal: below it the spacing no longer shrinks.
TINY = {torch.float64: 2.0**-1022, torch.float32: 2.0**-126, torch.float16: 2.0**-14, torch.bfloat16: 2.0**-126}


# The target that the test at hand runs on; conftest.py says so.
target = "interp"


def rounding_of_factors(dtype):
    """Says what `tl.dot` may be off by, relative to |a|·|b|, as it cuts its f32 factors to tf32 (N15)."""
    return 2.0**-9 if dtype == torch.float32 and target in ("sim", "cuda") else 0.0


def bits(tensor):
    """The tensor as integers of its width, for comparisons bit by bit."""
    return tensor.contiguous().view({1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.itemsize])


def assert_same(actual, expected):
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    different = (bits(actual) != bits(expected)) & ~((actual != actual) & (expected != expected))
    assert not different.any(), f"{int(different.sum())} of {actual.numel()} elements differ"


def assert_close(actual, reference, *, error=0.0, ulps=1.0):
    """|actual - reference| <= error + ulps units in the last place of actual's type.

    `error` is what the computation before the last rounding may be off by, absolute: a number or a tensor.
    """
    reference = reference.double()
    assert actual.shape == reference.shape
    wrong_kind = torch.isnan(actual) != torch.isnan(reference)
    assert not wrong_kind.any(), f"NaN where none should be, or none where one should be: {int(wrong_kind.sum())}"
    bound = error + ulps * ULP[actual.dtype] * reference.abs().clamp(min=TINY[actual.dtype])
    off = (actual.double() - reference).abs()
    bad = (off > bound) & ~torch.isnan(reference) & ~(actual.double() == reference)
    if bad.any():
        worst = int(torch.where(bad, off / bound, torch.zeros_like(off)).argmax())
        raise AssertionError(
            f"{int(bad.sum())} of {actual.numel()} elements out of bounds; worst at {worst}: "
            f"{actual.flatten()[worst].item()!r}, should be {reference.flatten()[worst].item()!r}")


def sizes_around(block):
    """0, 1, a block, its neighbours, primes."""
    return [0, 1, block - 1, block, block + 1, 3 * block, 97, 211]


def random(*shape, dtype=torch.float32, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator, dtype=torch.float64) * scale).to(dtype)


def name_of(dtype):
    return str(dtype).removeprefix("torch.")
