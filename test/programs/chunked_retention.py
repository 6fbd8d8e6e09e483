"""Linear attention with decay in chunks, by block pointers: states first, outputs from them."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.heuristics({"USE_INITIAL_STATE": lambda args: args["h0"] is not None, "STORE_FINAL_STATE": lambda args: args["ht"] is not None})
@triton.autotune(configs=[triton.Config({"BK": 16, "BV": 16}, num_warps=w) for w in (1, 2)][:1], key=["K", "V"])
@triton.jit(do_not_specialize=["T"])
def chunk_fwd_kernel_h(k, v, h, decay, h0, ht, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr,
                       BV: tl.constexpr, USE_INITIAL_STATE: tl.constexpr, STORE_FINAL_STATE: tl.constexpr):
    i_k, i_v, i_bh = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    NT = tl.cdiv(T, BT)
    b = tl.load(decay + i_bh % H)
    o_i = tl.arange(0, BT)
    b_h = tl.zeros([BK, BV], dtype=tl.float32)
    if USE_INITIAL_STATE:
        p_h0 = tl.make_block_ptr(h0 + i_bh * K * V, (K, V), (V, 1), (i_k * BK, i_v * BV), (BK, BV), (1, 0))
        b_h = tl.load(p_h0, boundary_check=(0, 1)).to(tl.float32)
    for i_t in range(NT):
        p_k = tl.make_block_ptr(k + i_bh * T * K, (K, T), (1, K), (i_k * BK, i_t * BT), (BK, BT), (0, 1))
        p_v = tl.make_block_ptr(v + i_bh * T * V, (T, V), (V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
        p_h = tl.make_block_ptr(h + (i_bh * NT + i_t) * K * V, (K, V), (V, 1), (i_k * BK, i_v * BV), (BK, BV), (1, 0))
        tl.store(p_h, b_h.to(p_h.dtype.element_ty), boundary_check=(0, 1))
        b_k = tl.load(p_k, boundary_check=(0, 1))
        b_v = tl.load(p_v, boundary_check=(0, 1))
        n = min(BT, T - i_t * BT)
        d_b, d_i = tl.math.exp2(n * b), tl.math.exp2((n - o_i - 1) * b)
        b_h *= d_b
        b_h += tl.dot(b_k, (b_v * d_i[:, None]).to(b_k.dtype), allow_tf32=False)
    if STORE_FINAL_STATE:
        p_ht = tl.make_block_ptr(ht + i_bh * K * V, (K, V), (V, 1), (i_k * BK, i_v * BV), (BK, BV), (1, 0))
        tl.store(p_ht, b_h.to(p_ht.dtype.element_ty), boundary_check=(0, 1))


@triton.jit(do_not_specialize=["T"])
def chunk_fwd_kernel_o(q, k, v, h, o, decay, scale, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BT: tl.constexpr,
                       BK: tl.constexpr, BV: tl.constexpr):
    i_v, i_t, i_bh = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    NT = tl.cdiv(T, BT)
    b = tl.load(decay + i_bh % H)
    o_i = tl.arange(0, BT)
    m_s = o_i[:, None] >= o_i[None, :]
    d_s = tl.where(m_s, tl.math.exp2((o_i[:, None] - o_i[None, :]) * b), 0)
    b_o = tl.zeros([BT, BV], dtype=tl.float32)
    b_s = tl.zeros([BT, BT], dtype=tl.float32)
    p_q = tl.make_block_ptr(q + i_bh * T * K, (T, K), (K, 1), (i_t * BT, 0), (BT, BK), (1, 0))
    p_k = tl.make_block_ptr(k + i_bh * T * K, (K, T), (1, K), (0, i_t * BT), (BK, BT), (0, 1))
    p_h = tl.make_block_ptr(h + (i_bh * NT + i_t) * K * V, (K, V), (V, 1), (0, i_v * BV), (BK, BV), (1, 0))
    for i_k in range(tl.cdiv(K, BK)):
        b_q = tl.load(p_q, boundary_check=(0, 1))
        b_q = (b_q * scale).to(b_q.dtype)
        b_k = tl.load(p_k, boundary_check=(0, 1))
        b_h = tl.load(p_h, boundary_check=(0, 1))
        b_o += tl.dot(b_q, b_h.to(b_q.dtype), allow_tf32=False)
        b_s += tl.dot(b_q, b_k, allow_tf32=False)
        p_q = tl.advance(p_q, (0, BK))
        p_k = tl.advance(p_k, (BK, 0))
        p_h = tl.advance(p_h, (BK, 0))
    b_o *= tl.math.exp2((o_i + 1) * b)[:, None]
    b_s *= d_s
    p_v = tl.make_block_ptr(v + i_bh * T * V, (T, V), (V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
    b_v = tl.load(p_v, boundary_check=(0, 1))
    b_o = b_o + tl.dot(b_s.to(b_v.dtype), b_v, allow_tf32=False)
    p_o = tl.make_block_ptr(o + i_bh * T * V, (T, V), (V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
    tl.store(p_o, b_o.to(p_o.dtype.element_ty), boundary_check=(0, 1))


def check_beside_the_recurrence(device):
    B, H, T, K, V, BT = 1, 2, 37, 24, 20, 16
    q, k, v = (normal(B, H, T, n, device=device, seed=s) for s, n in enumerate((K, K, V)))
    decay = torch.log2(1 - 2.0**(-5 - torch.arange(H, dtype=torch.float64)))
    NT = triton.cdiv(T, BT)
    h, ht, h0 = torch.empty(B * H, NT, K, V, device=device), torch.empty(B * H, K, V, device=device), normal(B * H, K, V, device=device, seed=4)
    o = torch.empty_like(v)
    grid = lambda meta: (triton.cdiv(K, meta["BK"]), triton.cdiv(V, meta["BV"]), B * H)
    chunk_fwd_kernel_h[grid](k, v, h, decay.float().to(device), h0, ht, T, H=H, K=K, V=V, BT=BT)
    chunk_fwd_kernel_o[(triton.cdiv(V, 16), NT, B * H)](q, k, v, h, o, decay.float().to(device), K**-0.5, T, H=H, K=K, V=V, BT=BT, BK=16, BV=16)
    state, outs = wide(h0).reshape(B, H, K, V), []
    for t in range(T):
        state = state * torch.exp2(decay)[None, :, None, None] + wide(k)[:, :, t, :, None] * wide(v)[:, :, t, None, :]
        outs.append(torch.einsum("bhk,bhkv->bhv", wide(q)[:, :, t] * K**-0.5, state))
    close(o, torch.stack(outs, 2), error=3e-6)
    close(ht, state.reshape(B * H, K, V), error=3e-6)
