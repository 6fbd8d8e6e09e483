"""triton.tools.mxfp: four-bit floats and their scales on the host."""
import math

import pytest
import torch

from tegula.tools.mxfp import MXFP4Tensor, MXScaleTensor

POSITIVE = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def test_rounds_to_the_nearest_number_and_to_the_even_one():
    x = torch.tensor([0.25, 0.26, 0.75, 1.25, 1.75, 2.5, 2.51, 3.5, 5.0, 5.1, 100.0, math.inf, math.nan])
    expected = torch.tensor([0.0, 0.5, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 6.0, 6.0, 6.0, 6.0])
    assert torch.equal(MXFP4Tensor(data=x).to(torch.float32), expected)
    assert torch.equal(MXFP4Tensor(data=-x).to(torch.float32), -expected)


def test_every_number_is_its_own_code():
    x = torch.tensor(POSITIVE + [-v for v in POSITIVE])
    four = MXFP4Tensor(data=x)
    assert four.data.tolist() == list(range(16))
    assert torch.equal(torch.signbit(four.to(torch.float32)), torch.signbit(x))


@pytest.mark.parametrize("shape, dim", [((4, 6), 0), ((4, 6), 1), ((3, 5), 0), ((3, 5), 1), ((2, 3, 7), 2), ((5,), 0)])
def test_unpacks_what_it_packed(shape, dim):
    four = MXFP4Tensor(size=shape).random()
    packed = four.to_packed_tensor(dim)
    assert packed.dtype == torch.uint8 and packed.shape[dim] == (shape[dim] + 1) // 2
    assert torch.equal(four.unpack_packed_tensor(packed, dim, shape), four.data)
    first = four.data.select(dim, 0)
    assert torch.equal(packed.select(dim, 0) & 15, first)


def test_scales_are_powers_of_two_from_below():
    x = torch.tensor([1.0, 1.99, 2.0, 0.75, 2.0**-127, 3e38, 0.0, -1.0, math.inf, math.nan])
    scale = MXScaleTensor(data=x)
    assert scale.data.tolist() == [127, 127, 128, 126, 0, 254, 255, 255, 255, 255]
    assert torch.equal(scale.to(torch.float32)[:6], torch.tensor([1, 1, 2, 0.5, 2.0**-127, 2.0**127]))
    assert scale.to(torch.float32)[6:].isnan().all()


def test_random_scales_lie_between_the_bounds():
    values = MXScaleTensor(size=(100,)).random(low=1 / 16, high=8).to(torch.float32)
    assert values.min() >= 1 / 16 and values.max() <= 8
    assert not MXScaleTensor(size=1000).random().to(torch.float32).isnan().any()


def test_asks_for_what_it_needs():
    with pytest.raises(ValueError):
        MXFP4Tensor()
    with pytest.raises(AssertionError):
        MXFP4Tensor(size=(4,)).random().to_packed_tensor(1)
