"""Attention forward of models: shared heads of k, windows, heads that are no power of two, packed batches, decoding.

Functions take q, k and v as [batch, length, heads, head] (decoding and packed batches say otherwise) and a configuration, as in
attention_plain.py, and allocate what they return where nothing is given.
"""
import torch

import tegula as triton
import tegula.language as tl


# --- several heads of q share one of k; the layout of the projections; an optional window --------------


@triton.jit
def shared_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale_log2, Tq, Tk, q_b, q_t, q_h, k_b, k_t, k_h, o_b, o_t, o_h,
                  HQ: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, WINDOW: tl.constexpr, CAUSAL: tl.constexpr,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i_t = tl.program_id(0)
    i_b, i_h = tl.program_id(1) // HQ, tl.program_id(1) % HQ
    q_ptr += i_b * q_b + i_h * q_h
    k_ptr += i_b * k_b + (i_h // GROUP) * k_h
    v_ptr += i_b * k_b + (i_h // GROUP) * k_h
    o_ptr += i_b * o_b + i_h * o_h
    o_m = i_t * BLOCK_M + tl.arange(0, BLOCK_M)
    o_d = tl.arange(0, D)
    b_q = tl.load(q_ptr + o_m[:, None] * q_t + o_d[None, :], mask=(o_m < Tq)[:, None], other=0)
    b_o = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    b_m = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    b_acc = tl.zeros([BLOCK_M], dtype=tl.float32)
    begin = 0
    end = Tk
    if CAUSAL:
        end = min(Tk, (i_t + 1) * BLOCK_M)
    if WINDOW > 0:
        begin = max(0, (i_t * BLOCK_M - WINDOW + 1) // BLOCK_N * BLOCK_N)
    for i_s in range(begin, end, BLOCK_N):
        o_n = i_s + tl.arange(0, BLOCK_N)
        m_n = o_n < Tk
        b_k = tl.load(k_ptr + o_n[None, :] * k_t + o_d[:, None], mask=m_n[None, :], other=0)
        b_v = tl.load(v_ptr + o_n[:, None] * k_t + o_d[None, :], mask=m_n[:, None], other=0)
        b_s = tl.dot(b_q, b_k) * scale_log2
        seen = m_n[None, :]
        if CAUSAL:
            seen = seen & (o_m[:, None] >= o_n[None, :])
        if WINDOW > 0:
            seen = seen & (o_m[:, None] - o_n[None, :] < WINDOW)
        b_s = tl.where(seen, b_s, float("-inf"))
        b_mp = b_m
        b_m = tl.maximum(b_m, tl.max(b_s, 1))
        safe = tl.where(b_m == float("-inf"), 0.0, b_m)
        b_r = tl.exp2(b_mp - safe)
        b_p = tl.exp2(b_s - safe[:, None])
        b_acc = b_acc * b_r + tl.sum(b_p, 1)
        b_o = b_o * b_r[:, None] + tl.dot(b_p.to(b_q.dtype), b_v)
    b_o = b_o / b_acc[:, None]
    tl.store(o_ptr + o_m[:, None] * o_t + o_d[None, :], b_o.to(o_ptr.dtype.element_ty), mask=(o_m < Tq)[:, None])


def shared(q, k, v, out=None, causal=False, window=0, **config):
    o = torch.empty_like(q) if out is None else out
    batch, length, heads, head = q.shape
    grid = (triton.cdiv(length, config["BLOCK_M"]), batch * heads)
    shared_kernel[grid](q, k, v, o, head ** -0.5 * 1.4426950408889634, length, k.shape[1], *q.stride()[:3], *k.stride()[:3],
                        *o.stride()[:3], HQ=heads, GROUP=heads // k.shape[2], D=head, WINDOW=window, CAUSAL=causal, **config)
    return o


# --- a head that is no power of two, in a tile that is one -----------------------------------------------


@triton.jit
def padded_kernel(Q, K, V, O, scale, stride_b, stride_n, stride_h, N_CTX, H: tl.constexpr, HEAD: tl.constexpr,
                  BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    off_b = tl.program_id(1) // H
    off_h = tl.program_id(1) % H
    offset = off_b * stride_b + off_h * stride_h
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    mask_d = offs_d < HEAD
    q = tl.load(Q + offset + offs_m[:, None] * stride_n + offs_d[None, :], mask=(offs_m < N_CTX)[:, None] & mask_d[None, :], other=0.0)
    qk_scale = scale * 1.4426950408889634
    m_i = tl.zeros([BLOCK_M], tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    hi = tl.minimum((tl.program_id(0) + 1) * BLOCK_M, N_CTX) if CAUSAL else N_CTX
    for start_n in tl.range(0, hi, BLOCK_N):
        n = start_n + offs_n
        k = tl.load(K + offset + offs_d[:, None] + n[None, :] * stride_n, mask=mask_d[:, None] & (n < N_CTX)[None, :], other=0.0)
        qk = tl.dot(q, k)
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= n[None, :], qk, float("-inf"))
        else:
            qk = tl.where((n < N_CTX)[None, :], qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk * qk_scale - (m_ij * qk_scale)[:, None])
        alpha = tl.exp2((m_i - m_ij) * qk_scale)
        l_i = tl.fma(l_i, alpha, tl.sum(p, 1))
        v = tl.load(V + offset + n[:, None] * stride_n + offs_d[None, :], mask=(n < N_CTX)[:, None] & mask_d[None, :], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_ij
    tl.store(O + offset + offs_m[:, None] * stride_n + offs_d[None, :], (acc / l_i[:, None]).to(O.dtype.element_ty),
             mask=(offs_m < N_CTX)[:, None] & mask_d[None, :])


def padded(q, k, v, out=None, causal=False, native=False, **config):
    """All of one layout. `native` makes the tile as wide as the head, which upstream refuses unless that is a power of two."""
    o = torch.empty_like(q) if out is None else out
    batch, length, heads, head = q.shape
    padded_kernel[(triton.cdiv(length, config["BLOCK_M"]), batch * heads)](
        q, k, v, o, head ** -0.5, q.stride(0), q.stride(1), q.stride(2), length, H=heads, HEAD=head,
        BLOCK_D=head if native else triton.next_power_of_2(head), CAUSAL=causal, **config)
    return o


# --- a head in two parts, each a power of two: scores are the sum of two products ---------------------------


@triton.jit
def two_parts_kernel(Q, K, V, O, scale, stride_b, stride_n, stride_h, o_b, o_n, o_h, N_CTX, H: tl.constexpr,
                     D1: tl.constexpr, D2: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offset = tl.program_id(1) // H * stride_b + tl.program_id(1) % H * stride_h
    v_offset = tl.program_id(1) // H * o_b + tl.program_id(1) % H * o_h
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d1 = tl.arange(0, D1)
    d2 = D1 + tl.arange(0, D2)
    m_ok = (offs_m < N_CTX)[:, None]
    q1 = tl.load(Q + offset + offs_m[:, None] * stride_n + d1[None, :], mask=m_ok, other=0.0)
    q2 = tl.load(Q + offset + offs_m[:, None] * stride_n + d2[None, :], mask=m_ok, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D1], tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BLOCK_M, N_CTX) if CAUSAL else N_CTX
    for start_n in range(0, end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        n_ok = offs_n < N_CTX
        k1 = tl.load(K + offset + offs_n[None, :] * stride_n + d1[:, None], mask=n_ok[None, :], other=0.0)
        qk = tl.dot(q1, k1)
        k2 = tl.load(K + offset + offs_n[None, :] * stride_n + d2[:, None], mask=n_ok[None, :], other=0.0)
        qk += tl.dot(q2, k2)
        qk *= scale * 1.4426950408889634
        if CAUSAL:
            qk = tl.where(n_ok[None, :] & (offs_m[:, None] >= offs_n[None, :]), qk, float("-inf"))
        else:
            qk = tl.where(n_ok[None, :], qk, float("-inf"))
        n_max = tl.maximum(tl.max(qk, 1), m_i)
        re_scale = tl.exp2(m_i - n_max)
        p = tl.exp2(qk - n_max[:, None])
        acc *= re_scale[:, None]
        v = tl.load(V + v_offset + offs_n[:, None] * o_n + d1[None, :], mask=n_ok[:, None], other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        l_i = l_i * re_scale + tl.sum(p, 1)
        m_i = n_max
    tl.store(O + v_offset + offs_m[:, None] * o_n + d1[None, :], acc / l_i[:, None], mask=m_ok)


def two_parts(q, k, v, out=None, causal=False, **config):
    """The head of q and k is 1.5 times that of v, as where a part of it holds positions; q and k of one layout, v and out."""
    o = torch.empty_like(v) if out is None else out
    batch, length, heads, head = v.shape
    two_parts_kernel[(triton.cdiv(length, config["BLOCK_M"]), batch * heads)](
        q, k, v, o, q.shape[3] ** -0.5, *q.stride()[:3], *v.stride()[:3], length, H=heads, D1=head, D2=q.shape[3] - head,
        CAUSAL=causal, **config)
    return o


# --- scores on their side: k q^T, sums down the columns ---------------------------------------------------------


@triton.jit
def sideways_kernel(Q, K, V, O, scale, stride_b, stride_n, stride_h, N_CTX, H: tl.constexpr, D: tl.constexpr,
                    CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offset = tl.program_id(1) // H * stride_b + tl.program_id(1) % H * stride_h
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    qT = tl.load(Q + offset + rows[None, :] * stride_n + d[:, None], mask=rows[None, :] < N_CTX, other=0.0)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK_M if CAUSAL else N_CTX, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        k = tl.load(K + offset + cols[:, None] * stride_n + d[None, :], mask=cols[:, None] < N_CTX, other=0.0)
        v = tl.load(V + offset + cols[:, None] * stride_n + d[None, :], mask=cols[:, None] < N_CTX, other=0.0)
        sT = tl.dot(k, qT) * (scale * 1.4426950408889634)
        seen = cols[:, None] < N_CTX
        if CAUSAL:
            seen = seen & (cols[:, None] <= rows[None, :])
        sT = tl.where(seen, sT, float("-inf"))
        new = tl.maximum(m, tl.max(sT, axis=0))
        pT = tl.exp2(sT - new[None, :])
        shrink = tl.exp2(m - new)
        l = l * shrink + tl.sum(pT, axis=0)
        acc = acc * shrink[:, None]
        acc = tl.dot(tl.trans(pT.to(v.dtype)), v, acc)
        m = new
    tl.store(O + offset + rows[:, None] * stride_n + d[None, :], (acc / l[:, None]).to(O.dtype.element_ty),
             mask=rows[:, None] < N_CTX)


def sideways(q, k, v, out=None, causal=False, **config):
    """All of one layout."""
    o = torch.empty_like(q) if out is None else out
    batch, length, heads, head = q.shape
    sideways_kernel[(triton.cdiv(length, config["BLOCK_M"]), batch * heads)](
        q, k, v, o, head ** -0.5, *q.stride()[:3], length, H=heads, D=head, CAUSAL=causal, **config)
    return o


# --- scores bent by tanh before the softmax ------------------------------------------------------------------------


@triton.jit
def capped_kernel(Q, K, V, O, scale, cap, stride_b, stride_n, stride_h, N_CTX, H: tl.constexpr, D: tl.constexpr,
                  CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offset = tl.program_id(1) // H * stride_b + tl.program_id(1) % H * stride_h
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offset + offs_m[:, None] * stride_n + offs_d[None, :], mask=(offs_m < N_CTX)[:, None], other=0.0)
    e_max = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    deno = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    end = N_CTX if not CAUSAL else tl.minimum(N_CTX, (tl.program_id(0) + 1) * BLOCK_M)
    for start_n in range(0, end, BLOCK_N):
        mask_n = (start_n + offs_n) < N_CTX
        k = tl.load(K + offset + (start_n + offs_n)[None, :] * stride_n + offs_d[:, None], mask=mask_n[None, :], other=0.0)
        qk = tl.dot(q.to(k.dtype), k, out_dtype=tl.float32)
        qk *= scale
        qk = cap * (2 * tl.sigmoid(2 * (qk / cap)) - 1)
        final = mask_n[None, :]
        if CAUSAL:
            final &= offs_m[:, None] >= (start_n + offs_n[None, :])
        qk = tl.where(final, qk, float("-inf"))
        n_e_max = tl.maximum(tl.max(qk, 1), e_max)
        re_scale = tl.exp(e_max - n_e_max)
        p = tl.exp(qk - n_e_max[:, None])
        deno = deno * re_scale + tl.sum(p, 1)
        v = tl.load(V + offset + (start_n + offs_n)[:, None] * stride_n + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        p = p.to(v.dtype)
        acc = acc * re_scale[:, None] + tl.dot(p, v)
        e_max = n_e_max
    tl.store(O + offset + offs_m[:, None] * stride_n + offs_d[None, :], acc / deno[:, None], mask=(offs_m < N_CTX)[:, None])


def capped(q, k, v, out=None, causal=False, cap=20.0, **config):
    """All of one layout."""
    o = torch.empty_like(q) if out is None else out
    batch, length, heads, head = q.shape
    capped_kernel[(triton.cdiv(length, config["BLOCK_M"]), batch * heads)](
        q, k, v, o, head ** -0.5, cap, *q.stride()[:3], length, H=heads, D=head, CAUSAL=causal, **config)
    return o


# --- sequences of different lengths, one behind another -----------------------------------------------------------------


@triton.jit
def packed_kernel(Q, K, V, O, sm_scale, starts_ptr, stride_t, stride_h, D: tl.constexpr, BLOCK_M: tl.constexpr,
                  BLOCK_N: tl.constexpr):
    cur_batch = tl.program_id(0)
    cur_head = tl.program_id(1)
    start_m = tl.program_id(2)
    begin = tl.load(starts_ptr + cur_batch)
    seq_len = tl.load(starts_ptr + cur_batch + 1) - begin
    block_start = BLOCK_M * start_m
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    offs_m = block_start + tl.arange(0, BLOCK_M)
    off_q = (begin + offs_m[:, None]) * stride_t + cur_head * stride_h + offs_d[None, :]
    k_ptrs = K + offs_n[None, :] * stride_t + cur_head * stride_h + offs_d[:, None]
    v_ptrs = V + offs_n[:, None] * stride_t + cur_head * stride_h + offs_d[None, :]
    q = tl.load(Q + off_q, mask=offs_m[:, None] < seq_len, other=0.0)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    block_mask = tl.where(block_start < seq_len, 1, 0)
    end = tl.minimum((start_m + 1) * BLOCK_M, seq_len)
    for start_n in range(0, block_mask * end, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        k = tl.load(k_ptrs + (begin + start_n) * stride_t, mask=(start_n + offs_n[None, :]) < end, other=0.0)
        qk = tl.dot(q, k)
        mask = offs_m[:, None] >= (start_n + offs_n[None, :])
        qk = tl.where(mask, qk * sm_scale, -1.0e8)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        qk -= m_ij[:, None]
        p = tl.math.exp2(qk)
        l_ij = tl.sum(p, 1)
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + l_ij
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs + (begin + start_n) * stride_t, mask=(start_n + offs_n[:, None]) < end, other=0.0)
        p = p.to(v.dtype)
        acc = tl.dot(p, v, acc)
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(O + off_q, acc.to(O.dtype.element_ty), mask=offs_m[:, None] < seq_len)


def packed(q, k, v, starts, longest, out=None, **config):
    """[tokens, heads, head], all of one layout; `starts` are the first tokens of the sequences and the end, int32. Causal."""
    o = torch.empty_like(q) if out is None else out
    grid = (starts.shape[0] - 1, q.shape[1], triton.cdiv(longest, config["BLOCK_M"]))
    packed_kernel[grid](q, k, v, o, q.shape[2] ** -0.5 * 1.4426950408889634, starts, q.stride(0), q.stride(1), D=q.shape[2],
                        **config)
    return o


# --- decoding: one token of q a sequence, the heads that share one of k are the rows; k and v in pages ------------------------


@triton.jit
def paged_kernel(Q, K, V, O, table_ptr, lengths_ptr, scale, q_b, q_h, k_page, k_t, k_h, pages, GROUP: tl.constexpr,
                 D: tl.constexpr, PAGE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    seq = tl.program_id(0)
    kv_head = tl.program_id(1)
    length = tl.load(lengths_ptr + seq)
    h = tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    heads = kv_head * GROUP + h
    ok = h < GROUP
    q = tl.load(Q + seq * q_b + heads[:, None] * q_h + d[None, :], mask=ok[:, None], other=0.0)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start in range(0, length, BLOCK_N):
        t = start + tl.arange(0, BLOCK_N)
        in_range = t < length
        page = tl.load(table_ptr + seq * pages + t // PAGE, mask=in_range, other=0)
        place = page.to(tl.int64) * k_page + (t % PAGE) * k_t + kv_head * k_h
        k = tl.load(K + place[None, :] + d[:, None], mask=in_range[None, :], other=0.0)
        s = scale * tl.dot(q, k.to(q.dtype))
        s = tl.where(ok[:, None] & in_range[None, :], s, float("-inf"))
        m_new = tl.maximum(tl.max(s, 1), m)
        m_safe = tl.where(m_new > float("-inf"), m_new, 0.0)
        p = tl.exp(s - m_safe[:, None])
        alpha = tl.exp(m - m_safe)
        v = tl.load(V + place[:, None] + d[None, :], mask=in_range[:, None], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        l = l * alpha + tl.sum(p, 1)
        m = m_new
    tl.store(O + seq * q_b + heads[:, None] * q_h + d[None, :], acc / l[:, None], mask=ok[:, None])


def paged(q, k, v, table, lengths, out=None, **config):
    """q [sequences, heads, head]; k and v [pages, PAGE, heads of k, head]; table [sequences, pages of each], int32."""
    o = torch.empty_like(q) if out is None else out
    kv_heads = k.shape[2]
    paged_kernel[(q.shape[0], kv_heads)](q, k, v, o, table, lengths, q.shape[2] ** -0.5, q.stride(0), q.stride(1), *k.stride()[:3],
                                         table.shape[1], GROUP=q.shape[1] // kv_heads, D=q.shape[2], PAGE=k.shape[1], **config)
    return o
