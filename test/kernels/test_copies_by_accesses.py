"""Tiles that a factor is computed from and that lie in longer runs than an access brings are copied in lanes of their own, and read
as the factor lies."""
import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]


@triton.jit
def decayed_kernel(k, v, g, out, n, stride, ALONG: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr, BT: tl.constexpr):
    """out = (k · 2^g)ᵀ v; k and g are [n, BK], of which `stride` elements lie between neighbours along `ALONG`'s other dimension."""
    key, value = tl.arange(0, BK), tl.arange(0, BV)
    total = tl.zeros([BK, BV], tl.float32)
    for start in range(0, n, BT):
        t = start + tl.arange(0, BT)
        if ALONG == 0:
            at = key[:, None] + t[None, :] * stride
        else:
            at = key[:, None] * stride + t[None, :]
        gate = tl.load(g + at, mask=(t < n)[None, :], other=0.0)
        factor = tl.load(k + at, mask=(t < n)[None, :], other=0.0)
        factor = (factor * tl.exp2(gate)).to(k.dtype.element_ty)
        total = tl.dot(factor, tl.load(v + t[:, None] * BV + value[None, :], mask=(t < n)[:, None], other=0.0), total)
    tl.store(out + key[:, None] * BV + value[None, :], total)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("config", [(64, 32, 64, 2, 3), (32, 32, 32, 4, 4), (64, 64, 64, 8, 2), (16, 16, 128, 1, 2)], ids=str)
@pytest.mark.parametrize("n", [0, 1, 64, 200])
def test_decayed_factors(target, along, config, n):
    bk, bv, bt, warps, stages = config
    torch.manual_seed(n)
    room = max(n, 1) + 24 - n % 8
    k, g = (torch.randn(*((room, bk) if along == 0 else (bk, room))).to(dtype) for dtype in (torch.bfloat16, torch.float32))
    v, out = torch.randn(room, bv).bfloat16(), torch.empty(bk, bv)
    decayed_kernel[(1,)](k, v, g, out, n, bk if along == 0 else room, ALONG=along, BK=bk, BV=bv, BT=bt, num_warps=warps,
                         num_stages=stages)
    factor = (k.float() * torch.exp2(g)).bfloat16().double()
    expected = (factor[:n].T if along == 0 else factor[:, :n]) @ v[:n].double()
    torch.testing.assert_close(out.cpu().double(), expected, rtol=2e-2, atol=0.1)
