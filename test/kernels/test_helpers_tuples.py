import pytest
import torch

from contract import assert_close, random
from kernels.helpers_tuples import normalise

ACTIVATIONS = {
    "none": lambda y, slope: y,
    "leaky": lambda y, slope: torch.where(y > 0, y, y * slope),
    "square": lambda y, slope: y * y,
}


@pytest.mark.parametrize("slope", [None, 0.5], ids=["default", "given"])
@pytest.mark.parametrize("kind", list(ACTIVATIONS))
@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (3, 31), (2, 32), (3, 33), (2, 97)], ids=str)
def test_equals_torch(target, shape, kind, slope):
    rows, columns = shape
    x = random(rows, columns, seed=1) * 3 + 1
    out, stats = torch.zeros_like(x), torch.zeros(rows, 2)
    normalise(x, out, stats, kind=kind, slope=slope)

    xd = x.double()
    mean, variance = xd.mean(dim=1), xd.var(dim=1, unbiased=False)
    y = (xd - mean[:, None]) / torch.sqrt(variance[:, None] + 1e-6)
    expected = ACTIVATIONS[kind](y, 0.25 if slope is None else slope)
    noise = 2.0**-24 * (columns + 16) * 16
    assert_close(stats[:, 0], mean, error=noise)
    assert_close(stats[:, 1], variance, error=noise * 16)
    assert_close(out, expected, error=noise * 16 * (1 + 1e3 * (columns == 1)))
