"""Inverses of small triangular matrices, a Cholesky factor and a Thomas solver: rows picked out of tiles by masks."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def solve_tril_kernel(A, Ai, T, H: tl.constexpr, BT: tl.constexpr):
    """(I + A)^-1 of each block on the diagonal, A strictly lower."""
    i_t, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    o_i = tl.arange(0, BT)
    rows = i_t * BT + o_i
    base = (i_b * T * H + i_h) * BT
    p_A = A + base + rows[:, None] * H * BT + o_i[None, :]
    b_A = -tl.where(o_i[:, None] > o_i[None, :], tl.load(p_A, mask=(rows < T)[:, None], other=0.0).to(tl.float32), 0)
    for i in range(1, min(BT, T - i_t * BT)):
        b_a = -tl.load(A + base + (i_t * BT + i) * H * BT + o_i)
        b_a = tl.where(o_i < i, b_a, 0.)
        b_a = b_a + tl.sum(b_a[:, None] * b_A, 0)
        mask = o_i == i
        b_A = tl.where(mask[:, None], b_a, b_A)
    b_A += o_i[:, None] == o_i[None, :]
    tl.store(Ai + base + rows[:, None] * H * BT + o_i[None, :], b_A, mask=(rows < T)[:, None])


@triton.jit
def cholesky_kernel(a_ptr, l_ptr, n, N: tl.constexpr):
    batch = tl.program_id(0)
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    inside = (i < n) & (j < n)
    a = tl.load(a_ptr + batch * n * n + i * n + j, mask=inside, other=0.0)
    a = tl.where(inside, a, (i == j).to(a.dtype))
    l = tl.zeros_like(a)
    for k in range(n):
        column = tl.sum(tl.where(j == k, a, 0.0), axis=1)
        pivot = tl.sum(tl.where(tl.arange(0, N) == k, column, 0.0), axis=0)
        column = tl.where(tl.arange(0, N) >= k, column / tl.sqrt(pivot), 0.0)
        l = tl.where(j == k, column[:, None], l)
        a -= column[:, None] * column[None, :]
    tl.store(l_ptr + batch * n * n + i * n + j, l, mask=inside)


@triton.jit
def tridiagonal_kernel(low_ptr, diag_ptr, up_ptr, x_ptr, n, systems, BLOCK: tl.constexpr):
    s = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = s < systems
    c = tl.zeros((BLOCK,), x_ptr.dtype.element_ty)
    d = tl.zeros((BLOCK,), x_ptr.dtype.element_ty)
    for k in range(n):
        low = tl.load(low_ptr + k * systems + s, ok, 0.0)
        m = tl.load(diag_ptr + k * systems + s, ok, 1.0) - low * c
        c = tl.load(up_ptr + k * systems + s, ok, 0.0) / m
        d = (tl.load(x_ptr + k * systems + s, ok, 0.0) - low * d) / m
        tl.store(up_ptr + k * systems + s, c, ok)
        tl.store(x_ptr + k * systems + s, d, ok)
    tl.debug_barrier()
    for k in range(n - 2, -1, -1):
        d = tl.load(x_ptr + k * systems + s, ok) - tl.load(up_ptr + k * systems + s, ok) * d
        tl.store(x_ptr + k * systems + s, d, ok)


def check_inverse(device):
    B, T, H, BT = 1, 27, 2, 16
    A = normal(B, T, H, BT, device=device, scale=0.3)
    Ai = torch.zeros_like(A)
    solve_tril_kernel[(triton.cdiv(T, BT), B * H)](A, Ai, T, H=H, BT=BT)
    for h in range(H):
        for start in range(0, T, BT):
            size = min(BT, T - start)
            block = torch.tril(wide(A)[0, start:start + size, h, :size], -1) + torch.eye(size, dtype=torch.float64)
            close(Ai[0, start:start + size, h, :size], torch.linalg.inv(block), error=3e-6)


def check_cholesky(device):
    n = 11
    m = normal(3, n, n, device="cpu", dtype=torch.float64)
    a = m @ m.transpose(1, 2) + n * torch.eye(n, dtype=torch.float64)
    l = torch.zeros(3, n, n, dtype=torch.float64, device=device)
    cholesky_kernel[(3,)](a.to(device), l, n, N=16)
    close(l, torch.linalg.cholesky(a), error=1e-13)


def check_tridiagonal(device):
    n, systems = 9, 20
    low, up = (normal(n, systems, device=device, seed=s) for s in (0, 1))
    diag, x = normal(n, systems, device=device, seed=2).abs() + 5, normal(n, systems, device=device, seed=3)
    low[0], up[n - 1] = 0, 0
    expected = torch.empty(n, systems, dtype=torch.float64)
    for s in range(systems):
        m = torch.diag(wide(diag)[:, s]) + torch.diag(wide(low)[1:, s], -1) + torch.diag(wide(up)[:-1, s], 1)
        expected[:, s] = torch.linalg.solve(m, wide(x)[:, s])
    tridiagonal_kernel[(1,)](low, diag, up, x, n, systems, BLOCK=32)
    close(x, expected, error=2e-6)
