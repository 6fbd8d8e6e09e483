"""Factors that a trip computes, element by element, of what no copy brings: threads read it from a buffer next to the product."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def computed_kernel(a, b, c, K, sam, sak, sbk, sbn, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, LEFT: tl.constexpr, DTYPE: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], tl.float32)
    for i in range(0, K, BK):
        inside = i + k < K
        x = tl.load(a + m[:, None] * sam + (i + k)[None, :] * sak, mask=inside[None, :], other=0)
        if LEFT:
            x = tl.maximum(x.to(tl.float32) * 2, -3).to(DTYPE)
        y = tl.load(b + (i + k)[:, None] * sbk + n[None, :] * sbn, mask=inside[:, None], other=0)
        if not LEFT:
            y = tl.maximum(y.to(tl.float32) * 2, -3).to(DTYPE)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc)


TYPES = {"f16 to bf16": (torch.float16, torch.bfloat16, tl.bfloat16), "f32 to f16": (torch.float32, torch.float16, tl.float16),
         "i8 to bf16": (torch.int8, torch.bfloat16, tl.bfloat16), "e5m2 to f16": (torch.float8_e5m2, torch.float16, tl.float16)}


@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("by_columns", [False, True], ids=["n", "t"])
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("m, n, bk, warps, stages", [(128, 32, 64, 2, 1), (64, 64, 32, 1, 1), (32, 128, 32, 4, 1), (64, 64, 64, 4, 1), (16, 32, 64, 2, 3)])
def test_products(target, m, n, bk, warps, stages, types, by_columns, left):
    generator = torch.Generator().manual_seed(m)
    narrow, wide, of_tile = TYPES[types]

    def integers(shape, dtype):
        made = torch.randint(-3, 4, shape[::-1] if by_columns else shape, generator=generator).to(dtype)
        return made.T if by_columns else made

    for k in (0, bk, 3 * bk - 7):
        a, b = integers((m, 3 * bk), narrow if left else wide), integers((3 * bk, n), wide if left else narrow)
        c = torch.full((m, n), 9.0)
        computed_kernel[(1,)](a, b, c, k, *a.stride(), *b.stride(), M=m, N=n, BK=bk, LEFT=left, DTYPE=of_tile, num_warps=warps, num_stages=stages)
        x, y = a[:, :k].float(), b[:k].float()
        x, y = ((2 * x).clamp(min=-3), y) if left else (x, (2 * y).clamp(min=-3))
        assert torch.equal(c, x @ y)


@triton.jit
def words_kernel(a, b, s, c, K, sam, sak, sbk, sbn, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr):
    """Of f32, of which one factor or both are computed."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros([M, N], tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * sam + (i + k)[None, :] * sak).to(tl.float32)
        y = tl.load(b + (i + k)[:, None] * sbk + n[None, :] * sbn).to(tl.float32)
        scale = tl.load(s + i + k)
        if LEFT:
            x = x * scale[None, :]
        if RIGHT:
            y = y - scale[:, None]
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("left, right", [(True, True), (True, False), (False, True)], ids=["both", "left", "right"])
@pytest.mark.parametrize("by_columns", [False, True], ids=["n", "t"])
@pytest.mark.parametrize("types", [(torch.float32, torch.float32), (torch.bfloat16, torch.float16), (torch.float16, torch.float32)], ids=["f32", "bf16 f16", "f16 f32"])
@pytest.mark.parametrize("m, n, bk, warps, stages", [(64, 64, 32, 4, 1), (64, 64, 32, 4, 3), (128, 32, 64, 8, 2), (16, 64, 32, 4, 2)])
def test_products_of_words(target, m, n, bk, warps, stages, types, by_columns, left, right):
    generator = torch.Generator().manual_seed(m)

    def integers(shape, dtype):
        made = torch.randint(-3, 4, shape[::-1] if by_columns else shape, generator=generator).to(dtype)
        return made.T if by_columns else made

    a, b, s = integers((m, 3 * bk), types[0]), integers((3 * bk, n), types[1]), torch.randint(-3, 4, (3 * bk,), generator=generator).float()
    for k in (0, bk, 3 * bk):
        c = torch.full((m, n), 9.0)
        words_kernel[(1,)](a, b, s, c, k, *a.stride(), *b.stride(), M=m, N=n, BK=bk, LEFT=left, RIGHT=right, num_warps=warps, num_stages=stages)
        x, y = a[:, :k].float(), b[:k].float()
        x, y = x * s[:k] if left else x, y - s[:k, None] if right else y
        assert torch.equal(c, x @ y)
