"""Products that a trip computes with before it adds them up: right for all kinds of factors, blocks, edges, and whatever the trip does."""
import os

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
pytestmark = pytest.mark.parametrize("target", TARGETS, indirect=True)
BOXES = "are copied by one thread in boxes"
HOPPER = os.environ.get("TEGULA_SIM_ARCH", "sm_90a") == "sm_90a"
BK = 64


@triton.jit
def scaled_kernel(a_ptr, b_ptr, c_ptr, rows_ptr, columns_ptr, M, N, K, stride_bk, stride_bn, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    trips = tl.cdiv(K, BK)
    x = a_ptr + (m % M)[:, None] * K + k[None, :]
    y = b_ptr + k[:, None] * stride_bk + (n % N)[None, :] * stride_bn
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, trips):
        p = tl.dot(tl.load(x, mask=k[None, :] < K - i * BK, other=0), tl.load(y, mask=k[:, None] < K - i * BK, other=0)).to(tl.float32)
        if FORM == "blocks":
            acc += p * tl.load(rows_ptr + (m % M) * trips + i)[:, None] * tl.load(columns_ptr + (n % N) // 16 * trips + i)[None, :]
        elif FORM == "rows":
            acc += p * tl.load(rows_ptr + (m % M) * trips + i)[:, None]
        elif FORM == "a number":
            acc += p * tl.load(rows_ptr + i)
        elif FORM == "largest":
            acc = tl.maximum(acc, p)
        elif FORM == "chosen":
            acc += tl.where(p > 0, p, 0)
        elif FORM == "decayed":
            acc = acc * 0.5 + p
        else:  # what the trip does with it takes a meeting of its warps
            acc += p - tl.max(p, axis=0)[None, :]
        x += BK
        y += BK * stride_bk
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def expected(form, a, b, rows, columns, block):
    acc = torch.zeros(a.shape[0], b.shape[1])
    for i in range(rows.shape[1]):
        p = a[:, i * BK:(i + 1) * BK].float() @ b[i * BK:(i + 1) * BK].float()
        if form == "blocks":
            acc += p * rows[:, i, None] * columns[torch.arange(b.shape[1]) // 16, i]
        elif form == "rows":
            acc += p * rows[:, i, None]
        elif form == "a number":
            acc += p * rows.flatten()[i]
        elif form == "largest":
            acc = torch.maximum(acc, p)
        elif form == "chosen":
            acc += torch.where(p > 0, p, 0)
        elif form == "decayed":
            acc = acc * 0.5 + p
        else:  # over the rows of a block, of which those behind the last one are the first ones again
            for first in range(0, a.shape[0], block):
                at = torch.arange(first, first + block) % a.shape[0]
                acc[first:first + block] += p[first:first + block] - p[at].amax(0)
    return acc


def check(form, kind, block, warps, stages, m, n, k):
    generator = torch.Generator().manual_seed(m + n + k)
    a, b = (torch.randint(-2, 3, shape, generator=generator).to(kind) for shape in ((m, k), (n, k)))
    b = b.T if kind.itemsize == 1 else b.T.contiguous()
    rows, columns = (2.0 ** torch.randint(-1, 3, (count, -(-k // BK)), generator=generator) for count in (m, -(-n // 16)))
    c = torch.full((m, n), 7.0)
    grid = (triton.cdiv(m, block[0]), triton.cdiv(n, block[1]))
    kernel = scaled_kernel[grid](a, b, c, rows, columns, m, n, k, b.stride(0), b.stride(1), FORM=form, BM=block[0], BN=block[1], BK=BK,
                                 num_warps=warps, num_stages=stages)
    torch.testing.assert_close(c, expected(form, a, b, rows, columns, block[0]), rtol=0, atol=0)
    return kernel


@pytest.mark.parametrize("form", ["blocks", "rows", "a number", "largest", "chosen", "decayed", "meeting"])
@pytest.mark.parametrize("block, warps, stages", [((128, 128), 8, 3), ((64, 128), 4, 4), ((128, 128), 4, 3)])
def test_forms(target, form, block, warps, stages):
    kernel = check(form, torch.float16, block, warps, stages, 256, 128, 4 * BK)
    if target == "sim" and HOPPER and form in ("blocks", "rows", "chosen"):
        assert any(BOXES in remark.text for remark in kernel.remarks)


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.bfloat16])
@pytest.mark.parametrize("block, warps", [((128, 128), 8), ((64, 128), 4), ((64, 64), 4), ((64, 256), 4), ((256, 128), 16)])
def test_kinds_and_blocks(target, kind, block, warps):
    check("blocks", kind, block, warps, 3, 256, 256, 5 * BK)


@pytest.mark.parametrize("stages", [1, 2, 5, 7])  # more than shared memory has slots for, too
@pytest.mark.parametrize("block, warps", [((128, 128), 8), ((64, 128), 4), ((128, 256), 8), ((256, 128), 16)])
def test_stages(target, stages, block, warps):
    check("blocks", torch.float16, block, warps, stages, 256, 256, 9 * BK)


@pytest.mark.parametrize("m, n, k", [(200, 144, 3 * BK + 16), (1, 128, BK), (130, 16, 2 * BK), (128, 128, 7 * BK)])
@pytest.mark.parametrize("block, warps", [((128, 128), 8), ((64, 128), 4)])
def test_edges(target, m, n, k, block, warps):
    check("blocks", torch.float8_e4m3fn, block, warps, 3, m, n, k)
