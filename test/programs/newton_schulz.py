"""Orthogonalization by Newton-Schulz steps: a symmetric product whose lower tiles are mirrored, and a polynomial of it."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def _pid_to_block(pid, M, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    num_n = tl.cdiv(M, BLOCK_N)
    return (pid // num_n) * BLOCK_M, (pid % num_n) * BLOCK_N


@triton.jit
def xxt_kernel(A_ptr, C_ptr, D_ptr, M, K, a_stride_r, a_stride_c, alpha, beta, HAS_D: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    """C = alpha A A' + beta D, for a symmetric D: only tiles on and below the diagonal are computed."""
    m_start, n_start = _pid_to_block(tl.program_id(0), M, BLOCK, BLOCK)
    # above the diagonal: a mirrored tile
    if m_start + BLOCK <= n_start:
        return
    offs_m = m_start + tl.arange(0, BLOCK)
    offs_n = n_start + tl.arange(0, BLOCK)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = A_ptr + offs_m[:, None] * a_stride_r + offs_k[None, :] * a_stride_c
    at_ptrs = A_ptr + offs_k[:, None] * a_stride_c + offs_n[None, :] * a_stride_r
    accumulator = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BLOCK_K)):
        inside = offs_k < K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=(offs_m < M)[:, None] & inside[None, :], other=0.0)
        at = tl.load(at_ptrs, mask=inside[:, None] & (offs_n < M)[None, :], other=0.0)
        accumulator = tl.dot(a, at, accumulator, input_precision="ieee")
        a_ptrs += BLOCK_K * a_stride_c
        at_ptrs += BLOCK_K * a_stride_c
    accumulator *= alpha
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < M)
    if HAS_D:
        accumulator += beta * tl.load(D_ptr + offs_m[:, None] * M + offs_n[None, :], mask=mask, other=0.0)
    out = accumulator.to(C_ptr.dtype.element_ty)
    tl.store(C_ptr + offs_m[:, None] * M + offs_n[None, :], out, mask=mask)
    mirrored = (offs_n[:, None] < M) & (offs_m[None, :] < M)
    tl.store(C_ptr + offs_n[:, None] * M + offs_m[None, :], out.T, mask=mirrored)


def xxt(A, D=None, alpha=1.0, beta=0.0):
    M, K = A.shape
    C = torch.empty(M, M, dtype=A.dtype, device=A.device)
    grid = lambda META: (triton.cdiv(M, META["BLOCK"])**2,)
    xxt_kernel[grid](A, C, D, M, K, A.stride(0), A.stride(1), alpha, beta, HAS_D=D is not None, BLOCK=32, BLOCK_K=16)
    return C


def check_symmetric_products(device):
    for M, K in ((32, 16), (70, 40)):
        A = normal(M, K, device=device)
        close(xxt(A), wide(A) @ wide(A).T, error=2e-6)
        S = xxt(A)
        close(xxt(S, S, 0.5, -1.5), 0.5 * wide(S) @ wide(S).T - 1.5 * wide(S), error=3e-6)


def check_steps_make_it_orthogonal(device):
    X = normal(20, 40, device=device)
    X = X / torch.linalg.matrix_norm(X)
    for _ in range(25):
        S = xxt(X)
        X = 1.5 * X - 0.5 * (S @ X)
    close(xxt(X), torch.eye(20, dtype=torch.float64), error=1e-4)
