"""Kernels of sequence models as their users write them: chunks of a gated delta rule and of a state space, decoding over a
compressed cache, attention over selected blocks and over a tree, rotary positions in sections."""
from typing import NamedTuple

import pytest
import torch

import tegula as triton
import tegula.language as tl


def normal(*shape, seed=0, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def close(actual, expected, tolerance):
    torch.testing.assert_close(actual.double(), expected.double(), rtol=tolerance, atol=tolerance)


# --- a gated delta rule by chunks --------------------------------------------------------------


@triton.jit
def exp_of_negative(x):
    return tl.exp(tl.where(x <= 0, x, float("-inf")))


@triton.heuristics({"HAS_START": lambda args: args["h0"] is not None, "IS_PACKED": lambda args: args["starts"] is not None})
@triton.autotune(configs=[triton.Config({"BV": 16}, num_warps=2, num_stages=1)], key=["H", "K", "V", "BT"])
@triton.jit(do_not_specialize=["T"])
def delta_kernel(q, k, v, g, beta, o, h0, ht, starts, scale, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BT: tl.constexpr,
                 BV: tl.constexpr, HAS_START: tl.constexpr, IS_PACKED: tl.constexpr):
    i_v, i_nh = tl.program_id(0), tl.program_id(1)
    i_n, i_h = i_nh // H, i_nh % H
    if IS_PACKED:
        bos, eos = tl.load(starts + i_n).to(tl.int32), tl.load(starts + i_n + 1).to(tl.int32)
        T = eos - bos
    else:
        bos = i_n * T
    q += (bos * H + i_h) * K
    k += (bos * H + i_h) * K
    v += (bos * H + i_h) * V
    o += (bos * H + i_h) * V
    g += bos * H + i_h
    beta += bos * H + i_h
    o_t = tl.arange(0, BT)
    lower = o_t[:, None] > o_t[None, :]
    b_h = tl.zeros([K, BV], dtype=tl.float32)
    if HAS_START:
        p_h = tl.make_block_ptr(h0 + i_nh * K * V, (K, V), (V, 1), (0, i_v * BV), (K, BV), (1, 0))
        b_h += tl.load(p_h, boundary_check=(0, 1)).to(tl.float32)
    for i_t in range(tl.cdiv(T, BT)):
        p_q = tl.make_block_ptr(q, (T, K), (H * K, 1), (i_t * BT, 0), (BT, K), (1, 0))
        p_k = tl.make_block_ptr(k, (T, K), (H * K, 1), (i_t * BT, 0), (BT, K), (1, 0))
        p_kt = tl.make_block_ptr(k, (K, T), (1, H * K), (0, i_t * BT), (K, BT), (0, 1))
        p_v = tl.make_block_ptr(v, (T, V), (H * V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
        p_o = tl.make_block_ptr(o, (T, V), (H * V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
        p_g = tl.make_block_ptr(g, (T,), (H,), (i_t * BT,), (BT,), (0,))
        p_b = tl.make_block_ptr(beta, (T,), (H,), (i_t * BT,), (BT,), (0,))
        b_q = (tl.load(p_q, boundary_check=(0, 1)).to(tl.float32) * scale).to(p_q.dtype.element_ty)
        b_k, b_kt = tl.load(p_k, boundary_check=(0, 1)), tl.load(p_kt, boundary_check=(0, 1))
        b_g = tl.cumsum(tl.load(p_g, boundary_check=(0,)).to(tl.float32), axis=0)
        b_b = tl.load(p_b, boundary_check=(0,)).to(tl.float32)
        last = tl.sum(tl.where(o_t == BT - 1, b_g, 0.0), 0)
        decay = exp_of_negative(b_g[:, None] - b_g[None, :])
        # The inverse of a unit lower triangle, a row after the other.
        b_a = -tl.where(lower, tl.dot(b_k, b_kt, input_precision="ieee") * decay * b_b[:, None], 0.0)
        for i in range(1, BT):
            row = tl.sum(tl.where((o_t == i)[:, None], b_a, 0.0), 0)
            row = row + tl.sum(row[:, None] * b_a, 0) * (o_t < i)
            b_a = tl.where((o_t == i)[:, None], row[None, :], b_a)
        b_a += o_t[:, None] == o_t[None, :]
        b_v = tl.load(p_v, boundary_check=(0, 1)).to(tl.float32)
        b_r = b_v - tl.dot(b_k, b_h.to(b_k.dtype), input_precision="ieee") * tl.exp(b_g)[:, None]
        b_u = tl.dot(b_a, b_r * b_b[:, None], input_precision="ieee")
        b_s = tl.where(o_t[:, None] >= o_t[None, :], tl.dot(b_q, b_kt, input_precision="ieee") * decay, 0.0)
        b_o = tl.dot(b_q, b_h.to(b_q.dtype), input_precision="ieee") * tl.exp(b_g)[:, None]
        b_o += tl.dot(b_s.to(b_k.dtype), b_u.to(b_k.dtype), input_precision="ieee")
        tl.store(p_o, b_o.to(p_o.dtype.element_ty), boundary_check=(0, 1))
        b_h *= tl.exp(last)
        b_h += tl.dot(b_kt, (b_u * tl.exp(last - b_g)[:, None]).to(b_k.dtype), input_precision="ieee")
    p_h = tl.make_block_ptr(ht + i_nh * K * V, (K, V), (V, 1), (0, i_v * BV), (K, BV), (1, 0))
    tl.store(p_h, b_h.to(p_h.dtype.element_ty), boundary_check=(0, 1))


def delta_rule(q, k, v, g, beta, h0=None, starts=None, chunk=16):
    B, T, H, K, V = *k.shape, v.shape[-1]
    N = B if starts is None else len(starts) - 1
    o, ht = torch.full_like(v, float("nan")), torch.full((N, H, K, V), float("nan"))
    grid = lambda meta: (triton.cdiv(V, meta["BV"]), N * H)
    delta_kernel[grid](q, k, v, g, beta, o, h0, ht, starts, K**-0.5, T, H=H, K=K, V=V, BT=chunk)
    return o, ht


def delta_rule_step_by_step(q, k, v, g, beta, h):
    q, k, v, g, beta, h = (x.double() for x in (q, k, v, g, beta, h))
    out = torch.empty_like(v)
    for t in range(len(q)):
        h = h * g[t].exp()[:, None, None]
        u = beta[t][:, None] * (v[t] - torch.einsum("hkv,hk->hv", h, k[t]))
        h = h + torch.einsum("hk,hv->hkv", k[t], u)
        out[t] = torch.einsum("hkv,hk->hv", h, q[t]) * q.shape[-1]**-0.5
    return out, h


@pytest.mark.parametrize("lengths, dtype, start", [((37,), torch.float32, True), ((5, 0, 33), torch.float16, False)], ids=str)
def test_gated_delta_rule(target, lengths, dtype, start):
    total, H, K, V = sum(lengths), 2, 16, 24
    q, k = (torch.nn.functional.normalize(normal(1, total, H, K, seed=s), dim=-1).to(dtype) for s in (1, 2))
    v, beta = normal(1, total, H, V, seed=3, dtype=dtype), torch.sigmoid(normal(1, total, H, seed=4)).to(dtype)
    g = torch.nn.functional.logsigmoid(normal(1, total, H, seed=5))
    h0 = normal(len(lengths), H, K, V, seed=6) if start else None
    starts = torch.tensor([sum(lengths[:i]) for i in range(len(lengths) + 1)]) if len(lengths) > 1 else None
    o, ht = delta_rule(q, k, v, g, beta, h0, starts)
    at = 0
    for i, length in enumerate(lengths):
        part = slice(at, at + length)
        h = h0[i] if start else torch.zeros(H, K, V)
        expected, last = delta_rule_step_by_step(q[0, part], k[0, part], v[0, part], g[0, part], beta[0, part], h)
        close(o[0, part], expected, 1e-5 if dtype == torch.float32 else 5e-3)
        close(ht[i], last, 1e-5 if dtype == torch.float32 else 5e-3)
        at += length


# --- a state space by chunks (Mamba 2) ---------------------------------------------------------


@triton.jit
def softplus(x):
    return tl.where(x <= 20.0, tl.math.log(tl.math.exp(x) + 1), x)


@triton.jit
def chunk_cumsum_kernel(dt_ptr, A_ptr, bias_ptr, dA_ptr, dt_out_ptr, seqlen, nheads, stride_dt_b, stride_dt_s, stride_dt_h, stride_o_b,
                        stride_o_h, stride_o_c, HAS_BIAS: tl.constexpr, CHUNK: tl.constexpr, BLOCK_H: tl.constexpr):
    b, c, h = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.program_id(2)
    offs_h, offs_s = h * BLOCK_H + tl.arange(0, BLOCK_H), tl.arange(0, CHUNK)
    inside = (offs_h[:, None] < nheads) & (offs_s[None, :] < seqlen - c * CHUNK)
    dt = tl.load(dt_ptr + b * stride_dt_b + (offs_h[:, None] * stride_dt_h + (c * CHUNK + offs_s[None, :]) * stride_dt_s), mask=inside,
                 other=0.0).to(tl.float32)
    if HAS_BIAS:
        dt += tl.load(bias_ptr + offs_h, mask=offs_h < nheads, other=0.0).to(tl.float32)[:, None]
    dt = tl.where(inside, tl.clamp(softplus(dt), 0.0, 10.0), 0.0)
    out = b * stride_o_b + offs_h[:, None] * stride_o_h + c * stride_o_c + offs_s[None, :]
    tl.store(dt_out_ptr + out, dt, mask=offs_h[:, None] < nheads)
    A = tl.load(A_ptr + offs_h, mask=offs_h < nheads, other=0.0).to(tl.float32)
    tl.store(dA_ptr + out, tl.cumsum(dt * A[:, None], axis=1), mask=offs_h[:, None] < nheads)


@triton.jit
def chunk_scan_kernel(x_ptr, dt_ptr, dA_ptr, B_ptr, C_ptr, D_ptr, z_ptr, out_ptr, seqlen, chunks, heads, ratio, strides_x, strides_b,
                      strides_dt, P: tl.constexpr, N: tl.constexpr, CHUNK: tl.constexpr, BLOCK_P: tl.constexpr, HAS_D: tl.constexpr,
                      HAS_Z: tl.constexpr):
    pid_p, pid_bh = tl.program_id(0), tl.program_id(1)
    b, h = pid_bh // heads, pid_bh % heads
    stride_x_b, stride_x_s, stride_x_h, stride_x_p = strides_x
    offs_p, offs_n, offs_s = pid_p * BLOCK_P + tl.arange(0, BLOCK_P), tl.arange(0, N), tl.arange(0, CHUNK)
    state = tl.zeros((N, BLOCK_P), dtype=tl.float32)
    for c in range(chunks):
        s = c * CHUNK + offs_s
        on = s < seqlen
        x_at = b * stride_x_b + s[:, None] * stride_x_s + h * stride_x_h + offs_p[None, :] * stride_x_p
        x_on = on[:, None] & (offs_p < P)[None, :]
        x = tl.load(x_ptr + x_at, mask=x_on, other=0.0)
        bc = b * strides_b[0] + (h // ratio) * strides_b[2]
        B = tl.load(B_ptr + bc + s[None, :] * strides_b[1] + offs_n[:, None], mask=on[None, :], other=0.0)
        C = tl.load(C_ptr + bc + s[:, None] * strides_b[1] + offs_n[None, :], mask=on[:, None], other=0.0)
        at = b * strides_dt[0] + h * strides_dt[1] + c * strides_dt[2] + offs_s
        dt, dA = tl.load(dt_ptr + at), tl.load(dA_ptr + at)
        last = tl.load(dA_ptr + b * strides_dt[0] + h * strides_dt[1] + c * strides_dt[2] + CHUNK - 1)
        acc = tl.dot(C, state.to(C.dtype), input_precision="ieee") * tl.exp(dA)[:, None]
        scores = tl.dot(C, B, input_precision="ieee")
        scores *= tl.exp(tl.minimum(dA[:, None] - dA[None, :], 0.0)) * dt[None, :]
        scores = tl.where(offs_s[:, None] >= offs_s[None, :], scores, 0.0)
        acc += tl.dot(scores.to(x.dtype), x, input_precision="ieee")
        if HAS_D:
            acc += x * tl.load(D_ptr + h).to(tl.float32)
        if HAS_Z:
            z = tl.load(z_ptr + x_at, mask=x_on, other=0.0).to(tl.float32)
            acc *= z * tl.sigmoid(z)
        tl.store(out_ptr + x_at, acc, mask=x_on)
        keep = (dt * tl.exp(last - dA))[None, :] * B
        state = state * tl.exp(last) + tl.dot(keep.to(x.dtype), x, input_precision="ieee")


def state_space(x, dt, A, B, C, D=None, z=None, bias=None, chunk=16):
    (batch, seqlen, heads, P), groups, N = x.shape, B.shape[2], B.shape[3]
    chunks = triton.cdiv(seqlen, chunk)
    dA, dts = (torch.empty(batch, heads, chunks, chunk) for _ in range(2))
    out = torch.full_like(x, float("nan"))
    chunk_cumsum_kernel[(batch, chunks, triton.cdiv(heads, 2))](dt, A, bias, dA, dts, seqlen, heads, *dt.stride(), *dA.stride()[:3],
                                                               HAS_BIAS=bias is not None, CHUNK=chunk, BLOCK_H=2)
    grid = lambda meta: (triton.cdiv(P, meta["BLOCK_P"]), batch * heads)
    chunk_scan_kernel[grid](x, dts, dA, B, C, D, z, out, seqlen, chunks, heads, heads // groups, x.stride(), B.stride(), dA.stride(), P=P,
                            N=N, CHUNK=chunk, BLOCK_P=16, HAS_D=D is not None, HAS_Z=z is not None)
    return out


@pytest.mark.parametrize("seqlen, dtype, more", [(1, torch.float32, False), (45, torch.float16, True)], ids=str)
def test_state_space_by_chunks(target, seqlen, dtype, more):
    batch, heads, groups, P, N = 1, 3, 1, 20, 16
    x = normal(batch, heads, seqlen, P, seed=1, dtype=dtype).transpose(1, 2)  # not contiguous
    dt, A = normal(batch, seqlen, heads, seed=2, scale=0.5), -torch.rand(heads, generator=torch.Generator().manual_seed(3))
    B, C = (normal(batch, seqlen, groups, N, seed=s, dtype=dtype, scale=0.3) for s in (4, 5))
    D, z, bias = (normal(heads, seed=6), normal(*x.shape, seed=7, dtype=dtype).as_strided(x.shape, x.stride()), normal(heads, seed=8)) \
        if more else (None, None, None)
    out = state_space(x, dt, A, B, C, D, z, bias)
    steps = torch.nn.functional.softplus(dt.double() + (bias if more else 0)).clamp(0, 10)
    state, expected = torch.zeros(batch, heads, N, P).double(), torch.empty(x.shape).double()
    for t in range(seqlen):
        Bt, Ct = (y[:, t].double().repeat_interleave(heads // groups, 1) for y in (B, C))
        state = state * (steps[:, t] * A)[..., None, None].exp() + (steps[:, t, :, None] * Bt)[..., None] * x[:, t].double()[:, :, None, :]
        expected[:, t] = torch.einsum("bhn,bhnp->bhp", Ct, state)
    if more:
        expected = (expected + x.double() * D[:, None]) * torch.nn.functional.silu(z.double())
    close(out, expected, 1e-5 if dtype == torch.float32 else 8e-3)


# --- decoding over a compressed cache, keys split ----------------------------------------------


@triton.jit
def latent_decode_kernel(Q, KV, Req_to_tokens, B_Seqlen, Mid_O, Mid_LSE, sm_scale, stride_req, stride_qb, stride_qh, stride_kv, stride_mb,
                         stride_mh, stride_ms, HEADS: tl.constexpr, SPLITS: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr,
                         RANK: tl.constexpr, ROPE: tl.constexpr, logit_cap: tl.constexpr):
    batch, head_id, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    heads = head_id * BLOCK_H + tl.arange(0, BLOCK_H)
    mask_h = heads < HEADS
    offs_d, offs_r = tl.arange(0, RANK), RANK + tl.arange(0, ROPE)
    seq_len = tl.load(B_Seqlen + batch)
    per_split = tl.cdiv(seq_len, SPLITS)
    start = per_split * split
    end = tl.minimum(start + per_split, seq_len)
    e_max = tl.zeros([BLOCK_H], dtype=tl.float32) - float("inf")
    e_sum = tl.zeros([BLOCK_H], dtype=tl.float32)
    acc = tl.zeros([BLOCK_H, RANK], dtype=tl.float32)
    if end > start:
        q = tl.load(Q + batch * stride_qb + heads[:, None] * stride_qh + offs_d[None, :], mask=mask_h[:, None], other=0.0)
        q_rope = tl.load(Q + batch * stride_qb + heads[:, None] * stride_qh + offs_r[None, :], mask=mask_h[:, None], other=0.0)
        for n in range(start, end, BLOCK_N):
            offs_n = n + tl.arange(0, BLOCK_N)
            place = tl.load(Req_to_tokens + stride_req * batch + offs_n, mask=offs_n < end, other=0)
            kv = tl.load(KV + place[None, :] * stride_kv + offs_d[:, None], mask=offs_n[None, :] < end, other=0.0)
            k_rope = tl.load(KV + place[None, :] * stride_kv + offs_r[:, None], mask=offs_n[None, :] < end, other=0.0)
            qk = tl.dot(q, kv.to(q.dtype))
            qk += tl.dot(q_rope, k_rope.to(q.dtype))
            qk *= sm_scale
            if logit_cap > 0:
                qk = logit_cap * (2 * tl.sigmoid(2 * qk / logit_cap) - 1)
            qk = tl.where(mask_h[:, None] & (offs_n[None, :] < end), qk, float("-inf"))
            n_max = tl.maximum(tl.max(qk, 1), e_max)
            rescale, p = tl.exp(e_max - n_max), tl.exp(qk - n_max[:, None])
            acc = acc * rescale[:, None] + tl.dot(p.to(kv.dtype), tl.trans(kv))
            e_sum = e_sum * rescale + tl.sum(p, 1)
            e_max = n_max
        at = batch * stride_mb + heads * stride_mh + split * stride_ms
        tl.store(Mid_O + at[:, None] * RANK + offs_d[None, :], acc / e_sum[:, None], mask=mask_h[:, None])
        tl.store(Mid_LSE + at, e_max + tl.log(e_sum), mask=mask_h)


@triton.jit
def latent_reduce_kernel(Mid_O, Mid_LSE, O, B_Seqlen, stride_mb, stride_mh, stride_ms, stride_ob, stride_oh, SPLITS: tl.constexpr,
                         RANK: tl.constexpr):
    batch, head = tl.program_id(0), tl.program_id(1)
    seq_len = tl.load(B_Seqlen + batch)
    offs_d = tl.arange(0, RANK)
    e_sum, e_max = 0.0, -float("inf")
    acc = tl.zeros([RANK], dtype=tl.float32)
    for split in range(0, SPLITS):
        per_split = tl.cdiv(seq_len, SPLITS)
        if tl.minimum(per_split * split + per_split, seq_len) > per_split * split:
            at = batch * stride_mb + head * stride_mh + split * stride_ms
            tv, lse = tl.load(Mid_O + at * RANK + offs_d), tl.load(Mid_LSE + at)
            n_max = tl.maximum(lse, e_max)
            old = tl.exp(e_max - n_max)
            acc *= old
            new = tl.exp(lse - n_max)
            acc += new * tv
            e_sum = e_sum * old + new
            e_max = n_max
    tl.store(O + batch * stride_ob + head * stride_oh + offs_d, acc / e_sum)


@pytest.mark.parametrize("cap", [0, 5.0])
def test_decoding_over_a_compressed_cache(target, cap):
    lengths, heads, rank, rope, splits = [1, 37, 70], 20, 32, 16, 4
    tokens = sum(lengths)
    cache = normal(tokens + 9, rank + rope, seed=1, dtype=torch.float16)
    q = normal(len(lengths), heads, rank + rope, seed=2, dtype=torch.float16)
    table = torch.zeros(len(lengths), max(lengths), dtype=torch.int32)
    free = torch.randperm(tokens + 9, generator=torch.Generator().manual_seed(3)).int()
    for i, length in enumerate(lengths):
        table[i, :length] = free[sum(lengths[:i]):][:length]
    mid_o = torch.full((len(lengths), heads, splits, rank), float("nan"))
    mid_lse = torch.full((len(lengths), heads, splits), float("nan"))
    o, sizes = torch.full((len(lengths), heads, rank), float("nan"), dtype=torch.float16), torch.tensor(lengths, dtype=torch.int32)
    latent_decode_kernel[(len(lengths), triton.cdiv(heads, 16), splits)](
        q, cache, table, sizes, mid_o, mid_lse, (rank + rope)**-0.5, table.stride(0), q.stride(0), q.stride(1), cache.stride(0),
        *mid_lse.stride(), HEADS=heads, SPLITS=splits, BLOCK_H=16, BLOCK_N=16, RANK=rank, ROPE=rope, logit_cap=cap, num_stages=2)
    latent_reduce_kernel[(len(lengths), heads)](mid_o, mid_lse, o, sizes, *mid_lse.stride(), *o.stride()[:2], SPLITS=splits, RANK=rank)
    for i, length in enumerate(lengths):
        kv = cache[table[i, :length].long()].double()
        scores = q[i].double() @ kv.T * (rank + rope)**-0.5
        scores = cap * torch.tanh(scores / cap) if cap else scores
        close(o[i], scores.softmax(-1) @ kv[:, :rank], 4e-3)


# --- attention over the blocks that score best -------------------------------------------------


@triton.jit
def selected_blocks_kernel(q_ptr, k_ptr, v_ptr, mean_ptr, chosen_ptr, out_ptr, seqlen, blocks, scale, D: tl.constexpr, G: tl.constexpr,
                           BLOCK: tl.constexpr, BLOCKS: tl.constexpr, TOP: tl.constexpr):
    t = tl.program_id(0)
    offs_g, offs_d, offs_n, offs_b = tl.arange(0, G), tl.arange(0, D), tl.arange(0, BLOCK), tl.arange(0, BLOCKS)
    q = tl.load(q_ptr + (t * G + offs_g[:, None]) * D + offs_d[None, :]).to(tl.float32) * scale
    mean = tl.load(mean_ptr + offs_b[:, None] * D + offs_d[None, :], mask=offs_b[:, None] < blocks, other=0.0).to(tl.float32)
    own = t // BLOCK
    score = tl.sum(tl.sum(q[:, None, :] * mean[None, :, :], axis=2), axis=0)
    score = tl.where(offs_b == own, float("inf"), tl.where(offs_b < own, score, float("-inf")))
    # A score and its block in one number: the bits of a float rise with it once the negative ones are turned around.
    bits = score.to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64) << 32 | offs_b
    best = tl.topk(key, TOP)
    chosen = (best & 0xFFFFFFFF).to(tl.int32)
    tl.store(chosen_ptr + t * TOP + tl.arange(0, TOP), tl.where(chosen <= own, chosen, -1))
    tl.debug_barrier()
    m_i, l_i = tl.full([G], float("-inf"), tl.float32), tl.zeros([G], tl.float32)
    acc = tl.zeros([G, D], tl.float32)
    for i in range(TOP):
        block = tl.load(chosen_ptr + t * TOP + i)
        if block >= 0:
            n = block * BLOCK + offs_n
            k = tl.load(k_ptr + n[:, None] * D + offs_d[None, :], mask=n[:, None] <= t, other=0.0)
            v = tl.load(v_ptr + n[:, None] * D + offs_d[None, :], mask=n[:, None] <= t, other=0.0)
            s = tl.where((n <= t)[None, :], tl.dot(q.to(k.dtype), k.T), float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, 1))
            alpha = tl.math.exp(m_i - m_new)
            p = tl.math.exp(s - m_new[:, None])
            l_i = l_i * alpha + tl.sum(p, 1)
            acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
            m_i = m_new
    tl.store(out_ptr + (t * G + offs_g[:, None]) * D + offs_d[None, :], (acc / l_i[:, None]).to(out_ptr.dtype.element_ty))


def test_attention_over_selected_blocks(target):
    seqlen, G, D, block, top = 75, 16, 16, 16, 2
    q, k, v = (normal(seqlen, *more, D, seed=s, dtype=torch.bfloat16) for s, more in ((1, (G,)), (2, ()), (3, ())))
    blocks = triton.cdiv(seqlen, block)
    mean = torch.stack([part.float().mean(0) for part in k.split(block)]).to(torch.bfloat16)
    chosen, out = torch.full((seqlen, top), -7, dtype=torch.int32), torch.full_like(q, float("nan"))
    selected_blocks_kernel[(seqlen,)](q, k, v, mean, chosen, out, seqlen, blocks, D**-0.5, D=D, G=G, BLOCK=block,
                                      BLOCKS=triton.next_power_of_2(blocks), TOP=top)
    score = (q.float().sum(1) * D**-0.5 @ mean.float().T).double()
    for t in range(seqlen):
        best = sorted(range(t // block), key=lambda b: -score[t, b])[:top - 1]
        expected = [t // block, *best] + [-1] * (top - 1 - len(best))
        assert chosen[t].tolist() == expected
        places = torch.tensor([n for b in expected if b >= 0 for n in range(b * block, min(b * block + block, t + 1))])
        weights = (q[t].double() @ k[places].double().T * D**-0.5).softmax(-1)
        close(out[t], weights @ v[places].double(), 3e-2)


# --- attention over a tree of drafted tokens ---------------------------------------------------


@triton.jit
def ancestors_kernel(parent_ptr, words_ptr, depth_ptr, nodes, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    on = i < nodes
    words = tl.full([BLOCK], 1, tl.uint64) << i.to(tl.uint64)
    at = tl.load(parent_ptr + i, mask=on, other=-1)
    depth = tl.zeros([BLOCK], tl.int32)
    while tl.max(at) >= 0:
        words |= tl.where(at >= 0, tl.full([BLOCK], 1, tl.uint64) << tl.maximum(at, 0).to(tl.uint64), 0)
        depth += (at >= 0).to(tl.int32)
        at = tl.load(parent_ptr + at, mask=at >= 0, other=-1)
    tl.store(words_ptr + i, words.to(tl.int64, bitcast=True), mask=on)
    tl.store(depth_ptr + i, depth, mask=on)


@triton.jit
def tree_attention_kernel(q_ptr, k_ptr, v_ptr, words_ptr, out_ptr, prefix, nodes, scale, D: tl.constexpr, BLOCK_M: tl.constexpr,
                          BLOCK_N: tl.constexpr):
    m, d = tl.arange(0, BLOCK_M), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :], mask=m[:, None] < nodes, other=0.0)
    words = tl.load(words_ptr + m, mask=m < nodes, other=1)
    top, total = tl.full([BLOCK_M], float("-inf"), tl.float32), tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start in tl.range(0, prefix + nodes, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + n[None, :] * D + d[:, None], mask=(n < prefix + nodes)[None, :], other=0.0)
        v = tl.load(v_ptr + n[:, None] * D + d[None, :], mask=(n < prefix + nodes)[:, None], other=0.0)
        node = tl.maximum(n - prefix, 0)
        seen = (n < prefix)[None, :] | ((((words[:, None] >> node[None, :]) & 1) != 0) & (n >= prefix)[None, :])
        seen &= (n < prefix + nodes)[None, :]
        s = tl.where(seen, tl.dot(q, k) * (scale * 1.44269504), -1.0e6)
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new[:, None])
        acc = acc * tl.exp2(top - new)[:, None] + tl.dot(p.to(v.dtype), v)
        total = total * tl.exp2(top - new) + tl.sum(p, axis=1)
        top = new
    tl.store(out_ptr + m[:, None] * D + d[None, :], acc / total[:, None], mask=m[:, None] < nodes)


@pytest.mark.parametrize("prefix, nodes", [(0, 1), (21, 40)])
def test_attention_over_a_tree(target, prefix, nodes):
    generator, D = torch.Generator().manual_seed(nodes), 32
    parent = torch.tensor([-1] + [int(torch.randint(0, i, (1,), generator=generator)) for i in range(1, nodes)], dtype=torch.int32)
    q, k, v = (normal(length, D, seed=s, dtype=torch.float16) for s, length in ((1, nodes), (2, prefix + nodes), (3, prefix + nodes)))
    words, depth = torch.zeros(nodes, dtype=torch.int64), torch.zeros(nodes, dtype=torch.int32)
    out = torch.full((nodes, D), float("nan"))
    ancestors_kernel[(1,)](parent, words, depth, nodes, BLOCK=64)
    tree_attention_kernel[(1,)](q, k, v, words, out, prefix, nodes, D**-0.5, D=D, BLOCK_M=64, BLOCK_N=32)
    for i in range(nodes):
        line, node = [], i
        while node >= 0:
            line, node = [node, *line], int(parent[node])
        assert int(words[i]) & (2**64 - 1) == sum(1 << node for node in line) and int(depth[i]) == len(line) - 1
        places = torch.tensor([*range(prefix), *(prefix + node for node in line)])
        close(out[i], (q[i].double() @ k[places].double().T * D**-0.5).softmax(-1) @ v[places].double(), 3e-3)


# --- rotary positions: part of a head, sections of time, height and width ----------------------


class Strides(NamedTuple):
    token: int
    head: int


@triton.jit
def rotate(x_ptr, cos, sin, at, half: tl.constexpr, mask, INTERLEAVED: tl.constexpr):
    if INTERLEAVED:
        first, second = 2 * at, 2 * at + 1
    else:
        first, second = at, at + half
    x, y = tl.load(x_ptr + first, mask=mask, other=0).to(tl.float32), tl.load(x_ptr + second, mask=mask, other=0).to(tl.float32)
    tl.store(x_ptr + first, (x * cos - y * sin).to(x_ptr.dtype.element_ty), mask=mask)
    tl.store(x_ptr + second, (y * cos + x * sin).to(x_ptr.dtype.element_ty), mask=mask)


@triton.jit
def sections_rotary_kernel(q_ptr, k_ptr, cos_ptr, sin_ptr, q_strides, k_strides, tokens, Q_HEADS: tl.constexpr, KV_HEADS: tl.constexpr,
                           ROTARY: tl.constexpr, SECTIONS: tl.constexpr, PAD: tl.constexpr, INTERLEAVED: tl.constexpr):
    tl.static_assert(len(SECTIONS) == 3, "time, height and width")
    tl.static_assert(SECTIONS[0] + SECTIONS[1] + SECTIONS[2] == ROTARY // 2, "the sections fill half of the rotary part")
    token, half = tl.program_id(0), ROTARY // 2
    at = tl.arange(0, PAD)
    kind = tl.zeros([PAD], tl.int32)
    edge = 0
    for i in tl.static_range(len(SECTIONS)):
        kind = tl.where((at >= edge) & (at < edge + SECTIONS[i]), i, kind)
        edge += SECTIONS[i]
    cos = tl.load(cos_ptr + (kind * tokens + token) * half + at, mask=at < half, other=1).to(tl.float32)
    sin = tl.load(sin_ptr + (kind * tokens + token) * half + at, mask=at < half, other=0).to(tl.float32)
    for head in range(Q_HEADS):
        rotate(q_ptr + token * q_strides.token + head * q_strides.head, cos, sin, at, half, at < half, INTERLEAVED)
    for head in range(KV_HEADS):
        rotate(k_ptr + token * k_strides.token + head * k_strides.head, cos, sin, at, half, at < half, INTERLEAVED)


@pytest.mark.parametrize("tokens, interleaved, dtype", [(0, False, torch.float16), (1, True, torch.float64), (7, False, torch.bfloat16)])
def test_rotary_positions_in_sections(target, tokens, interleaved, dtype):
    heads, kv_heads, head, rotary, sections = 3, 1, 80, 40, (4, 10, 6)
    q = normal(tokens, heads, head, seed=1, dtype=dtype)
    k = normal(kv_heads, tokens, head, seed=2, dtype=dtype).transpose(0, 1)
    angle = normal(3, tokens, rotary // 2, seed=3)
    cos, sin = angle.cos(), angle.sin()
    before = [x.double().clone() for x in (q, k)]
    if tokens:
        sections_rotary_kernel[(tokens,)](q, k, cos, sin, Strides(q.stride(0), q.stride(1)), Strides(k.stride(0), k.stride(1)), tokens,
                                          Q_HEADS=heads, KV_HEADS=kv_heads, ROTARY=rotary, SECTIONS=sections,
                                          PAD=triton.next_power_of_2(rotary // 2), INTERLEAVED=interleaved, num_warps=1)
    kind = torch.repeat_interleave(torch.arange(3), torch.tensor(sections))
    c, s = (table[kind, :, torch.arange(rotary // 2)].T[:, None].double() for table in (cos, sin))
    for x, old in zip((q, k), before):
        first, second = (old[..., :rotary:2], old[..., 1:rotary:2]) if interleaved else (old[..., :rotary // 2], old[..., rotary // 2:rotary])
        turned = (first * c - second * s, second * c + first * s)
        expected = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
        close(x, torch.cat([expected, old[..., rotary:]], -1), {torch.bfloat16: 1e-2}.get(dtype, 1e-6))
