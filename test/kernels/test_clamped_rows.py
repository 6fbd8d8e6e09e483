"""Rows that are clamped into a matrix, in any spelling: tiles in which no row is clamped are boxes, all others are right as well."""
import os

import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]
pytestmark = pytest.mark.parametrize("target", TARGETS, indirect=True)
HAS_BOXES = os.environ.get("TEGULA_SIM_ARCH", "sm_90a") == "sm_90a"


@triton.jit
def clamped(m, M, FORM: tl.constexpr):
    if FORM == "where":
        r = tl.where(m < M, m, 0)
    elif FORM == "where, other way round":
        r = tl.where(m >= M, M - 1, m)
    elif FORM == "where, literal first":
        r = tl.where(M > m, m, M - 1)
    elif FORM == "minimum":
        r = tl.minimum(m, M - 1)
    elif FORM == "minimum, limit first":
        r = tl.minimum(M - 1, m)
    elif FORM == "between":
        r = tl.maximum(tl.minimum(m - 5, M - 1), 0)
    elif FORM == "clamp":
        r = tl.clamp((m - 5).to(tl.float32), 0.0, M - 1.0).to(tl.int32)
    elif FORM == "two conditions":
        r = tl.where((m < M) & (m >= 70), m, 3)
    elif FORM == "torn":  # at a place of the run: the second half goes on elsewhere
        r = tl.where(m < M // 2, m, M - 1 - m % M)
    elif FORM == "neither uniform":
        r = tl.where(m < 64, m % M, (m + 3) % M)
    elif FORM == "never inside":
        r = tl.where(m % 128 < 8, m % 8, tl.minimum(m, M - 1))
    elif FORM == "remainder":
        r = tl.minimum((m + 64) % M, M - 2)
    elif FORM == "long":
        r = tl.minimum(m.to(tl.int64), M - 1)
    elif FORM == "unsigned":
        r = tl.where(m.to(tl.uint32) < M.to(tl.uint32), m, 1)
    elif FORM == "limit that wraps":
        r = tl.maximum(tl.minimum(m, (m * 0 + M) * 1073741824), 0)
    else:  # a condition of the elements, not of the place
        r = tl.where(m % 3 != 1, tl.minimum(m, M - 1), 0)
    return r


BOXED = ["where", "where, other way round", "where, literal first", "minimum", "minimum, limit first", "between", "two conditions", "long"]
OTHERS = ["clamp", "torn", "neither uniform", "never inside", "remainder", "unsigned", "limit that wraps", "elements"]


@triton.jit
def rows_kernel(a_ptr, b_ptr, c_ptr, M, N, K, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a[clamped] b[clamped]ᵀ: the rows of both are clamped."""
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    rows, columns = clamped(m, M, FORM), clamped(n, N, FORM)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        at = i * BK + k
        x = tl.load(a_ptr + rows[:, None] * K + at[None, :], mask=at[None, :] < K, other=0.0)
        y = tl.load(b_ptr + columns[None, :] * K + at[:, None], mask=at[:, None] < K, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def reference(m, size, form):
    last = torch.full_like(m, size - 1)
    return {
        "where": lambda: torch.where(m < size, m, 0), "between": lambda: (m - 5).clamp(0, size - 1), "clamp": lambda: (m - 5).clamp(0, size - 1),
        "two conditions": lambda: torch.where((m < size) & (m >= 70), m, 3), "torn": lambda: torch.where(m < size // 2, m, size - 1 - m % size),
        "neither uniform": lambda: torch.where(m < 64, m % size, (m + 3) % size),
        "never inside": lambda: torch.where(m % 128 < 8, m % 8, torch.minimum(m, last)),
        "remainder": lambda: ((m + 64) % size).clamp(max=size - 2), "unsigned": lambda: torch.where(m < size, m, 1),
        "limit that wraps": lambda: torch.minimum(m, last * 0 + (size * 2**30 + 2**31) % 2**32 - 2**31).clamp(min=0),
        "elements": lambda: torch.where(m % 3 != 1, torch.minimum(m, last), 0)}.get(form, lambda: torch.minimum(m, last))()


@pytest.mark.parametrize("form", BOXED + OTHERS)
@pytest.mark.parametrize("M, N, K", [(256, 128, 64), (150, 264, 80), (131, 260, 128), (8, 16, 16)])
def test_products_of_clamped_rows(target, form, M, N, K):
    generator = torch.Generator().manual_seed(M)
    a, b = (torch.randint(-4, 5, (size, K), generator=generator).half() for size in (M, N))
    c = torch.full((M, N), 9.0)
    kernel = rows_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 256))](a, b, c, M, N, K, FORM=form, BM=64, BN=256, BK=64, num_warps=4)
    rows, columns = reference(torch.arange(M), M, form), reference(torch.arange(N), N, form)
    assert torch.equal(c, a[rows].float() @ b[columns].float().T)
    if target == "sim" and HAS_BOXES and form in BOXED:
        assert "2 loads are copied by one thread in boxes" in str(kernel.remarks)


@triton.jit
def steps_kernel(a_ptr, b_ptr, c_ptr, K, LIMIT, BK: tl.constexpr):
    """Columns of `a` and rows of `b` that are clamped trip by trip: the last ones are counted again."""
    m, k = tl.arange(0, 64), tl.arange(0, BK)
    acc = tl.zeros([64, 64], tl.float32)
    for i in range(0, K, BK):
        at = tl.minimum(i + k, LIMIT - 1)
        x = tl.load(a_ptr + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b_ptr + at[:, None] * 64 + m[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c_ptr + m[:, None] * 64 + m[None, :], acc)


@pytest.mark.parametrize("limit", [1, 32, 33, 100, 128, 160])
def test_rows_that_are_clamped_in_some_trips(target, limit):
    K = 160
    a, b = torch.randint(-4, 5, (64, K)).half(), torch.randint(-4, 5, (K, 64)).half()
    c = torch.full((64, 64), 9.0)
    steps_kernel[(1,)](a, b, c, K, limit, BK=32, num_warps=4)
    assert torch.equal(c, a.float() @ b[torch.arange(K).clamp(max=limit - 1)].float())
