"""The delta rule step by step, with optional initial and final states and sequences packed end to end."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.heuristics({
    "USE_INITIAL_STATE": lambda args: args["h0"] is not None,
    "STORE_FINAL_STATE": lambda args: args["ht"] is not None,
    "IS_VARLEN": lambda args: args["cu_seqlens"] is not None,
})
@triton.jit(do_not_specialize=["T"])
def fused_recurrent_delta_kernel(q, k, v, beta, o, h0, ht, cu_seqlens, scale, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
                                 BK: tl.constexpr, BV: tl.constexpr, USE_INITIAL_STATE: tl.constexpr, STORE_FINAL_STATE: tl.constexpr,
                                 IS_BETA_HEADWISE: tl.constexpr, USE_QK_L2NORM: tl.constexpr, IS_VARLEN: tl.constexpr):
    i_v, i_nh = tl.program_id(0), tl.program_id(1)
    i_n, i_h = i_nh // H, i_nh % H
    if IS_VARLEN:
        bos, eos = tl.load(cu_seqlens + i_n).to(tl.int64), tl.load(cu_seqlens + i_n + 1).to(tl.int64)
        all = T
        T = eos - bos
    else:
        bos, eos = i_n * T, i_n * T + T
        all = T
    o_k = tl.arange(0, BK)
    o_v = i_v * BV + tl.arange(0, BV)
    p_q = q + (bos * H + i_h) * K + o_k
    p_k = k + (bos * H + i_h) * K + o_k
    p_v = v + (bos * H + i_h) * V + o_v
    p_o = o + (bos * H + i_h) * V + o_v
    if IS_BETA_HEADWISE:
        p_beta = beta + (bos * H + i_h) * V + o_v
    else:
        p_beta = beta + bos * H + i_h
    mask_k = o_k < K
    mask_v = o_v < V
    mask_h = mask_k[None, :] & mask_v[:, None]
    b_h = tl.zeros([BV, BK], dtype=tl.float32)
    if USE_INITIAL_STATE:
        p_h0 = h0 + i_nh * K * V + o_k[None, :] * V + o_v[:, None]
        b_h += tl.load(p_h0, mask=mask_h, other=0).to(tl.float32)
    for _ in range(0, T):
        b_k = tl.load(p_k, mask=mask_k, other=0).to(tl.float32)
        b_v = tl.load(p_v, mask=mask_v, other=0).to(tl.float32)
        b_q = tl.load(p_q, mask=mask_k, other=0).to(tl.float32)
        if USE_QK_L2NORM:
            b_q = b_q / (tl.sqrt(tl.sum(b_q * b_q) + 1e-6))
            b_k = b_k / (tl.sqrt(tl.sum(b_k * b_k) + 1e-6))
        b_q = b_q * scale
        b_v_minus = tl.sum(b_h * b_k[None, :], axis=1)
        b_v -= b_v_minus
        if IS_BETA_HEADWISE:
            b_beta = tl.load(p_beta, mask=mask_v, other=0).to(tl.float32)
        else:
            b_beta = tl.load(p_beta).to(tl.float32)
        b_v *= b_beta
        b_h += b_k[None, :] * b_v[:, None]
        b_o = tl.sum(b_h * b_q[None, :], axis=1)
        tl.store(p_o, b_o.to(p_o.dtype.element_ty), mask=mask_v)
        p_q += H * K
        p_k += H * K
        p_o += H * V
        p_v += H * V
        p_beta += H * (V if IS_BETA_HEADWISE else 1)
    if STORE_FINAL_STATE:
        p_ht = ht + i_nh * K * V + o_k[None, :] * V + o_v[:, None]
        tl.store(p_ht, b_h.to(p_ht.dtype.element_ty), mask=mask_h)


def rule(q, k, v, beta, h, scale, norm):
    if norm:
        q, k = (t / (t.pow(2).sum(-1, keepdim=True) + 1e-6).sqrt() for t in (q, k))
    outs = []
    for t in range(q.shape[0]):
        u = (v[t] - torch.einsum("hkv,hk->hv", h, k[t])) * (beta[t] if beta.dim() == 3 else beta[t][..., None])
        h = h + k[t][..., None] * u[:, None]
        outs.append(torch.einsum("hkv,hk->hv", h, q[t] * scale))
    return torch.stack(outs), h


def check_sequences(device):
    H, K, V = 2, 12, 10
    for lengths, headwise, norm in (((9,), False, True), ((4, 7, 1), True, False)):
        total, n = sum(lengths), len(lengths)
        q, k, v = (normal(1, total, H, d, device=device, dtype=torch.bfloat16, seed=s, scale=0.5) for s, d in enumerate((K, K, V)))
        beta = normal(1, total, H, *((V,) if headwise else ()), device=device, seed=5).sigmoid()
        h0, ht = normal(n, H, K, V, device=device, seed=6), torch.empty(n, H, K, V, device=device)
        o = torch.empty(1, total, H, V, device=device)
        ends = torch.tensor([0, *lengths]).cumsum(0)
        fused_recurrent_delta_kernel[(triton.cdiv(V, 8), n * H)](
            q, k, v, beta, o, h0, ht, ends.to(device) if n > 1 else None, K**-0.5, total, H=H, K=K, V=V, BK=triton.next_power_of_2(K), BV=8,
            IS_BETA_HEADWISE=headwise, USE_QK_L2NORM=norm, num_warps=1, num_stages=3)
        for i in range(n):
            part = slice(ends[i], ends[i + 1])
            out, state = rule(*(wide(t)[0, part] for t in (q, k, v, beta)), wide(h0)[i], K**-0.5, norm)
            close(o[0, part], out, error=3e-6)
            close(ht[i], state, error=3e-6)
