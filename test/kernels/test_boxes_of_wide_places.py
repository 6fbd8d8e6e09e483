"""Tiles whose places a program computes in 64 bits are boxes as those of 32 bits are, where the numbers are known to be small; all are right."""
import os

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
pytestmark = pytest.mark.parametrize("target", TARGETS, indirect=True)
HAS_BOXES = os.environ.get("TEGULA_SIM_ARCH", "sm_90a") == "sm_90a"


@triton.jit
def wide_places(a_ptr, b_ptr, c_ptr, M, N, K, table, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a bᵀ, tile by tile."""
    program = tl.program_id(0).to(tl.int64)
    columns = tl.cdiv(N, BN)
    i, j = program // columns, program % columns
    if FORM == "sums":
        i = (program - j) // columns + 2 * j - (j + j)
    elif FORM == "extremes":
        i = tl.minimum(tl.maximum(i, 0), (tl.num_programs(0) - 1).to(tl.int64))
    elif FORM == "chosen":
        i = tl.where(program < 0, -i, i)
    elif FORM == "unsigned":
        i = tl.program_id(0).to(tl.uint32).to(tl.int64) // columns
    elif FORM == "table":
        i = tl.load(table + i)
    elif FORM == "wraps":  # 2^32 times 2^32: as if nothing had been added
        i += (program + 4294967296) * 4294967296 - program * 4294967296
    m, n, k = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for at in range(0, K, BK):
        inside = (at + k) < K
        x = tl.load(a_ptr + m[:, None] * K + (at + k)[None, :], mask=(m < M)[:, None] & inside[None, :], other=0.0)
        y = tl.load(b_ptr + n[None, :] * K + (at + k)[:, None], mask=(n < N)[None, :] & inside[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


@pytest.mark.parametrize("form", ["quotients", "sums", "extremes", "chosen", "unsigned", "table", "wraps"])
@pytest.mark.parametrize("M, N, K", [(256, 256, 64), (150, 264, 80), (8, 16, 16)])
def test_products_of_wide_places(target, form, M, N, K):
    generator = torch.Generator().manual_seed(M)
    a, b = (torch.randint(-4, 5, (size, K), generator=generator).half() for size in (M, N))
    c, table = torch.full((M, N), 9.0), torch.arange(8)
    programs = triton.cdiv(M, 64) * triton.cdiv(N, 256)
    kernel = wide_places[(programs, )](a, b, c, M, N, K, table, FORM=form, BM=64, BN=256, BK=64, num_warps=4)
    assert torch.equal(c, a.float() @ b.float().T)
    if target == "sim" and HAS_BOXES and form not in ("table", "wraps"):
        assert "2 loads are copied by one thread in boxes" in str(kernel.remarks)
