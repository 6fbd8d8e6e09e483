"""c = a @ b as people write it: the same product in spellings that differ in order, masks, addresses and accumulation.

A function of this file takes matrices of any strides and a configuration: BLOCK_M, BLOCK_N, BLOCK_K, num_warps,
num_stages. It allocates the result where none is given. bench/gpu/spelled.py says which function is measured on what.
"""
import torch

import tegula as triton
import tegula.language as tl


def grid_of(a, b, config):
    return (triton.cdiv(a.shape[0], config["BLOCK_M"]) * triton.cdiv(b.shape[1], config["BLOCK_N"]),)


def result_of(a, b, out, dtype=None):
    return torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=dtype or a.dtype) if out is None else out


# --- rows and columns wrap around, so that only K needs a mask; pointers walk ------------------


@triton.jit
def wrapped_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    width = GROUP_M * num_pid_n
    group = pid // width
    first = group * GROUP_M
    rows_in_group = min(num_pid_m - first, GROUP_M)
    pid_m = first + ((pid % width) % rows_in_group)
    pid_n = (pid % width) // rows_in_group

    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c = acc.to(c_ptr.dtype.element_ty)

    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def wrapped(a, b, out=None, dtype=None, **config):
    c = result_of(a, b, out, dtype)
    wrapped_kernel[grid_of(a, b, config)](
        a, b, c, a.shape[0], b.shape[1], a.shape[1], a.stride(0), a.stride(1), b.stride(0), b.stride(1),
        c.stride(0), c.stride(1), GROUP_M=8, **config)
    return c


# --- masks in all three dimensions, a grid of two dimensions, `acc +=`, the loop counts elements ----


@triton.jit
def masked_kernel(A, B, C, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    m_ok = rm < M
    n_ok = rn < N
    A = A + rm[:, None] * a_row + rk[None, :] * a_col
    B = B + rk[:, None] * b_row + rn[None, :] * b_col
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        k_ok = rk < K - start
        a = tl.load(A, mask=m_ok[:, None] & k_ok[None, :], other=0.)
        b = tl.load(B, mask=k_ok[:, None] & n_ok[None, :], other=0.)
        acc += tl.dot(a, b)
        A += BLOCK_K * a_col
        B += BLOCK_K * b_row
    C = C + rm[:, None] * c_row + rn[None, :] * c_col
    tl.store(C, acc, mask=m_ok[:, None] & n_ok[None, :])


def masked(a, b, out=None, dtype=None, **config):
    c = result_of(a, b, out, dtype)
    grid = (triton.cdiv(a.shape[0], config["BLOCK_M"]), triton.cdiv(b.shape[1], config["BLOCK_N"]))
    masked_kernel[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(), *c.stride(), **config)
    return c


# --- every offset computed anew in each trip; contiguous matrices, no strides; EVEN_K drops the mask ----


@triton.jit
def recomputed_kernel(x_ptr, w_ptr, y_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                      EVEN_K: tl.constexpr):
    tiles_n = tl.cdiv(N, BLOCK_N)
    tile_m = tl.program_id(0) // tiles_n
    tile_n = tl.program_id(0) % tiles_n
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for i in range(tl.cdiv(K, BLOCK_K)):
        m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
        n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
        k = i * BLOCK_K + tl.arange(0, BLOCK_K)
        if EVEN_K:
            x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=m[:, None] < M)
            w = tl.load(w_ptr + k[:, None] * N + n[None, :], mask=n[None, :] < N)
        else:
            x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
            w = tl.load(w_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = acc + tl.dot(x, w)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(y_ptr.dtype.element_ty), (m[:, None] < M) & (n[None, :] < N))


def recomputed(a, b, out=None, dtype=None, **config):
    c = result_of(a, b, out, dtype)
    (M, K), N = a.shape, b.shape[1]
    recomputed_kernel[grid_of(a, b, config)](a, b, c, M, N, K, EVEN_K=K % config["BLOCK_K"] == 0, **config)
    return c


# --- the weight of a linear layer, [N, K]: loaded as it lies and transposed as a tile ------------


@triton.jit
def linear_kernel(x_ptr, w_ptr, y_ptr, M, N, K, stride_xm, stride_xk, stride_wn, stride_wk, stride_ym, stride_yn,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    pid_m, pid_n = tl.swizzle2d(pid // tl.cdiv(N, BLOCK_N), pid % tl.cdiv(N, BLOCK_N), tl.cdiv(M, BLOCK_M),
                                tl.cdiv(N, BLOCK_N), GROUP_M)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk,
                    mask=(offs_m < M)[:, None] & (offs_k < K)[None, :], other=0.0)
        w = tl.load(w_ptr + offs_n[:, None] * stride_wn + offs_k[None, :] * stride_wk,
                    mask=(offs_n < N)[:, None] & (offs_k < K)[None, :], other=0.0)
        accumulator += tl.dot(x, w.T)
    y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :] * stride_yn
    tl.store(y_ptrs, accumulator.to(y_ptr.type.element_ty), mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


def linear(a, b, out=None, dtype=None, **config):
    """The b given is the transposed view of a weight."""
    w, c = b.T, result_of(a, b, out, dtype)
    linear_kernel[grid_of(a, b, config)](a, w, c, a.shape[0], w.shape[0], a.shape[1], *a.stride(), *w.stride(),
                                         *c.stride(), GROUP_M=8, **config)
    return c


# --- promises about offsets, 64-bit rows, the loop counts down: the style of older and of generated code ----


@triton.jit
def hinted_kernel(arg_A, arg_B, out_ptr0, M, N, K, stride_am, stride_bk,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                  ALLOW_TF32: tl.constexpr, ACC_TYPE: tl.constexpr):
    pid = tl.program_id(0)
    grid_m = (M + BLOCK_M - 1) // BLOCK_M
    grid_n = (N + BLOCK_N - 1) // BLOCK_N
    width = GROUP_M * grid_n
    group_id = pid // width
    group_size = min(grid_m - group_id * GROUP_M, GROUP_M)
    pid_m = group_id * GROUP_M + (pid % group_size)
    pid_n = (pid % width) // (group_size)
    tl.assume(pid_m >= 0)
    tl.assume(pid_n >= 0)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ram = tl.max_contiguous(tl.multiple_of(rm % M, BLOCK_M), BLOCK_M)
    rbn = tl.max_contiguous(tl.multiple_of(rn % N, BLOCK_N), BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = arg_A + (ram[:, None].to(tl.int64) * stride_am + rk[None, :])
    B = arg_B + (rk[:, None].to(tl.int64) * stride_bk + rbn[None, :])
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC_TYPE)
    for k in range(K, 0, -BLOCK_K):
        a = tl.load(A, mask=rk[None, :] < k, other=0.)
        b = tl.load(B, mask=rk[:, None] < k, other=0.)
        acc += tl.dot(a, b, allow_tf32=ALLOW_TF32, out_dtype=ACC_TYPE)
        A += BLOCK_K
        B += BLOCK_K * stride_bk
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    idx_m = rm[:, None]
    idx_n = rn[None, :]
    mask = (idx_m < M) & (idx_n < N)
    xindex = idx_n + N * idx_m
    tl.store(out_ptr0 + (tl.broadcast_to(xindex, mask.shape)), acc, mask)


def hinted(a, b, out=None, dtype=None, **config):
    c = result_of(a, b, out, dtype)
    hinted_kernel[grid_of(a, b, config)](a, b, c, a.shape[0], b.shape[1], a.shape[1], a.stride(0), b.stride(0), GROUP_M=8,
                                         ALLOW_TF32=True, ACC_TYPE=tl.float32, **config)
    return c


# --- tf32 asked for by name -------------------------------------------------------------------


@triton.jit
def precise_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                   PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    tiles_m = tl.cdiv(M, BLOCK_M)
    offs_m = (tl.program_id(0) % tiles_m) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = (tl.program_id(0) // tiles_m) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] + k < K), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] + k < K) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc=acc, input_precision=PRECISION)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, acc,
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def precise(a, b, out=None, dtype=None, precision="tf32", **config):
    c = result_of(a, b, out, dtype)
    precise_kernel[grid_of(a, b, config)](a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(),
                                          *c.stride(), PRECISION=precision, **config)
    return c


# --- 8-bit integers, sums in 32 bits ------------------------------------------------------------


@triton.jit
def integer_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    num_m, num_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group_id = pid // (GROUP_M * num_n)
    group_size = min(num_m - group_id * GROUP_M, GROUP_M)
    pid_m = group_id * GROUP_M + pid % group_size
    pid_n = pid % (GROUP_M * num_n) // group_size
    rm = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    rn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=rk[None, :] < K - k, other=0)
        b = tl.load(b_ptrs, mask=rk[:, None] < K - k, other=0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def integer(a, b, out=None, dtype=None, **config):
    c = result_of(a, b, out, torch.int32)
    integer_kernel[grid_of(a, b, config)](a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(),
                                          *c.stride(), GROUP_M=8, **config)
    return c
