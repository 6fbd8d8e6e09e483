"""Factors at more places than constant memory has copy maps for: the maps of later ones lie in the device's memory (CopyMap.h)."""
import os

import pytest
import torch

import tegula as triton
import tegula.language as tl

pytestmark = pytest.mark.parametrize("target", [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)], indirect=True)


@triton.jit
def product_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for at in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (at + k)[None, :], mask=(m < M)[:, None] & (at + k < K)[None, :], other=0.0)
        y = tl.load(b + (at + k)[:, None] * N + n[None, :], mask=(at + k < K)[:, None] & (n < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def test_each_has_its_product(target):
    M, N, K = 128, 256, 128
    places, device = (300, "cuda") if target == "cuda" else (2, "cpu")
    generator = torch.Generator().manual_seed(0)
    a = torch.randint(-2, 3, (M, K), generator=generator).half().to(device)
    memory = torch.randint(-2, 3, (K * N + 8 * places,), generator=generator).half().to(device)
    results = torch.zeros(places, M, N, device=device)
    factors = [memory[8 * i:8 * i + K * N].view(K, N) for i in range(places)]
    for _ in range(2):  # made, and found again
        results.fill_(9)
        for b, c in zip(factors, results, strict=True):
            kernel = product_kernel[(2,)](a, b, c, M, N, K, BM=64, BN=256, BK=64, num_warps=4)
        assert torch.equal(results, torch.stack([a.float() @ b.float() for b in factors]))
    if target == "sim" and os.environ.get("TEGULA_SIM_ARCH", "sm_90a") == "sm_90a":  # others have no boxes
        assert "copied by one thread in boxes" in str(kernel.remarks)
