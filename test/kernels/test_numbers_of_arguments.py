"""Loops of products whose strides and bounds are arguments that 16 does not divide: a version for multiples of 16 bytes, and the loop for all others."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def product_kernel(a, b, c, M, N, K, sa, sb, sc, SPELLING: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a @ b.T; of `wrapped` and `clamped` a @ b."""
    first_m, first_n = tl.program_id(0) * BM, tl.program_id(1) * BN
    m, n, k = first_m + tl.arange(0, BM), first_n + tl.arange(0, BN), tl.arange(0, BK)
    if SPELLING == "descriptors":
        x_tiles = tl.make_tensor_descriptor(a, shape=[M, K], strides=[sa, 1], block_shape=[BM, BK])
        y_tiles = tl.make_tensor_descriptor(b, shape=[N, K], strides=[sb, 1], block_shape=[BN, BK])
    elif SPELLING == "wrapped":
        rows, columns = m % M, n % N
    elif SPELLING == "clamped":
        rows, columns = tl.where(m < M, m, 0), tl.minimum(n, N - 1)
    acc = tl.zeros([BM, BN], c.dtype.element_ty)
    for start in range(0, K, BK):
        inside = start + k < K
        if SPELLING == "descriptors":
            x, y = x_tiles.load([first_m, start]), y_tiles.load([first_n, start]).T
        elif SPELLING == "masked":
            x = tl.load(a + m[:, None] * sa + (start + k)[None, :], mask=(m < M)[:, None] & inside[None, :], other=0)
            y = tl.load(b + n[None, :] * sb + (start + k)[:, None], mask=(n < N)[None, :] & inside[:, None], other=0)
        else:
            x = tl.load(a + rows[:, None] * sa + (start + k)[None, :], mask=inside[None, :], other=0)
            y = tl.load(b + (start + k)[:, None] * sb + columns[None, :], mask=inside[:, None], other=0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * sc + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


SPELLINGS = ["masked", "descriptors", "wrapped", "clamped"]


def run(dtype, m, n, k, pad_a, pad_b, spelling, bm, bn, bk, warps, stages):
    generator = torch.Generator().manual_seed(m + k)
    # Columns beyond the tensor are read by no one.
    a = torch.randint(-3, 4, (m, k + pad_a), generator=generator).to(dtype)
    has_k_first = spelling in ("wrapped", "clamped")
    rows, columns = (k, n) if has_k_first else (n, k)
    b = torch.randint(-3, 4, (rows, columns + pad_b), generator=generator).to(dtype)
    a[:, k:] = b[:, columns:] = 100
    c = torch.full((m, n), -7, dtype=torch.float32 if dtype.is_floating_point else torch.int32)
    kernel = product_kernel[(triton.cdiv(m, bm), triton.cdiv(n, bn))](
        a, b, c, m, n, k, a.stride(0), b.stride(0), n, SPELLING=spelling, BM=bm, BN=bn, BK=bk, num_warps=warps, num_stages=stages)
    factor = b[:, :columns].double()
    assert torch.equal(c.double(), a[:, :k].double() @ (factor if has_k_first else factor.T))
    return kernel


# Multiples of 16 bytes that 16 elements are not; an odd stride of one, an odd length with such strides, nothing even.
SHAPES = [(65, 72, 72, 0, 0), (33, 72, 72, 0, 1), (64, 67, 75, 5, 13), (17, 130, 41, 0, 2), (5, 9, 8, 0, 0)]


@pytest.mark.parametrize("m, n, k, pad_a, pad_b", SHAPES)
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8], ids=str)
def test_any_length(target, dtype, spelling, m, n, k, pad_a, pad_b):
    run(dtype, m, n, k, pad_a, pad_b, spelling, 64, 64, 32, 4, 3)


ON_DEVICES = pytest.mark.parametrize("target", [pytest.param("sim", marks=pytest.mark.sim),
                                                pytest.param("cuda", marks=pytest.mark.gpu)], indirect=True)


@ON_DEVICES
@pytest.mark.parametrize("m, n, k, pad_a, pad_b", [(130, 264, 136, 0, 0), (100, 258, 72, 1, 8)])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_boxes_come_with_multiples(target, spelling, m, n, k, pad_a, pad_b):
    ptx = run(torch.float16, m, n, k, pad_a, pad_b, spelling, 128, 256, 64, 8, 3).asm["ptx"]
    assert ("cp.async.bulk.tensor" in ptx) == (".target sm_90a" in ptx)


@ON_DEVICES
def test_factors_of_32_bits_that_are_copied_one_by_one_lie_as_instructions_of_several_warps_want_them(target):
    kernel = run(torch.float32, 130, 67, 75, 0, 0, "masked", 128, 64, 32, 4, 3)
    ptx = kernel.asm["ptx"]
    assert ("wgmma" in ptx and "mma.sync" not in ptx) == (".target sm_90a" in ptx)


@ON_DEVICES
def test_bytes_are_copied_eight_at_a_time(target):
    """A multiple of 16 would be said so by the launch."""
    ptx = run(torch.int8, 65, 72, 72, 0, 0, "masked", 64, 64, 32, 4, 3).asm["ptx"]
    assert ("cp.async.ca.shared.global" in ptx) == (".target sm_75" not in ptx)


@triton.jit
def strided_kernel(a, b, c, M, N, K, sam: tl.int64, sak: tl.int64, sbk: tl.int64, sbn: tl.int64, scm: tl.int64, scn: tl.int64,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a @ b; no launch says that a stride whose type is written down is 1."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    x_at = a + m[:, None] * sam + k[None, :] * sak
    y_at = b + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros([BM, BN], tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        inside = k < K - step * BK
        x = tl.load(x_at, mask=(m < M)[:, None] & inside[None, :], other=0)
        y = tl.load(y_at, mask=inside[:, None] & (n < N)[None, :], other=0)
        acc = tl.dot(x, y, acc)
        x_at += BK * sak
        y_at += BK * sbk
    tl.store(c + m[:, None] * scm + n[None, :] * scn, acc, mask=(m < M)[:, None] & (n < N)[None, :])


@pytest.mark.parametrize("m, n, k", [(64, 96, 80), (65, 72, 75)])
@pytest.mark.parametrize("b_step", [0, 1, 2])
@pytest.mark.parametrize("a_step", [1, 3])
def test_the_innermost_stride_is_one_or_it_is_not(target, a_step, b_step, m, n, k):
    """`b_step` 0: K lies innermost in b."""
    generator = torch.Generator().manual_seed(m)
    a = torch.randint(-3, 4, (m, k * a_step), generator=generator).half()[:, ::a_step]
    b = torch.randint(-3, 4, (k, n * b_step) if b_step else (n, k), generator=generator).half()
    b = b[:, ::b_step] if b_step else b.T
    c = torch.full((m, n), -7.0)
    kernel = strided_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), BM=64, BN=64, BK=32)
    assert torch.equal(c, a.float() @ b.float())
    if ".target sm_" in kernel.asm.get("ptx", "") and m == 64 and ".target sm_75" not in kernel.asm["ptx"]:
        assert "cp.async" in kernel.asm["ptx"]  # of the version, whether it runs or not
