"""Loads of a few registers beside a product run ahead of their trip; what replaces masked elements is the trip's own."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def scaled_kernel(a_ptr, b_ptr, scale_ptr, c_ptr, trips, scales, OTHER: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    acc = tl.zeros((B, B), tl.float32)
    last = 1.0
    for k in range(trips):
        a = tl.load(a_ptr + k * B * B + at)
        b = tl.load(b_ptr + k * B * B + at)
        if OTHER == "carried":
            scale = tl.load(scale_ptr + k, mask=k < scales, other=last)
        elif OTHER == "of the trip":
            scale = tl.load(scale_ptr + k, mask=k < scales, other=tl.sum(tl.sum(a.to(tl.float32), 1), 0))
        else:
            scale = tl.load(scale_ptr + k, mask=k < scales, other=3.0)
        acc += tl.dot(a, b) * scale
        last = scale * 2
    tl.store(c_ptr + at, acc)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("other", ["carried", "of the trip", "constant"])
def test_what_replaces_masked_elements(target, other, stages):
    size, trips, scales = 16, 7, 4
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-2, 3, (trips, size, size), generator=generator).to(torch.float16) for _ in range(2))
    scale = torch.randint(1, 4, (trips,), generator=generator).float()
    c = torch.full((size, size), float("nan"))
    scaled_kernel[(1,)](a, b, scale, c, trips, scales, OTHER=other, B=size, num_stages=stages)
    expected, last = torch.zeros(size, size, dtype=torch.float64), 1.0
    for k in range(trips):
        beyond = {"carried": last, "of the trip": a[k].double().sum().item(), "constant": 3.0}[other]
        factor = scale[k].item() if k < scales else beyond
        expected += a[k].double() @ b[k].double() * factor
        last = factor * 2
    assert torch.equal(c.double(), expected)
