"""Weights of three bits, packed by the test, unpacked by each form of the kernel."""
import pytest
import torch

from contract import assert_close, assert_same, random
from kernels.gemv_int3 import KERNELS, gemv_int3


def pack(values):
    """[N, K] of 0..7 -> [N, 3/8·K] bytes: value i of eight is bits 3i to 3i+2 of three bytes."""
    N, K = values.shape
    shifts = torch.arange(8) * 3
    words = (values.reshape(N, K // 8, 8).long() << shifts).sum(dim=2)
    return torch.stack([words & 255, words >> 8 & 255, words >> 16 & 255], dim=2).reshape(N, -1).to(torch.uint8)


def quantised(N, K, seed, dtype=torch.float16):
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(0, 8, (N, K), generator=generator)
    return values, random(N, K // 128, dtype=dtype, seed=seed + 1, scale=0.1)


def reference(values, scales, x):
    return ((values - 4).double() * scales.double().repeat_interleave(128, dim=1)) @ x.double()


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("form", list(KERNELS))
def test_equals_dequantised_product(target, form, groups):
    N, K = 11, 1024
    values, scales = quantised(N, K, seed=groups)
    x = random(K, dtype=torch.float16, seed=9)
    y = gemv_int3(form, pack(values), scales, x, torch.full((N,), 7.0), groups=groups)
    bound = (values - 4).double().abs() * scales.double().abs().repeat_interleave(128, dim=1) @ x.double().abs()
    assert_close(y, reference(values, scales, x), error=bound * 2.0**-23 * 140)


@pytest.mark.parametrize("block_n", [1, 2, 8, 16])
@pytest.mark.parametrize("form", list(KERNELS))
def test_each_value_lands_in_its_place(target, form, block_n):
    """x picks one column after another: integers, so every bit must be right."""
    N, K = 8, 128
    values, _ = quantised(N, K, seed=5)
    scales, packed = torch.ones(N, 1), pack(values)
    for column in [0, 1, 2, 3, 5, 7, 8, 63, 64, 126, 127]:
        x = torch.zeros(K)
        x[column] = 1
        y = gemv_int3(form, packed, scales, x, torch.full((N,), 9.0), block_n=block_n)
        assert_same(y, (values[:, column] - 4).float())
