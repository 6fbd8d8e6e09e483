"""FlashAttention forward and backward: causal or not, a sliding window, ALiBi slopes, grouped queries."""
import math

import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.heuristics({
    "EVEN_M": lambda args: args["seqlen_q"] % args["BLOCK_M"] == 0,
    "EVEN_N": lambda args: args["seqlen_k"] % args["BLOCK_N"] == 0,
})
@triton.jit
def _fwd_kernel(Q, K, V, Out, Lse, Alibi, softmax_scale, stride_qb, stride_qh, stride_qm, stride_kb, stride_kh, stride_kn,
                stride_vb, stride_vh, stride_vn, stride_ob, stride_oh, stride_om, nheads, groups, seqlen_q, seqlen_k,
                WINDOW: tl.constexpr, HAS_ALIBI: tl.constexpr, IS_CAUSAL: tl.constexpr, BLOCK_HEADDIM: tl.constexpr,
                EVEN_M: tl.constexpr, EVEN_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_m = tl.program_id(0)
    off_hb = tl.program_id(1)
    off_b = off_hb // nheads
    off_h = off_hb % nheads
    off_kvh = off_h // groups
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_HEADDIM)
    q_ptrs = Q + off_b * stride_qb + off_h * stride_qh + (offs_m[:, None] * stride_qm + offs_d[None, :])
    k_ptrs = K + off_b * stride_kb + off_kvh * stride_kh + (offs_n[:, None] * stride_kn + offs_d[None, :])
    v_ptrs = V + off_b * stride_vb + off_kvh * stride_vh + (offs_n[:, None] * stride_vn + offs_d[None, :])

    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc_o = tl.zeros([BLOCK_M, BLOCK_HEADDIM], dtype=tl.float32)
    if EVEN_M:
        q = tl.load(q_ptrs)
    else:
        q = tl.load(q_ptrs, mask=offs_m[:, None] < seqlen_q, other=0.0)
    if HAS_ALIBI:
        slope = tl.load(Alibi + off_h)
    qk_scale = softmax_scale * 1.44269504
    shift = seqlen_k - seqlen_q
    end_n = seqlen_k if not IS_CAUSAL else tl.minimum((start_m + 1) * BLOCK_M + shift, seqlen_k)
    begin_n = 0
    if WINDOW > 0:
        begin_n = tl.maximum(start_m * BLOCK_M + shift - WINDOW, 0) // BLOCK_N * BLOCK_N
    for start_n in range(begin_n, end_n, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        if EVEN_N:
            k = tl.load(k_ptrs + start_n * stride_kn)
        else:
            k = tl.load(k_ptrs + start_n * stride_kn, mask=(start_n + offs_n)[:, None] < seqlen_k, other=0.0)
        qk = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        qk += tl.dot(q, tl.trans(k))
        qk *= qk_scale
        cols = start_n + offs_n
        if HAS_ALIBI:
            qk -= slope * 1.44269504 * tl.abs(offs_m[:, None] + shift - cols[None, :]).to(tl.float32)
        if not EVEN_N:
            qk += tl.where(cols[None, :] < seqlen_k, 0, float("-inf"))
        if IS_CAUSAL:
            qk += tl.where(offs_m[:, None] + shift >= cols[None, :], 0, float("-inf"))
        if WINDOW > 0:
            qk += tl.where(offs_m[:, None] + shift - cols[None, :] <= WINDOW, 0, float("-inf"))
        m_ij = tl.maximum(tl.max(qk, 1), m_i)
        m_safe = tl.where(m_ij == float("-inf"), 0.0, m_ij)
        p = tl.math.exp2(qk - m_safe[:, None])
        l_ij = tl.sum(p, 1)
        alpha = tl.math.exp2(m_i - m_safe)
        l_i = l_i * alpha + l_ij
        acc_o = acc_o * alpha[:, None]
        if EVEN_N:
            v = tl.load(v_ptrs + start_n * stride_vn)
        else:
            v = tl.load(v_ptrs + start_n * stride_vn, mask=(start_n + offs_n)[:, None] < seqlen_k, other=0.0)
        p = p.to(v.dtype)
        acc_o += tl.dot(p, v)
        m_i = m_ij
    acc_o = acc_o / l_i[:, None]
    lse_i = m_i + tl.math.log2(l_i)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(Lse + off_hb * seqlen_q + offs_m, lse_i, mask=offs_m < seqlen_q)
    out_ptrs = Out + off_b * stride_ob + off_h * stride_oh + (offs_m[:, None] * stride_om + offs_d[None, :])
    tl.store(out_ptrs, acc_o, mask=offs_m[:, None] < seqlen_q)


@triton.jit
def _bwd_preprocess(Out, DO, Delta, stride_h, stride_m, seqlen, BLOCK_M: tl.constexpr, D: tl.constexpr):
    off_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    off_h = tl.program_id(1)
    off_d = tl.arange(0, D)
    at = off_h * stride_h + off_m[:, None] * stride_m + off_d[None, :]
    o = tl.load(Out + at, mask=off_m[:, None] < seqlen, other=0.0).to(tl.float32)
    do = tl.load(DO + at, mask=off_m[:, None] < seqlen, other=0.0).to(tl.float32)
    delta = tl.sum(o * do, axis=1)
    tl.store(Delta + off_h * seqlen + off_m, delta, mask=off_m < seqlen)


@triton.jit
def _probabilities(q, k, lse, offs_m, offs_n, slope, scale, shift, seqlen_q, seqlen_k, IS_CAUSAL: tl.constexpr,
                   WINDOW: tl.constexpr, HAS_ALIBI: tl.constexpr):
    qk = tl.dot(q, tl.trans(k)) * (scale * 1.44269504)
    if HAS_ALIBI:
        qk -= slope * 1.44269504 * tl.abs(offs_m[:, None] + shift - offs_n[None, :]).to(tl.float32)
    p = tl.math.exp2(qk - lse[:, None])
    keep = (offs_m[:, None] < seqlen_q) & (offs_n[None, :] < seqlen_k)
    if IS_CAUSAL:
        keep &= offs_m[:, None] + shift >= offs_n[None, :]
    if WINDOW > 0:
        keep &= offs_m[:, None] + shift - offs_n[None, :] <= WINDOW
    return tl.where(keep, p, 0.0)


@triton.jit
def _bwd_dkdv(Q, K, V, DO, DK, DV, Lse, Delta, Alibi, scale, stride_qh, stride_kh, stride_m, nheads, groups, seqlen_q, seqlen_k,
              IS_CAUSAL: tl.constexpr, WINDOW: tl.constexpr, HAS_ALIBI: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
              D: tl.constexpr):
    start_n = tl.program_id(0) * BLOCK_N
    off_kvh = tl.program_id(1)  # of all batches
    offs_n = start_n + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    kv_at = off_kvh * stride_kh + offs_n[:, None] * stride_m + offs_d[None, :]
    k = tl.load(K + kv_at, mask=offs_n[:, None] < seqlen_k, other=0.0)
    v = tl.load(V + kv_at, mask=offs_n[:, None] < seqlen_k, other=0.0)
    dk = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    shift = seqlen_k - seqlen_q
    for g in range(groups):
        off_h = off_kvh * groups + g
        slope = tl.load(Alibi + off_h % nheads) if HAS_ALIBI else 0.0
        for start_m in range(0, seqlen_q, BLOCK_M):
            offs_m = start_m + tl.arange(0, BLOCK_M)
            q_at = off_h * stride_qh + offs_m[:, None] * stride_m + offs_d[None, :]
            q = tl.load(Q + q_at, mask=offs_m[:, None] < seqlen_q, other=0.0)
            do = tl.load(DO + q_at, mask=offs_m[:, None] < seqlen_q, other=0.0)
            lse = tl.load(Lse + off_h * seqlen_q + offs_m, mask=offs_m < seqlen_q, other=0.0)
            delta = tl.load(Delta + off_h * seqlen_q + offs_m, mask=offs_m < seqlen_q, other=0.0)
            p = _probabilities(q, k, lse, offs_m, offs_n, slope, scale, shift, seqlen_q, seqlen_k, IS_CAUSAL, WINDOW, HAS_ALIBI)
            dv += tl.dot(tl.trans(p.to(do.dtype)), do)
            dp = tl.dot(do, tl.trans(v))
            ds = p * (dp - delta[:, None]) * scale
            dk += tl.dot(tl.trans(ds.to(q.dtype)), q)
    tl.store(DK + kv_at, dk, mask=offs_n[:, None] < seqlen_k)
    tl.store(DV + kv_at, dv, mask=offs_n[:, None] < seqlen_k)


@triton.jit
def _bwd_dq(Q, K, V, DO, DQ, Lse, Delta, Alibi, scale, stride_qh, stride_kh, stride_m, nheads, groups, seqlen_q, seqlen_k,
            IS_CAUSAL: tl.constexpr, WINDOW: tl.constexpr, HAS_ALIBI: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
            D: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    off_h = tl.program_id(1)
    offs_d = tl.arange(0, D)
    at = off_h * stride_qh + offs_m[:, None] * stride_m + offs_d[None, :]
    q = tl.load(Q + at, mask=offs_m[:, None] < seqlen_q, other=0.0)
    do = tl.load(DO + at, mask=offs_m[:, None] < seqlen_q, other=0.0)
    lse = tl.load(Lse + off_h * seqlen_q + offs_m, mask=offs_m < seqlen_q, other=0.0)
    delta = tl.load(Delta + off_h * seqlen_q + offs_m, mask=offs_m < seqlen_q, other=0.0)
    slope = tl.load(Alibi + off_h % nheads) if HAS_ALIBI else 0.0
    dq = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        kv_at = (off_h // groups) * stride_kh + offs_n[:, None] * stride_m + offs_d[None, :]
        k = tl.load(K + kv_at, mask=offs_n[:, None] < seqlen_k, other=0.0)
        v = tl.load(V + kv_at, mask=offs_n[:, None] < seqlen_k, other=0.0)
        p = _probabilities(q, k, lse, offs_m, offs_n, slope, scale, seqlen_k - seqlen_q, seqlen_q, seqlen_k, IS_CAUSAL, WINDOW, HAS_ALIBI)
        ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None]) * scale
        dq += tl.dot(ds.to(k.dtype), k)
    tl.store(DQ + at, dq, mask=offs_m[:, None] < seqlen_q)


class Attention(torch.autograd.Function):

    @staticmethod
    def forward(ctx, q, k, v, causal=False, window=0, alibi=None, scale=None, block=(16, 32)):
        batch, nheads, seqlen_q, d = q.shape
        _, kv_heads, seqlen_k, _ = k.shape
        assert q.stride(-1) == 1 and d in {16, 32, 64, 128}
        scale = scale or 1.0 / math.sqrt(d)
        o = torch.empty_like(q)
        lse = torch.empty((batch * nheads, seqlen_q), device=q.device, dtype=torch.float32)
        grid = lambda META: (triton.cdiv(seqlen_q, META["BLOCK_M"]), batch * nheads)
        _fwd_kernel[grid](q, k, v, o, lse, alibi, scale, *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *o.stride()[:3], nheads,
                          nheads // kv_heads, seqlen_q, seqlen_k, WINDOW=window, HAS_ALIBI=alibi is not None, IS_CAUSAL=causal,
                          BLOCK_HEADDIM=d, BLOCK_M=block[0], BLOCK_N=block[1], num_warps=4, num_stages=1)
        ctx.save_for_backward(q, k, v, o, lse, alibi)
        ctx.options = dict(IS_CAUSAL=causal, WINDOW=window, HAS_ALIBI=alibi is not None, BLOCK_M=16, BLOCK_N=16, D=d, num_warps=4)
        ctx.scale = scale
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, o, lse, alibi = ctx.saved_tensors
        do = do.contiguous()
        batch, nheads, seqlen_q, d = q.shape
        _, kv_heads, seqlen_k, _ = k.shape
        dq, dk, dv, delta = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), torch.empty_like(lse)
        _bwd_preprocess[(triton.cdiv(seqlen_q, 32), batch * nheads)](o, do, delta, o.stride(1), o.stride(2), seqlen_q, BLOCK_M=32, D=d)
        arguments = (lse, delta, alibi, ctx.scale, q.stride(1), k.stride(1), q.stride(2), nheads, nheads // kv_heads, seqlen_q, seqlen_k)
        _bwd_dkdv[(triton.cdiv(seqlen_k, 16), batch * kv_heads)](q, k, v, do, dk, dv, *arguments, **ctx.options)
        _bwd_dq[(triton.cdiv(seqlen_q, 16), batch * nheads)](q, k, v, do, dq, *arguments, **ctx.options)
        return dq, dk, dv, None, None, None, None


def reference(q, k, v, causal, window, alibi):
    groups, shift = q.shape[1] // k.shape[1], k.shape[2] - q.shape[2]
    k, v = (t.repeat_interleave(groups, dim=1) for t in (k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    distance = torch.arange(q.shape[2])[:, None] + shift - torch.arange(k.shape[2])[None, :]
    if alibi is not None:
        s = s - alibi[:, None, None] * distance.abs()
    if causal:
        s = s.masked_fill(distance < 0, float("-inf"))
    if window:
        s = s.masked_fill(distance > window, float("-inf"))
    return torch.softmax(s, -1) @ v


def compare(device, shape, kv_heads, seqlen_k=None, causal=False, window=0, slopes=False, dtype=torch.float16):
    batch, heads, seqlen, d = shape
    q = normal(*shape, device=device, dtype=dtype).requires_grad_()
    k, v = (normal(batch, kv_heads, seqlen_k or seqlen, d, device=device, dtype=dtype, seed=s).requires_grad_() for s in (1, 2))
    alibi = torch.tensor([2.0**-(i + 1) for i in range(heads)], device=device) if slopes else None
    o = Attention.apply(q, k, v, causal, window, alibi)
    do = normal(*shape, device=device, dtype=dtype, seed=3)
    o.backward(do)
    qd, kd, vd = (wide(t).requires_grad_() for t in (q, k, v))
    expected = reference(qd, kd, vd, causal, window, None if alibi is None else wide(alibi))
    expected.backward(wide(do))
    error = 2e-3 if dtype == torch.float16 else 2e-2
    close(o, expected, error)
    for actual, right in ((q, qd), (k, kd), (v, vd)):
        close(actual.grad, right.grad, 2 * error)


def check_causal(device):
    compare(device, (1, 2, 48, 16), 2, causal=True)


def check_odd_lengths_in_bfloat16(device):
    compare(device, (1, 1, 37, 32), 1, seqlen_k=53, dtype=torch.bfloat16)


def check_window_and_grouped_queries(device):
    compare(device, (1, 4, 40, 16), 2, causal=True, window=9)


def check_alibi(device):
    compare(device, (2, 2, 33, 16), 1, causal=True, slopes=True)
