"""Tiles that programs store while they walk over them: whatever stands around the stores, what is there in the end is right."""
import os

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
pytestmark = pytest.mark.parametrize("target", TARGETS, indirect=True)
BOXES = "is stored by one thread in boxes"
HOPPER = os.environ.get("TEGULA_SIM_ARCH", "sm_90a") == "sm_90a"


@triton.jit
def tiles_kernel(a_ptr, b_ptr, c_ptr, other_ptr, M, N, K, sc, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    k = tl.arange(0, BK)
    for tile in range(tl.program_id(0), down * across, tl.num_programs(0)):
        m, n = tile // across * BM + tl.arange(0, BM), tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros([BM, BN], tl.float32)
        at, inside = c_ptr + m[:, None] * sc + n[None, :], (m < M)[:, None] & (n < N)[None, :]
        for i in range(0, K, BK):
            x = tl.load(a_ptr + m[:, None] * K + (i + k)[None, :], mask=(m < M)[:, None] & (i + k < K)[None, :], other=0.0)
            y = tl.load(b_ptr + (i + k)[:, None] * N + n[None, :], mask=(i + k < K)[:, None] & (n < N)[None, :], other=0.0)
            acc = tl.dot(x, y, acc)
            if FORM == "each step":  # the last one stays
                tl.store(at, acc.to(c_ptr.dtype.element_ty), mask=inside)
        made = acc.to(c_ptr.dtype.element_ty)
        if FORM == "some":
            if tile % 3 != 1:
                tl.store(at, made, mask=inside)
        elif FORM == "twice":
            tl.store(at, made + 1, mask=inside)
            tl.store(at, made, mask=inside)
        elif FORM == "two places":
            tl.store(at, made, mask=inside)
            tl.store(other_ptr + m[:, None] * sc + n[None, :], (made + 1).to(c_ptr.dtype.element_ty), mask=inside)
        elif FORM == "shifted":  # the second one covers a part of the first one, and of its neighbour's
            tl.store(at, made, mask=inside)
            tl.store(at + 8, made, mask=(m < M)[:, None] & (n + 8 < N)[None, :] & (tile == down * across - 1))
        elif FORM == "flagged":
            tl.store(at, made, mask=inside & (tile != 1))
        elif FORM == "backwards":
            tl.store(c_ptr + (M - 1 - m)[:, None] * sc + n[None, :], made, mask=inside)
        elif FORM == "upper":
            tl.store(at, made, mask=inside & (n >= 64)[None, :])
        elif FORM != "each step":
            tl.store(at, made, mask=inside)


@triton.jit
def again_kernel(a_ptr, c_ptr, M, sc, ROUNDS: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    """Two loops over the same places, and rounds in the first one: the last word is the second loop's, of every other tile."""
    m, k = tl.arange(0, BM), tl.arange(0, BK)
    for tile in range(0, M // BM * ROUNDS):
        rows = tile % (M // BM) * BM + m
        x = tl.load(a_ptr + rows[:, None] * BK + k[None, :])
        acc = tl.zeros([BM, BM], tl.float32)
        for i in range(0, ROUNDS):
            acc = tl.dot(x, tl.trans(x), acc)
        tl.store(c_ptr + rows[:, None] * sc + m[None, :], (acc + tile).to(tl.float16))
    for tile in range(0, M // BM, 2):
        rows = tile * BM + m
        x = tl.load(a_ptr + rows[:, None] * BK + k[None, :])
        acc = tl.zeros([BM, BM], tl.float32)
        for i in range(0, ROUNDS):
            acc = tl.dot(x, tl.trans(x), acc)
        tl.store(c_ptr + rows[:, None] * sc + m[None, :], acc.to(tl.float16))


FORMS = ["plain", "each step", "some", "twice", "two places", "shifted", "flagged", "backwards", "upper"]


@pytest.mark.parametrize("m, n, k", [(256, 512, 128), (200, 320, 64), (64, 768, 192), (1, 256, 64)])
@pytest.mark.parametrize("form", FORMS)
def test_forms(target, form, m, n, k):
    generator = torch.Generator().manual_seed(m + n + k)
    a, b = torch.randint(-2, 3, (m, k), generator=generator).half(), torch.randint(-2, 3, (k, n), generator=generator).half()
    c, other = (torch.full((m, n + 16), 7.0, dtype=torch.float16) for _ in range(2))
    tile, programs = (64, 256), 1 if form == "shifted" else 2
    kernel = tiles_kernel[(programs,)](a, b, c, other, m, n, k, n + 16, FORM=form, BM=tile[0], BN=tile[1], BK=64, num_warps=4, num_stages=3)
    wanted, product = torch.full_like(c, 7.0), (a.float() @ b.float()).half()
    across = -(-n // tile[1])
    for number in range(-(-m // tile[0]) * across):
        rows = slice(number // across * tile[0], (number // across + 1) * tile[0])
        columns = slice(number % across * tile[1], min((number % across + 1) * tile[1], n))
        if (form == "some" and number % 3 == 1) or (form == "flagged" and number == 1):
            continue
        wanted[rows, columns] = product[rows, columns]
    if form == "shifted":
        last = product[rows, columns]
        wanted[rows, columns.start + 8:n] = last[:, :n - 8 - columns.start]
    if form == "backwards":
        wanted[:, :n] = product.flip(0)
    if form == "upper":
        wanted[:, :64] = 7.0
    torch.testing.assert_close(c, wanted, rtol=0, atol=0)
    torch.testing.assert_close(other[:, :n], product + 1 if form == "two places" else torch.full_like(product, 7.0), rtol=0, atol=0)
    assert (other[:, n:] == 7).all()
    if target == "sim" and HOPPER and form in ("plain", "some", "two places", "flagged"):
        assert any(BOXES in remark.text for remark in kernel.remarks)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.int32, torch.int8])
def test_kinds(target, kind):
    a, b = torch.randint(-2, 3, (200, 128)).half(), torch.randint(-2, 3, (128, 512)).half()
    c = torch.full((200, 528), 7, dtype=kind)
    tiles_kernel[(2,)](a, b, c, c, 200, 512, 128, 528, FORM="plain", BM=64, BN=256, BK=64, num_warps=4, num_stages=3)
    torch.testing.assert_close(c[:, :512], (a.float() @ b.float()).to(kind), rtol=0, atol=0)
    assert (c[:, 512:] == 7).all()


@pytest.mark.parametrize("rounds", [1, 3])
def test_places_that_are_stored_again(target, rounds):
    a = torch.randint(-1, 2, (512, 64)).half()
    c = torch.zeros((512, 144), dtype=torch.float16)
    again_kernel[(1,)](a, c, 512, 144, ROUNDS=rounds, BM=128, BK=64, num_warps=4)
    for tile in range(4):
        x = a[tile * 128:(tile + 1) * 128].float()
        left = x @ x.T * rounds + (0 if tile % 2 == 0 else (rounds - 1) * 4 + tile)
        torch.testing.assert_close(c[tile * 128:(tile + 1) * 128, :128].float(), left, rtol=0, atol=0)
