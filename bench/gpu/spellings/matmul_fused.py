"""Products with something around them: epilogues, batches, persistent programs, split sums, prefetching, unpacked weights.

Functions take matrices of any strides and a configuration, as in matmul_plain.py, and allocate what they return where
nothing is given.
"""
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def tile_of(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    num_n = tl.cdiv(N, BLOCK_N)
    first = pid // (GROUP_M * num_n) * GROUP_M
    rows = min(tl.cdiv(M, BLOCK_M) - first, GROUP_M)
    return first + pid % (GROUP_M * num_n) % rows, pid % (GROUP_M * num_n) // rows


def tiles(m, n, config):
    return triton.cdiv(m, config["BLOCK_M"]) * triton.cdiv(n, config["BLOCK_N"])


# --- bias and an activation on the accumulator ---------------------------------------------------


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def activated_kernel(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
                     stride_cn, ACTIVATION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                     BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_m % M)[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + (offs_n % N)[None, :] * stride_bn
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if bias_ptr is not None:
        bias = tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
        accumulator += bias[None, :]
    if ACTIVATION == "gelu":
        accumulator = gelu(accumulator)
    elif ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, c,
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def activated(a, b, bias, activation, out=None, dtype=None, **config):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=dtype or a.dtype) if out is None else out
    activated_kernel[(tiles(a.shape[0], b.shape[1], config),)](
        a, b, bias, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(), *c.stride(), ACTIVATION=activation,
        GROUP_M=8, **config)
    return c


# --- two products over one left side: silu(a @ gate) * (a @ up) -----------------------------------


@triton.jit
def gated_kernel(a_ptr, gate_ptr, up_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = (offs_m < M)[:, None]
    mask_n = (offs_n < N)[None, :]
    gate = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k0 in range(0, K, BLOCK_K):
        offs_k = k0 + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + offs_k[None, :], mask=mask_m & (offs_k < K)[None, :], other=0.0)
        where = offs_k[:, None] * stride_bk + offs_n[None, :]
        mask_b = (offs_k < K)[:, None] & mask_n
        gate += tl.dot(a, tl.load(gate_ptr + where, mask=mask_b, other=0.0))
        up += tl.dot(a, tl.load(up_ptr + where, mask=mask_b, other=0.0))
    c = gate * tl.sigmoid(gate) * up
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], c.to(c_ptr.dtype.element_ty), mask=mask_m & mask_n)


def gated(a, gate, up, out=None, **config):
    c = torch.empty(a.shape[0], gate.shape[1], device=a.device, dtype=a.dtype) if out is None else out
    gated_kernel[(tiles(*c.shape, config),)](a, gate, up, c, *c.shape, a.shape[1], a.stride(0), gate.stride(0), c.stride(0),
                                             GROUP_M=8, **config)
    return c


# --- batches: one product a program, or tiles of three dimensions ---------------------------------


@triton.jit
def batched_kernel(a_ptr, b_ptr, c_ptr, M, N, K, a_batch, a_row, a_col, b_batch, b_row, b_col, c_batch, c_row, c_col,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + batch * a_batch + offs_m[:, None] * a_row + offs_k[None, :] * a_col
    b_ptrs = b_ptr + batch * b_batch + offs_k[:, None] * b_row + offs_n[None, :] * b_col
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs + k * a_col, mask=(offs_m < M)[:, None] & (offs_k < K - k)[None, :], other=0.0)
        b = tl.load(b_ptrs + k * b_row, mask=(offs_k < K - k)[:, None] & (offs_n < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + batch * c_batch + offs_m[:, None] * c_row + offs_n[None, :] * c_col
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


def batched(a, b, out=None, **config):
    (count, M, K), N = a.shape, b.shape[2]
    c = torch.empty(count, M, N, device=a.device, dtype=a.dtype) if out is None else out
    grid = (triton.cdiv(M, config["BLOCK_M"]), triton.cdiv(N, config["BLOCK_N"]), count)
    batched_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **config)
    return c


@triton.jit
def cubic_kernel(a_ptr, b_ptr, c_ptr, COUNT, M, N, K, a_batch, a_row, b_batch, b_row, c_batch, c_row,
                 BATCH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    batch = (tl.program_id(2) * BATCH + tl.arange(0, BATCH))[:, None, None]
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))[None, :, None]
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N))[None, None, :]
    acc = tl.zeros((BATCH, BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        k_a = k[None, None, :]
        k_b = k[None, :, None]
        a = tl.load(a_ptr + batch * a_batch + m * a_row + k_a, mask=(batch < COUNT) & (m < M) & (k_a < K), other=0.0)
        b = tl.load(b_ptr + batch * b_batch + k_b * b_row + n, mask=(batch < COUNT) & (k_b < K) & (n < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + batch * c_batch + m * c_row + n, acc.to(c_ptr.dtype.element_ty),
             mask=(batch < COUNT) & (m < M) & (n < N))


def cubic(a, b, out=None, batch=2, **config):
    (count, M, K), N = a.shape, b.shape[2]
    c = torch.empty(count, M, N, device=a.device, dtype=a.dtype) if out is None else out
    grid = (triton.cdiv(M, config["BLOCK_M"]), triton.cdiv(N, config["BLOCK_N"]), triton.cdiv(count, batch))
    cubic_kernel[grid](a, b, c, count, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                       BATCH=batch, **config)
    return c


# --- as many programs as processors, each walks over tiles -----------------------------------------


@triton.jit
def persistent_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                      PROGRAMS: tl.constexpr):
    num_tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    k_tiles = tl.cdiv(K, BLOCK_K)
    offs_k = tl.arange(0, BLOCK_K)
    for tile in tl.range(tl.program_id(0), num_tiles, PROGRAMS):
        pid_m, pid_n = tile_of(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
        start_m = pid_m * BLOCK_M
        start_n = pid_n * BLOCK_N
        offs_am = start_m + tl.arange(0, BLOCK_M)
        offs_bn = start_n + tl.arange(0, BLOCK_N)
        offs_am = tl.where(offs_am < M, offs_am, 0)
        offs_bn = tl.where(offs_bn < N, offs_bn, 0)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for ki in range(k_tiles):
            k = ki * BLOCK_K + offs_k
            a = tl.load(a_ptr + offs_am[:, None] * stride_am + k[None, :] * stride_ak, mask=k[None, :] < K, other=0.0)
            b = tl.load(b_ptr + k[:, None] * stride_bk + offs_bn[None, :] * stride_bn, mask=k[:, None] < K, other=0.0)
            acc = tl.dot(a, b, acc)
        offs_cm = start_m + tl.arange(0, BLOCK_M)
        offs_cn = start_n + tl.arange(0, BLOCK_N)
        tl.store(c_ptr + offs_cm[:, None] * stride_cm + offs_cn[None, :] * stride_cn, acc.to(c_ptr.dtype.element_ty),
                 mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def persistent(a, b, out=None, programs=None, **config):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=a.dtype) if out is None else out
    processors = programs or torch.cuda.get_device_properties(a.device).multi_processor_count
    persistent_kernel[(min(processors, tiles(*c.shape, config)),)](
        a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(), *c.stride(), GROUP_M=8, PROGRAMS=processors,
        **config)
    return c


# --- K in slices over programs, added up by atomics --------------------------------------------------


@triton.jit
def split_k_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                   SPLIT_K: tl.constexpr):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    pid_z = tl.program_id(1)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = pid_z * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rm % M)[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + (rn % N)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K * SPLIT_K)):
        left = K - k * (BLOCK_K * SPLIT_K)
        a = tl.load(a_ptrs, mask=rk[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=rk[:, None] < left, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * SPLIT_K * stride_ak
        b_ptrs += BLOCK_K * SPLIT_K * stride_bk
    c_ptrs = c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    if SPLIT_K == 1:
        tl.store(c_ptrs, acc, mask=mask)
    else:
        tl.atomic_add(c_ptrs, acc, mask=mask, sem="relaxed")


def split_k(a, b, out=None, split=4, **config):
    if out is None:
        c = torch.zeros(a.shape[0], b.shape[1], device=a.device, dtype=torch.float32)
    else:
        c = out.zero_()
    split_k_kernel[(tiles(*c.shape, config), split)](a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(),
                                                     *c.stride(), GROUP_M=8, SPLIT_K=split, **config)
    return c


# --- the next tiles are loaded by hand before the product of these ------------------------------------


@triton.jit
def prefetched_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_m % M)[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + (offs_n % N)[None, :] * stride_bn
    a = tl.load(a_ptrs, mask=offs_k[None, :] < K, other=0.0)
    b = tl.load(b_ptrs, mask=offs_k[:, None] < K, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(BLOCK_K, K + BLOCK_K, BLOCK_K):
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
        next_a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k, other=0.0)
        next_b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
        a = next_a
        b = next_b
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, acc.to(c_ptr.dtype.element_ty),
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def prefetched(a, b, out=None, **config):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=a.dtype) if out is None else out
    prefetched_kernel[(tiles(*c.shape, config),)](a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(),
                                                  *c.stride(), GROUP_M=8, **config)
    return c


# --- a weight of 8-bit integers with a scale a column, widened in the loop ------------------------------


@triton.jit
def widened_kernel(a_ptr, w_ptr, scale_ptr, c_ptr, M, N, K, stride_am, stride_wk, stride_cm,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
    w_ptrs = w_ptr + offs_k[:, None] * stride_wk + offs_n[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(offs_m < M)[:, None] & (offs_k < K - k)[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=(offs_k < K - k)[:, None] & (offs_n < N)[None, :], other=0)
        acc += tl.dot(a, w.to(a.dtype))
        a_ptrs += BLOCK_K
        w_ptrs += BLOCK_K * stride_wk
    scale = tl.load(scale_ptr + offs_n, mask=offs_n < N, other=0.0)
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], (acc * scale[None, :]).to(c_ptr.dtype.element_ty),
             mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


def widened(a, w, scale, out=None, **config):
    c = torch.empty(a.shape[0], w.shape[1], device=a.device, dtype=a.dtype) if out is None else out
    widened_kernel[(tiles(*c.shape, config),)](a, w, scale, c, *c.shape, a.shape[1], a.stride(0), w.stride(0), c.stride(0),
                                               GROUP_M=8, **config)
    return c


# --- few rows, padded to a tile of them: a vector times a weight through the matrix unit -----------------


@triton.jit
def few_rows_kernel(x_ptr, w_ptr, y_ptr, M, N, K, x_row, w_row, y_row,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + rows[:, None] * x_row + k[None, :]
    w_ptrs = w_ptr + n[None, :] * w_row + k[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs, mask=(rows < M)[:, None] & (k < K - start)[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=(n < N)[None, :] & (k < K - start)[:, None], other=0.0, eviction_policy="evict_first")
        acc = tl.dot(x, w, acc)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K
    tl.store(y_ptr + rows[:, None] * y_row + n[None, :], acc.to(y_ptr.dtype.element_ty),
             mask=(rows < M)[:, None] & (n < N)[None, :])


def few_rows(a, b, out=None, **config):
    """The b given is the transposed view of a weight."""
    w, (M, K) = b.T, a.shape
    y = torch.empty(M, w.shape[0], device=a.device, dtype=a.dtype) if out is None else out
    few_rows_kernel[(triton.cdiv(w.shape[0], config["BLOCK_N"]),)](a, w, y, M, w.shape[0], K, a.stride(0), w.stride(0),
                                                                   y.stride(0), **config)
    return y
