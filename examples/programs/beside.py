"""Inputs of the programs in test/programs, and the comparison of what they give with a float64 reference."""
import torch

# One unit in the last place, relative.
ULP = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


def normal(*shape, device, dtype=torch.float32, seed=0, scale=1.0):
    """Normally distributed numbers, the same on every device."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator, dtype=torch.float64) * scale).to(dtype).to(device)


def integers(low, high, shape, *, device, dtype=torch.int32, seed=0):
    """Integers from low to high, exclusive."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator).to(dtype).to(device)


def wide(tensor):
    """A copy of the tensor on the host, in float64, outside of any graph."""
    return tensor.detach().cpu().to(torch.float64, copy=True)


def close(actual, reference, error=1e-5, ulps=4.0):
    """|actual - reference| <= error * (largest of the reference, at least 1) + ulps of the reference's element."""
    reference = wide(reference)
    assert actual.shape == reference.shape, f"{tuple(actual.shape)} where {tuple(reference.shape)} is right"
    unit, actual = ULP[actual.dtype], wide(actual)
    finite = reference[torch.isfinite(reference)]
    size = max(1.0, finite.abs().max().item()) if finite.numel() else 1.0
    off = (actual - reference).abs()
    right = (off <= error * size + ulps * unit * reference.abs()) | (actual == reference)
    right |= torch.isnan(actual) & torch.isnan(reference)
    if not right.all():
        worst = int(torch.where(right, torch.zeros_like(off), off.nan_to_num(nan=float("inf"))).argmax())
        raise AssertionError(f"{int((~right).sum())} of {actual.numel()} elements are off; worst at {worst}: "
                             f"{actual.flatten()[worst].item()!r}, should be {reference.flatten()[worst].item()!r}")


def same(actual, reference):
    """Equal, element by element; for integers and what is only moved."""
    assert actual.shape == reference.shape, f"{tuple(actual.shape)} where {tuple(reference.shape)} is right"
    different = wide(actual) != wide(reference)
    assert not different.any(), f"{int(different.sum())} of {actual.numel()} elements differ, first at {int(different.flatten().int().argmax())}"
