"""On Hopper factors of 32 bits, of which both have K innermost, are copied in boxes as those of 16 bits are; bytes by all threads."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def product_kernel(a, b, c, M, N, K, sa, sb, WRAPPED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    x = a + (m % M if WRAPPED else m)[:, None] * sa + k[None, :]
    y = b + k[:, None] + (n % N if WRAPPED else n)[None, :] * sb
    acc = tl.zeros([BM, BN], c.dtype.element_ty)
    for i in range(0, tl.cdiv(K, BK)):
        inside = k < K - i * BK
        if WRAPPED:
            acc = tl.dot(tl.load(x, mask=inside[None, :], other=0), tl.load(y, mask=inside[:, None], other=0), acc)
        else:
            acc = tl.dot(tl.load(x, mask=inside[None, :] & (m < M)[:, None], other=0),
                         tl.load(y, mask=inside[:, None] & (n < N)[None, :], other=0), acc)
        x += BK
        y += BK
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def run(dtype, m, n, k, wrapped, bm, bn, bk, warps, stages):
    generator = torch.Generator().manual_seed(m + k)
    # Columns beyond k are read by no one.
    a, b = (torch.randint(-4, 5, (rows, k + 32), generator=generator).to(dtype) for rows in (m, n))
    a[:, k:] = b[:, k:] = 100
    c = torch.full((m, n), -7, dtype=torch.float32 if dtype.is_floating_point else torch.int32)
    kernel = product_kernel[(triton.cdiv(m, bm), triton.cdiv(n, bn))](
        a, b, c, m, n, k, a.stride(0), b.stride(0), WRAPPED=wrapped, BM=bm, BN=bn, BK=bk, num_warps=warps, num_stages=stages)
    assert torch.equal(c.double(), a[:, :k].double() @ b[:, :k].double().T)
    return kernel.asm["ptx"]


ON_DEVICES = pytest.mark.parametrize("target", [pytest.param("sim", marks=pytest.mark.sim),
                                                pytest.param("cuda", marks=pytest.mark.gpu)], indirect=True)


@ON_DEVICES
@pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "masked"])
@pytest.mark.parametrize("m, n, k", [(128, 256, 96), (300, 528, 144), (70, 272, 16), (129, 16, 208), (1, 256, 32)])
@pytest.mark.parametrize("bm, bn, warps, stages", [(128, 256, 8, 3), (64, 256, 4, 4), (128, 128, 4, 4)])
def test_products_of_f32(target, m, n, k, wrapped, bm, bn, warps, stages):
    ptx = run(torch.float32, m, n, k, wrapped, bm, bn, 32, warps, stages)
    assert ("cp.async.bulk.tensor" in ptx) == (".target sm_90a" in ptx)


@ON_DEVICES
@pytest.mark.parametrize("dtype, bk", [(torch.int8, 128), (torch.float8_e5m2, 128)], ids=str)
def test_bytes_are_copied_by_all_threads(target, dtype, bk):
    assert "cp.async.bulk.tensor" not in run(dtype, 130, 260, 3 * bk + 16, True, 128, 256, bk, 8, 3)
