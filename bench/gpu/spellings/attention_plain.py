"""softmax(q kᵀ · scale) v, forward, as people write it: spellings that differ in loops, algebra, layouts and exponentials.

A function of this file takes q, k and v as [batch, heads, length, head] of any strides whose last is 1, and a configuration:
BLOCK_M rows of q, BLOCK_N rows of k, num_warps, num_stages. It allocates the result where none is given.
"""
import torch

import tegula as triton
import tegula.language as tl


def grid_of(q, config):
    return (triton.cdiv(q.shape[2], config["BLOCK_M"]), q.shape[0] * q.shape[1])


# --- a loop of whole blocks, then one over the diagonal; the scale folded into the exponent of 2 ------


@triton.jit
def blocks_inner(acc, l_i, m_i, q, K_ptrs, V_ptrs, stride_kn, stride_vn, start_m, qk_scale, N_CTX,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr, EVEN: tl.constexpr,
                 offs_m: tl.constexpr, offs_n: tl.constexpr):
    if STAGE == 1:
        lo, hi = 0, start_m * BLOCK_M
    elif STAGE == 2:
        lo, hi = start_m * BLOCK_M, min((start_m + 1) * BLOCK_M, N_CTX)
        lo = tl.multiple_of(lo, BLOCK_M)
    else:
        lo, hi = 0, N_CTX
    K_ptrs += lo * stride_kn
    V_ptrs += lo * stride_vn
    for start_n in range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        if EVEN:
            k = tl.load(K_ptrs)
        else:
            k = tl.load(K_ptrs, mask=(start_n + offs_n < N_CTX)[None, :], other=0.0)
        qk = tl.dot(q, k)
        if STAGE == 2:
            mask = offs_m[:, None] >= (start_n + offs_n[None, :])
            qk = qk * qk_scale + tl.where(mask, 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            if not EVEN:
                qk = tl.where((start_n + offs_n < N_CTX)[None, :], qk, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
            qk = qk * qk_scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_ij = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        if EVEN:
            v = tl.load(V_ptrs)
        else:
            v = tl.load(V_ptrs, mask=(start_n + offs_n < N_CTX)[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        l_i = l_i * alpha + l_ij
        m_i = m_ij
        K_ptrs += BLOCK_N * stride_kn
        V_ptrs += BLOCK_N * stride_vn
    return acc, l_i, m_i


@triton.jit
def two_loops_kernel(Q, K, V, Out, sm_scale, stride_qz, stride_qh, stride_qm, stride_kz, stride_kh, stride_kn,
                     stride_vz, stride_vh, stride_vn, stride_oz, stride_oh, stride_om, H, N_CTX,
                     HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
                     EVEN: tl.constexpr):
    start_m = tl.program_id(0)
    off_z = tl.program_id(1) // H
    off_h = tl.program_id(1) % H
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    Q += off_z.to(tl.int64) * stride_qz + off_h.to(tl.int64) * stride_qh
    K_ptrs = K + off_z.to(tl.int64) * stride_kz + off_h.to(tl.int64) * stride_kh + offs_d[:, None] + offs_n[None, :] * stride_kn
    V_ptrs = V + off_z.to(tl.int64) * stride_vz + off_h.to(tl.int64) * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :]
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    if EVEN:
        q = tl.load(Q + offs_m[:, None] * stride_qm + offs_d[None, :])
    else:
        q = tl.load(Q + offs_m[:, None] * stride_qm + offs_d[None, :], mask=offs_m[:, None] < N_CTX, other=0.0)
    if CAUSAL:
        acc, l_i, m_i = blocks_inner(acc, l_i, m_i, q, K_ptrs, V_ptrs, stride_kn, stride_vn, start_m, qk_scale, N_CTX,
                                     BLOCK_M, BLOCK_N, 1, EVEN, offs_m, offs_n)
        acc, l_i, m_i = blocks_inner(acc, l_i, m_i, q, K_ptrs, V_ptrs, stride_kn, stride_vn, start_m, qk_scale, N_CTX,
                                     BLOCK_M, BLOCK_N, 2, EVEN, offs_m, offs_n)
    else:
        acc, l_i, m_i = blocks_inner(acc, l_i, m_i, q, K_ptrs, V_ptrs, stride_kn, stride_vn, start_m, qk_scale, N_CTX,
                                     BLOCK_M, BLOCK_N, 3, EVEN, offs_m, offs_n)
    acc = acc / l_i[:, None]
    out_ptrs = Out + off_z.to(tl.int64) * stride_oz + off_h.to(tl.int64) * stride_oh + offs_m[:, None] * stride_om + offs_d[None, :]
    tl.store(out_ptrs, acc.to(Out.type.element_ty), mask=offs_m[:, None] < N_CTX)


def two_loops(q, k, v, out=None, causal=False, scale=None, **config):
    """Rows and columns in blocks of which the first is a multiple of the second."""
    o = torch.empty_like(q) if out is None else out
    (batch, heads, length, head) = q.shape
    two_loops_kernel[grid_of(q, config)](
        q, k, v, o, head ** -0.5 if scale is None else scale, *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *o.stride()[:3],
        heads, length, HEAD_DIM=head, CAUSAL=causal, EVEN=length % config["BLOCK_M"] == 0, **config)
    return o


# --- one loop with a mask, q scaled before it, exp; contiguous heads, offsets anew in each trip -----------


@triton.jit
def one_loop_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale, LENGTH, D: tl.constexpr, BLOCK_M: tl.constexpr,
                    BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * LENGTH * D
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < LENGTH, other=0.0)
    q = (q * scale).to(q.dtype)
    m = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    l = tl.zeros((BLOCK_M,), dtype=tl.float32)
    o = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    stop = LENGTH
    if CAUSAL:
        stop = tl.minimum((tl.program_id(0) + 1) * BLOCK_M, LENGTH)
    for start in range(0, stop, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + cols[None, :] * D + d[:, None], mask=cols[None, :] < LENGTH, other=0.0)
        v = tl.load(v_ptr + base + cols[:, None] * D + d[None, :], mask=cols[:, None] < LENGTH, other=0.0)
        s = tl.dot(q, k)
        keep = cols[None, :] < LENGTH
        if CAUSAL:
            keep &= rows[:, None] >= cols[None, :]
        s = tl.where(keep, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        correction = tl.exp(m - m_new)
        l = l * correction + tl.sum(p, axis=1)
        o = o * correction[:, None] + tl.dot(p.to(v.dtype), v)
        m = m_new
    o = o / l[:, None]
    tl.store(o_ptr + base + rows[:, None] * D + d[None, :], o.to(o_ptr.dtype.element_ty), mask=rows[:, None] < LENGTH)


def one_loop(q, k, v, out=None, causal=False, scale=None, **config):
    """Contiguous."""
    o = torch.empty_like(q) if out is None else out
    one_loop_kernel[grid_of(q, config)](q, k, v, o, q.shape[3] ** -0.5 if scale is None else scale, q.shape[2], D=q.shape[3],
                                        CAUSAL=causal, **config)
    return o


# --- k loaded as it lies and transposed as a tile; f32 accumulator changed in place; pointers walk --------


@triton.jit
def transposed_kernel(Q, K, V, O, softmax_scale, sqb, sqh, sqm, skb, skh, skn, svb, svh, svn, sob, soh, som,
                      nheads, seqlen_q, seqlen_k, HEADDIM: tl.constexpr, IS_CAUSAL: tl.constexpr,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_m = tl.program_id(0)
    off_b = tl.program_id(1) // nheads
    off_h = tl.program_id(1) % nheads
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEADDIM)
    q_ptrs = Q + off_b * sqb + off_h * sqh + (offs_m[:, None] * sqm + offs_d[None, :])
    k_ptrs = K + off_b * skb + off_h * skh + (offs_n[:, None] * skn + offs_d[None, :])
    v_ptrs = V + off_b * svb + off_h * svh + (offs_n[:, None] * svn + offs_d[None, :])
    q = tl.load(q_ptrs, mask=offs_m[:, None] < seqlen_q, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.full([BLOCK_M], 0.0, dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEADDIM], dtype=tl.float32)
    end_n = seqlen_k if not IS_CAUSAL else tl.minimum((start_m + 1) * BLOCK_M, seqlen_k)
    for start_n in range(0, end_n, BLOCK_N):
        n_ok = (start_n + offs_n) < seqlen_k
        k = tl.load(k_ptrs, mask=n_ok[:, None], other=0.0)
        qk = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        qk += tl.dot(q, tl.trans(k))
        qk *= softmax_scale
        qk += tl.where(n_ok[None, :], 0, float("-inf"))
        if IS_CAUSAL:
            qk += tl.where(offs_m[:, None] >= (start_n + offs_n)[None, :], 0, float("-inf"))
        m_ij = tl.maximum(tl.max(qk, 1), m_i)
        p = tl.exp2((qk - m_ij[:, None]) * 1.4426950408889634)
        alpha = tl.exp2((m_i - m_ij) * 1.4426950408889634)
        l_i = alpha * l_i + tl.sum(p, 1)
        acc *= alpha[:, None]
        v = tl.load(v_ptrs, mask=n_ok[:, None], other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        m_i = m_ij
        k_ptrs += BLOCK_N * skn
        v_ptrs += BLOCK_N * svn
    out = acc * (1.0 / l_i)[:, None]
    out_ptrs = O + off_b * sob + off_h * soh + (offs_m[:, None] * som + offs_d[None, :])
    tl.store(out_ptrs, out.to(O.dtype.element_ty), mask=offs_m[:, None] < seqlen_q)


def transposed(q, k, v, out=None, causal=False, scale=None, **config):
    o = torch.empty_like(q) if out is None else out
    transposed_kernel[grid_of(q, config)](
        q, k, v, o, q.shape[3] ** -0.5 if scale is None else scale, *q.stride()[:3], *k.stride()[:3], *v.stride()[:3],
        *o.stride()[:3], q.shape[1], q.shape[2], k.shape[2], HEADDIM=q.shape[3], IS_CAUSAL=causal, **config)
    return o


# --- another algebra: logarithms of sums are carried, the accumulator is rescaled by them ------------------


@triton.jit
def logarithms_kernel(Q, K, V, Out, scale, stride_h, stride_m, length, D: tl.constexpr, CAUSAL: tl.constexpr,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    head = tl.program_id(1)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + head * stride_h + offs_m[:, None] * stride_m + offs_d[None, :], mask=(offs_m < length)[:, None], other=0.0)
    lse_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    acc_o = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    if CAUSAL:
        end_n = min((tl.program_id(0) + 1) * BLOCK_M, length)
    else:
        end_n = length
    for start_n in range(0, end_n, BLOCK_N):
        at = start_n + offs_n
        k = tl.load(K + head * stride_h + at[:, None] * stride_m + offs_d[None, :], mask=(at < length)[:, None], other=0.0)
        qk = tl.dot(q, k.T)
        qk = tl.where((at < length)[None, :], qk, float("-inf"))
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= at[None, :], qk, float("-inf"))
        m_ij = tl.maximum(tl.max(qk, 1) * scale, lse_i)
        p = tl.exp(qk * scale - m_ij[:, None])
        l_ij = tl.sum(p, 1)
        acc_o_scale = tl.exp(m_i - m_ij)
        acc_o = acc_o * acc_o_scale[:, None]
        v = tl.load(V + head * stride_h + at[:, None] * stride_m + offs_d[None, :], mask=(at < length)[:, None], other=0.0)
        acc_o += tl.dot(p.to(v.dtype), v)
        m_i = m_ij
        l_i_new = tl.exp(lse_i - m_ij) + l_ij
        lse_i = m_ij + tl.log(l_i_new)
    o_scale = tl.exp(m_i - lse_i)
    acc_o = acc_o * o_scale[:, None]
    tl.store(Out + head * stride_h + offs_m[:, None] * stride_m + offs_d[None, :], acc_o.to(Out.dtype.element_ty),
             mask=(offs_m < length)[:, None])


def logarithms(q, k, v, out=None, causal=False, scale=None, **config):
    """Contiguous."""
    o = torch.empty_like(q) if out is None else out
    logarithms_kernel[grid_of(q, config)](q, k, v, o, q.shape[3] ** -0.5 if scale is None else scale, q.stride(1), q.stride(2),
                                          q.shape[2], D=q.shape[3], CAUSAL=causal, **config)
    return o


# --- the first paper's algebra: the accumulator is divided in each trip --------------------------------------


@triton.jit
def normalized_kernel(Q, K, V, Out, scale, stride_h, stride_m, length, D: tl.constexpr, CAUSAL: tl.constexpr,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    q_ptrs = Q + off_hz * stride_h + offs_m[:, None] * stride_m + offs_d[None, :]
    k_ptrs = K + off_hz * stride_h + offs_n[None, :] * stride_m + offs_d[:, None]
    v_ptrs = V + off_hz * stride_h + offs_n[:, None] * stride_m + offs_d[None, :]
    m_prev = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_prev = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    q = tl.load(q_ptrs, mask=offs_m[:, None] < length, other=0.0)
    stop = (start_m + 1) * BLOCK_M if CAUSAL else length
    for start_n in range(0, stop, BLOCK_N):
        k = tl.load(k_ptrs, mask=start_n + offs_n[None, :] < length, other=0.0)
        qk = tl.dot(q, k) * scale
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= (start_n + offs_n[None, :]), qk, float("-inf"))
        qk = tl.where(start_n + offs_n[None, :] < length, qk, float("-inf"))
        m_curr = tl.maximum(tl.max(qk, 1), m_prev)
        l_prev *= tl.exp(m_prev - m_curr)
        p = tl.exp(qk - m_curr[:, None])
        l_curr = tl.sum(p, 1) + l_prev
        l_rcp = 1.0 / l_curr
        p *= l_rcp[:, None]
        acc *= (l_prev * l_rcp)[:, None]
        v = tl.load(v_ptrs, mask=start_n + offs_n[:, None] < length, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        l_prev = l_curr
        m_prev = m_curr
        k_ptrs += BLOCK_N * stride_m
        v_ptrs += BLOCK_N * stride_m
    tl.store(Out + off_hz * stride_h + offs_m[:, None] * stride_m + offs_d[None, :], acc.to(Out.dtype.element_ty),
             mask=offs_m[:, None] < length)


def normalized(q, k, v, out=None, causal=False, scale=None, **config):
    """Contiguous."""
    o = torch.empty_like(q) if out is None else out
    normalized_kernel[grid_of(q, config)](q, k, v, o, q.shape[3] ** -0.5 if scale is None else scale, q.stride(1), q.stride(2),
                                          q.shape[2], D=q.shape[3], CAUSAL=causal, **config)
    return o


# --- the next block of k is loaded by hand before the softmax of this one --------------------------------------


@triton.jit
def ahead_kernel(Q, K, V, Out, scale, stride_h, stride_m, length, D: tl.constexpr, CAUSAL: tl.constexpr,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    Q += tl.program_id(1) * stride_h
    K += tl.program_id(1) * stride_h
    V += tl.program_id(1) * stride_h
    Out += tl.program_id(1) * stride_h
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * stride_m + d[None, :], mask=m[:, None] < length, other=0.0)
    best = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    stop = tl.minimum(length, (tl.program_id(0) + 1) * BLOCK_M) if CAUSAL else length
    k_ptrs = K + n[None, :] * stride_m + d[:, None]
    k = tl.load(k_ptrs, mask=n[None, :] < length, other=0.0)
    for start in range(0, stop, BLOCK_N):
        s = tl.dot(q, k)
        k_ptrs += BLOCK_N * stride_m
        k = tl.load(k_ptrs, mask=start + BLOCK_N + n[None, :] < stop, other=0.0)
        v = tl.load(V + (start + n)[:, None] * stride_m + d[None, :], mask=start + n[:, None] < length, other=0.0)
        s = s * (scale * 1.4426950408889634)
        if CAUSAL:
            s = tl.where(start + n[None, :] <= m[:, None], s, float("-inf"))
        else:
            s = tl.where(start + n[None, :] < length, s, float("-inf"))
        better = tl.maximum(best, tl.max(s, axis=1))
        p = tl.exp2(s - better[:, None])
        shrink = tl.exp2(best - better)
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(V.dtype.element_ty), v, acc=acc * shrink[:, None])
        best = better
    tl.store(Out + m[:, None] * stride_m + d[None, :], (acc / total[:, None]).to(Out.dtype.element_ty), mask=m[:, None] < length)


def ahead(q, k, v, out=None, causal=False, scale=None, **config):
    """Contiguous."""
    o = torch.empty_like(q) if out is None else out
    ahead_kernel[grid_of(q, config)](q, k, v, o, q.shape[3] ** -0.5 if scale is None else scale, q.stride(1), q.stride(2),
                                     q.shape[2], D=q.shape[3], CAUSAL=causal, **config)
    return o
