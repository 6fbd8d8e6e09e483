"""Kernels of serving models as their users write them: caches of eight bits behind tables of blocks, sampling, experts,
quantized weights; in the spellings that such kernels have."""
import math

import pytest
import torch

import tegula as triton
import tegula.language as tl


def normal(*shape, seed=0, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def integers(low, high, *shape, seed=0, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(actual, expected, tolerance):
    torch.testing.assert_close(actual.double(), expected.double(), rtol=tolerance, atol=tolerance)


LOG2E: tl.constexpr = tl.constexpr(1.4426950408889634)
FP8_MAX = tl.constexpr(448.0)

# --- attention over a cache of eight bits, by a table of blocks, with a window and sinks --------


@triton.jit
def soft_cap(x, CAP: tl.constexpr = 0.0):
    if not CAP:
        return x
    y = tl.exp(-2.0 * tl.abs(x / CAP))
    return CAP * tl.where(x < 0, -1.0, 1.0) * (1 - y) / (1 + y)


@triton.heuristics({"QUANTIZED": lambda args: args["k_scale_ptr"] is not None, "HAS_SINK": lambda args: args["sink_ptr"] is not None,
                    "HEADS_PADDED": lambda args: max(16, triton.next_power_of_2(args["GROUP"]))})
@triton.jit
def paged_kernel(out_ptr, q_ptr, k_ptr, v_ptr, table_ptr, len_ptr, k_scale_ptr, v_scale_ptr, sink_ptr, scale, stride_qt, stride_qh: tl.int64,
                 stride_kb: tl.int64, stride_ks, stride_kh, stride_kd: tl.constexpr, stride_table, GROUP: tl.constexpr, D: tl.constexpr,
                 D_PADDED: tl.constexpr, PAGE: tl.constexpr, WINDOW: tl.constexpr, CAP: tl.constexpr, QUANTIZED: tl.constexpr,
                 HAS_SINK: tl.constexpr, HEADS_PADDED: tl.constexpr):
    seq, kv_head = tl.program_id(0), tl.program_id(axis=1)
    seq_len = tl.load(len_ptr + seq)
    if seq_len <= 0:
        return
    offs_h, offs_d, offs_n = tl.arange(0, HEADS_PADDED), tl.arange(0, D_PADDED), tl.arange(0, PAGE)
    head = kv_head * GROUP + offs_h
    h_mask, d_mask = offs_h < GROUP, offs_d < D
    q = tl.load(q_ptr + seq * stride_qt + head[:, None] * stride_qh + offs_d[None, :], mask=h_mask[:, None] & d_mask[None, :], other=0.0)
    if HAS_SINK:
        M = tl.load(sink_ptr + head, mask=h_mask, other=float("-inf")).to(dtype=tl.float32)
        L = tl.full([HEADS_PADDED], 1.0, dtype=tl.float32)
    else:
        M = tl.full([HEADS_PADDED], float("-inf"), dtype=tl.float32)
        L = tl.zeros([HEADS_PADDED], dtype=tl.float32)
    acc = tl.zeros([HEADS_PADDED, D_PADDED], dtype=tl.float32)
    first = 0
    if WINDOW > 0:
        first = tl.maximum(0, seq_len - WINDOW) // PAGE
    for j in tl.range(first, tl.cdiv(seq_len, PAGE), num_stages=2, disallow_acc_multi_buffer=True):
        page = tl.load(table_ptr + seq * stride_table + j).to(tl.int64)
        at = page * stride_kb + offs_n[:, None] * stride_ks + kv_head * stride_kh + offs_d[None, :] * stride_kd
        n = j * PAGE + offs_n
        keep = n < seq_len
        k = tl.load(k_ptr + at, mask=d_mask[None, :] & keep[:, None], other=0.0)
        v = tl.load(v_ptr + at, mask=d_mask[None, :] & keep[:, None], other=0.0)
        if QUANTIZED and k.dtype.is_fp8():
            k = (k.to(tl.float32) * tl.load(k_scale_ptr)).to(q.dtype)
            v = (v.to(tl.float32) * tl.load(v_scale_ptr + kv_head)).to(q.dtype)
        S = soft_cap(tl.dot(q, tl.trans(k)) * scale, CAP=CAP)
        if WINDOW > 0:
            keep = keep & (seq_len - 1 - n < WINDOW)
        S = tl.where(h_mask[:, None] & keep[None, :], S, float("-inf"))
        m_j = tl.maximum(M, tl.max(S, axis=1))
        m_j = tl.where(m_j > float("-inf"), m_j, 0.0)
        P = tl.math.exp2((S - m_j[:, None]) * LOG2E)
        alpha = tl.math.exp2((M - m_j) * LOG2E)
        acc = acc * alpha[:, None] + tl.dot(P.to(v.dtype), v)
        L = L * alpha + tl.sum(P, axis=1)
        M = m_j
    acc = acc / L[:, None]
    tl.store(out_ptr + seq * stride_qt + head[:, None] * stride_qh + offs_d[None, :], acc.to(out_ptr.dtype.element_ty),
             mask=h_mask[:, None] & d_mask[None, :])


@pytest.mark.parametrize("quantized, sinks, window, cap, dtype", [(True, True, 0, 0.0, torch.bfloat16), (True, False, 21, 4.0, torch.float16),
                                                                  (False, True, 16, 0.0, torch.float16)])
def test_paged_attention_over_eight_bits(target, quantized, sinks, window, cap, dtype):
    lengths, kv_heads, group, d, page = [1, 45, 0, 64], 2, 5, 24, 16
    pages = 14
    q = normal(len(lengths), kv_heads * group, d, seed=1, dtype=dtype)
    k, v = (normal(pages, page, kv_heads, d, seed=s) for s in (2, 3))
    cache_type = torch.float8_e4m3fn if quantized else dtype
    k_scale, v_scale = (torch.tensor([0.5]), torch.tensor([0.25, 2.0])) if quantized else (None, None)
    if quantized:
        k, v = (k / k_scale).to(cache_type), (v / v_scale[:, None]).to(cache_type)
    else:
        k, v = k.to(cache_type), v.to(cache_type)
    sink = normal(kv_heads * group, seed=4) if sinks else None
    table = torch.randperm(pages, generator=torch.Generator().manual_seed(5)).int()[:12].reshape(3, 4)
    table = torch.cat([table[:2], table[:1], table[2:]])
    out = torch.full_like(q, float("nan"))
    paged_kernel[(len(lengths), kv_heads)](out, q, k, v, table, torch.tensor(lengths, dtype=torch.int32), k_scale, v_scale, sink, d**-0.5,
                                           *q.stride()[:2], *k.stride(), table.stride(0), GROUP=group, D=d, D_PADDED=32, PAGE=page,
                                           WINDOW=window, CAP=cap, num_warps=4)
    for i, length in enumerate(lengths):
        if not length:
            assert out[i].isnan().all()
            continue
        kk, vv = (t[table[i].long()].reshape(-1, kv_heads, d)[:length].double() for t in (k, v))
        if quantized:
            kk, vv = (kk * k_scale).to(dtype).double(), (vv * v_scale[:, None]).to(dtype).double()
        s = torch.einsum("hgd,nhd->hgn", q[i].double().reshape(kv_heads, group, d), kk) * d**-0.5
        s = cap * torch.tanh(s / cap) if cap else s
        if window:
            s[..., :max(0, length - window)] = float("-inf")
        if sinks:
            s = torch.cat([s, sink.double().reshape(kv_heads, group, 1)], -1)
        p = s.softmax(-1)[..., :length]
        close(out[i], torch.einsum("hgn,nhd->hgd", p, vv).reshape(-1, d), 2e-2)


# --- rotary positions of two kinds, in place, with and without a position table ---------------


@triton.jit
def rotated(x1, x2, cos, sin, CONJUGATE: tl.constexpr):
    if CONJUGATE:
        sin = -sin
    return x1 * cos - x2 * sin, x2 * cos + x1 * sin


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, pos_ptr, T, H, stride_t, stride_h, HALF: tl.constexpr, STYLE: tl.constexpr = "neox",
                  CONJUGATE: tl.constexpr = False, BLOCK_H: tl.constexpr = 4):
    tl.static_assert(STYLE in ("neox", "gptj"), f"no rotary style {STYLE}")
    t = tl.program_id(0).to(tl.int64)
    position = t if pos_ptr is None else tl.load(pos_ptr + t)
    half = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + position * HALF + half)[None, :]
    sin = tl.load(sin_ptr + position * HALF + half)[None, :]
    for start in range(0, H, BLOCK_H):
        heads = (start + tl.arange(0, BLOCK_H))[:, None]
        row = x_ptr + t * stride_t + heads * stride_h
        if STYLE == "neox":
            low, high = row + half[None, :], row + (half + HALF)[None, :]
            a, b = tl.load(low, mask=heads < H).to(tl.float32), tl.load(high, mask=heads < H).to(tl.float32)
            (y1, y2) = rotated(a, b, cos, sin, CONJUGATE)
            tl.store(low, y1, mask=heads < H)
            tl.store(high, y2, mask=heads < H)
        else:
            whole = row + tl.arange(0, 2 * HALF)[None, :]
            x = tl.load(whole, mask=heads < H).to(tl.float32)
            a, b = tl.split(x.reshape(BLOCK_H, HALF, 2))
            tl.store(whole, tl.interleave(*rotated(a, b, cos, sin, CONJUGATE)).to(x_ptr.dtype.element_ty), mask=heads < H)


@pytest.mark.parametrize("style, conjugate, positions", [("neox", False, None), ("gptj", True, True), ("gptj", False, None)])
def test_rotary_in_place(target, style, conjugate, positions):
    T, H, half = 5, 6, 8
    x = normal(T, H, 2 * half, seed=1, dtype=torch.bfloat16)
    pos = integers(0, 9, T, seed=2, dtype=torch.int64) if positions else None
    angle = torch.arange(10)[:, None] * (10000.0**(-torch.arange(half) / half))[None, :]
    cos, sin = angle.cos(), angle.sin()
    before = x.clone().double()
    rotary_kernel[(T,)](x, cos, sin, pos, T, H, *x.stride()[:2], HALF=half, STYLE=style, CONJUGATE=conjugate)
    at = pos if positions else torch.arange(T)
    c, s = cos[at][:, None].double(), sin[at][:, None].double() * (-1 if conjugate else 1)
    if style == "neox":
        a, b = before[..., :half], before[..., half:]
        expected = torch.cat([a * c - b * s, b * c + a * s], -1)
    else:
        a, b = before[..., ::2], before[..., 1::2]
        expected = torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2)
    close(x, expected, 1e-2)


# --- sampling: temperature, min-p, top-p behind a sort, and a Gumbel draw ----------------------


@triton.jit
def sortable(x):
    bits = x.to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


@triton.jit
def sample_kernel(logits_ptr, temperature_ptr, top_p_ptr, min_p_ptr, out_ptr, kept_ptr, vocabulary, seed, V: tl.constexpr):
    row = tl.program_id(0)
    v = tl.arange(0, V)
    logits = tl.load(logits_ptr + row * vocabulary + v, mask=v < vocabulary, other=-float("inf"))
    temperature = tl.load(temperature_ptr + row)
    if temperature == 0.0:
        tl.store(out_ptr + row, tl.argmax(logits, axis=0))
        tl.store(kept_ptr + row, 1)
        return
    logits /= temperature
    p = tl.softmax(logits)
    packed = sortable(p).to(tl.int64) << 32 | (V - 1 - v)
    ordered = tl.sort(packed, descending=True)
    sorted_p = (ordered >> 32).to(tl.int32).to(tl.float32, bitcast=True)
    index = V - 1 - (ordered & 0xFFFFFFFF).to(tl.int32)
    before = tl.cumsum(sorted_p, 0) - sorted_p
    keep = (before < tl.load(top_p_ptr + row)) and (sorted_p >= tl.load(min_p_ptr + row) * tl.max(p)) and (index < vocabulary)
    u = tl.rand(seed + row, index)
    gumbel = -tl.log(-tl.log(tl.clamp(u, 1e-7, 1.0 - 1e-7)))
    score = tl.where(keep, tl.log(sorted_p) + gumbel, float("-inf"))
    _, place = tl.max(score, axis=0, return_indices=True)
    tl.store(out_ptr + row, tl.sum(tl.where(v == place, index, 0)))
    tl.store(kept_ptr + row, tl.sum(keep.to(tl.int32)))


def test_sampling_by_top_p_and_min_p(target):
    rows, vocabulary, V = 6, 50, 64
    logits = normal(rows, vocabulary, seed=1, scale=3.0)
    logits[5, 7] = logits[5, 3] = logits[5].max() + 1  # equal ones: the first counts
    temperature = torch.tensor([0.0, 0.7, 1.0, 1.5, 1.0, 0.0])
    top_p = torch.tensor([1.0, 0.8, 0.95, 1.0, 1e-6, 1.0])
    min_p = torch.tensor([0.0, 0.0, 0.02, 0.1, 0.0, 0.0])
    out, kept = torch.full((rows,), -1, dtype=torch.int64), torch.full((rows,), -1, dtype=torch.int32)
    sample_kernel[(rows,)](logits, temperature, top_p, min_p, out, kept, vocabulary, 2**40 + 3, V=V)
    for row in range(rows):
        if temperature[row] == 0:
            assert out[row] == logits[row].argmax() and kept[row] == 1
            continue
        p = (logits[row].double() / temperature[row]).softmax(-1)
        sorted_p, index = p.sort(descending=True, stable=True)
        keep = (sorted_p.cumsum(-1) - sorted_p < top_p[row]) & (sorted_p >= min_p[row].double() * p.max())
        assert kept[row] == keep.sum()
        assert out[row] in index[keep]


# --- weights of four bits with scales that are quantized themselves ---------------------------


NF4 = [-1.0, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.0910500, 0.0, 0.0795803, 0.1609302, 0.2461123, 0.3379152, 0.4407098,
       0.5626170, 0.7229568, 1.0]


@triton.jit
def nf4_kernel(packed_ptr, absmax_ptr, code_ptr, absmax2_ptr, offset, table_ptr, out_ptr, n_elements, GROUP: tl.constexpr,
               GROUP2: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    half = start // 2 + tl.arange(0, BLOCK // 2)
    byte = tl.load(packed_ptr + half, mask=half * 2 < n_elements, other=0)
    table = tl.load(table_ptr + tl.arange(0, 16))
    high = tl.gather(table, (byte >> 4).to(tl.int32), 0)
    low = tl.gather(table, (byte & 0xF).to(tl.int32), 0)
    GROUPS: tl.constexpr = BLOCK // GROUP
    group = start // GROUP + tl.arange(0, GROUPS)
    code = tl.load(absmax_ptr + group, mask=group * GROUP < n_elements, other=0)
    absmax = tl.load(code_ptr + code) * tl.load(absmax2_ptr + group // GROUP2, mask=group * GROUP < n_elements) + offset
    both = tl.join(high, low).reshape([GROUPS, GROUP]) * absmax[:, None]
    at = start + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, both.reshape(BLOCK).to(out_ptr.type.element_ty), mask=at < n_elements)


def test_weights_of_four_bits_with_quantized_scales(target):
    n, group, group2 = 1000, 32, 4
    packed = integers(0, 256, n // 2, seed=1, dtype=torch.uint8)
    groups = triton.cdiv(n, group)
    absmax = integers(0, 256, groups, seed=2, dtype=torch.uint8)
    code, absmax2 = normal(256, seed=3), normal(triton.cdiv(groups, group2), seed=4).abs()
    table = torch.tensor(NF4)
    out = torch.full((n,), float("nan"), dtype=torch.float16)
    nf4_kernel[(triton.cdiv(n, 256),)](packed, absmax, code, absmax2, 0.125, table, out, n, GROUP=group, GROUP2=group2, BLOCK=256)
    w = table[torch.stack([packed >> 4, packed & 15], -1).flatten().long()]
    s = code[absmax.long()] * absmax2.repeat_interleave(group2)[:groups] + 0.125
    close(out, w * s.repeat_interleave(group)[:n], 2e-3)


# --- experts: gates by groups, places of tokens, products by tables of pointers ----------------


@triton.jit
def gate_kernel(logits_ptr, bias_ptr, weight_ptr, id_ptr, E: tl.constexpr, GROUPS: tl.constexpr, TOP_GROUPS: tl.constexpr, TOP: tl.constexpr,
                NORMALIZE: tl.constexpr):
    row = tl.program_id(0)
    e = tl.arange(0, E)
    score = tl.sigmoid(tl.load(logits_ptr + row * E + e).to(tl.float32))
    biased = score + tl.load(bias_ptr + e)
    by_group = tl.reshape(biased, (GROUPS, E // GROUPS))
    best, where = tl.max(by_group, axis=1, return_indices=True)
    rest = tl.where(tl.arange(0, E // GROUPS)[None, :] == where[:, None], float("-inf"), by_group)
    group_score = best + tl.max(rest, 1)
    g = tl.arange(0, GROUPS)
    chosen = tl.zeros((GROUPS,), dtype=tl.int1)
    for _ in tl.static_range(TOP_GROUPS):
        now = tl.argmax(tl.where(chosen, float("-inf"), group_score), 0)
        chosen = chosen | (g == now)
    biased = tl.where(chosen[:, None], by_group, float("-inf")).reshape(E)
    total = 0.0
    for i in tl.static_range(TOP):
        winner = tl.argmax(biased, axis=0, tie_break_left=True)
        w = tl.sum(tl.where(e == winner, score, 0.0), 0)
        total += w
        tl.store(weight_ptr + row * TOP + i, w)
        tl.store(id_ptr + row * TOP + i, winner)
        biased = tl.where(e == winner, -float("inf"), biased)
    if NORMALIZE:
        tl.debug_barrier()
        i = tl.arange(0, triton.next_power_of_2(TOP))
        w = tl.load(weight_ptr + row * TOP + i, mask=i < TOP)
        tl.store(weight_ptr + row * TOP + i, w / total, mask=i < TOP)


@triton.jit
def align_kernel(id_ptr, sorted_ptr, expert_ptr, total_ptr, count, E: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr):
    e = tl.arange(0, E)
    histogram = tl.zeros([E], tl.int32)
    for start in range(0, count, TILE):
        at = start + tl.arange(0, TILE)
        histogram += tl.histogram(tl.load(id_ptr + at, mask=at < count, other=0), E, mask=at < count)
    padded = tl.cdiv(histogram, BLOCK) * BLOCK
    end = tl.cumsum(padded)
    begin = end - padded
    tl.store(total_ptr, tl.sum(padded))
    for i in range(E):
        low, high = tl.sum(tl.where(e == i, begin, 0)) // BLOCK, tl.sum(tl.where(e == i, end, 0)) // BLOCK
        while low < high:
            tl.store(expert_ptr + low, i)
            low += 1
    used = begin
    for start in range(0, count, TILE):
        at = start + tl.arange(0, TILE)
        expert = tl.load(id_ptr + at, mask=at < count, other=-1)
        mine = (expert[:, None] == e[None, :]).to(tl.int32)
        rank = tl.sum((tl.cumsum(mine, axis=0) - mine) * mine, axis=1)
        place = rank + tl.gather(used, tl.maximum(expert, 0), 0)
        tl.store(sorted_ptr + place, at, mask=at < count)
        used += tl.sum(mine, 0)


@triton.jit
def experts_kernel(a_ptr, weights_ptr, c_ptr, sorted_ptr, expert_ptr, total_ptr, w_ptr, count, K, N, TOP: tl.constexpr, BLOCK_M: tl.constexpr,
                   BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """`weights_ptr` is a table of pointers, one an expert."""
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    if pid_m * BLOCK_M >= tl.load(total_ptr):
        return
    offs_t = tl.load(sorted_ptr + pid_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    token = offs_t < count
    b_ptr = tl.load(weights_ptr + tl.load(expert_ptr + pid_m)).to(tl.pointer_type(a_ptr.dtype.element_ty))
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_t // TOP)[:, None] * K + offs_k
    b_ptrs = b_ptr + offs_n[None, :] * K + offs_k[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    left = K
    while left > 0:
        a = tl.load(a_ptrs, mask=token[:, None] & (offs_k < left)[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k < left)[:, None] & (offs_n < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K
        left -= BLOCK_K
    acc *= tl.load(w_ptr + offs_t, mask=token, other=0)[:, None]
    tl.store(c_ptr + offs_t[:, None] * N + offs_n[None, :], acc.to(c_ptr.dtype.element_ty), mask=token[:, None] & (offs_n < N)[None, :])


@pytest.mark.parametrize("target", ["interp", "cpu"], indirect=True)  # memory that a table names is known to hosts alone
def test_experts_from_gates_to_products(target):
    T, E, groups, top_groups, top, K, N, BLOCK = 21, 16, 4, 2, 3, 40, 24, 16
    logits, bias = normal(T, E, seed=1), normal(E, seed=2, scale=0.1)
    weight, ids = torch.full((T, top), float("nan")), torch.full((T, top), -1, dtype=torch.int32)
    gate_kernel[(T,)](logits, bias, weight, ids, E, groups, TOP_GROUPS=top_groups, TOP=top, NORMALIZE=True, num_warps=1)
    score = logits.double().sigmoid()
    biased = score + bias
    group_score = biased.reshape(T, groups, -1).topk(2, -1).values.sum(-1)
    mask = torch.zeros(T, groups).scatter_(1, group_score.topk(top_groups, -1).indices, 1.0).bool()
    right = biased.masked_fill(~mask.repeat_interleave(E // groups, 1), -torch.inf).topk(top, -1).indices
    assert torch.equal(ids.long(), right)
    close(weight, (w := score.gather(1, right)) / w.sum(-1, keepdim=True), 1e-5)

    flat = ids.flatten()
    limit = len(flat) + E * (BLOCK - 1)
    places = torch.full((limit,), len(flat), dtype=torch.int32)
    experts, total = torch.full((triton.cdiv(limit, BLOCK),), -1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    align_kernel[(1,)](flat, places, experts, total, len(flat), E=E, BLOCK=BLOCK, TILE=32)
    counts = torch.bincount(flat, minlength=E)
    blocks = (counts + BLOCK - 1) // BLOCK
    assert total.item() == blocks.sum() * BLOCK
    assert experts[:blocks.sum()].tolist() == torch.arange(E).repeat_interleave(blocks).tolist()
    for b, expert in enumerate(experts[:blocks.sum()]):
        block = places[b * BLOCK:(b + 1) * BLOCK]
        assert (flat[block[block < len(flat)].long()] == expert).all()
    assert sorted(places[places < len(flat)].tolist()) == list(range(len(flat)))

    if target in ("cuda", "eager"):
        return  # a mirror does not know of pointers in tables
    x = normal(T, K, seed=5, dtype=torch.float16)
    matrices = [normal(N, K, seed=10 + e, dtype=torch.float16) for e in range(E)]
    table = torch.tensor([m.data_ptr() for m in matrices], dtype=torch.int64)
    c = torch.full((T * top, N), float("nan"))
    experts_kernel[(len(experts), triton.cdiv(N, 16))](x, table, c, places, experts, total, weight, len(flat), K, N, TOP=top, BLOCK_M=BLOCK,
                                                       BLOCK_N=16, BLOCK_K=16)
    expected = torch.stack([matrices[ids[i // top, i % top]].double() @ x[i // top].double() * weight[i // top, i % top] for i in range(T * top)])
    close(c, expected, 5e-3)


# --- a causal convolution that keeps its state -------------------------------------------------


@triton.jit
def activate(x, KIND: tl.constexpr):
    if KIND is None or KIND == "none":
        return x
    elif KIND in ["silu", "swish"]:
        return x * tl.sigmoid(x)
    else:
        tl.static_assert(KIND == "relu")
        return tl.maximum(x, 0)


@triton.jit
def conv_kernel(x_ptr, w_ptr, bias_ptr, state_ptr, slot_ptr, cu_ptr, out_ptr, DIM, stride_state, WIDTH: tl.constexpr,
                ACTIVATION: tl.constexpr = None, PAD_SLOT: tl.constexpr = -1, BLOCK_D: tl.constexpr = 16):
    seq = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    m = d < DIM
    slot = tl.load(slot_ptr + seq).to(tl.int64)
    if slot == PAD_SLOT:
        return
    begin, end = tl.load(cu_ptr + seq), tl.load(cu_ptr + seq + 1)
    state = state_ptr + slot * stride_state + d * (WIDTH - 1)
    history = ()
    weights = ()
    for i in tl.static_range(WIDTH - 1):
        history = history + (tl.load(state + i, mask=m, other=0.0).to(tl.float32),)
    for i in tl.static_range(WIDTH):
        weights = weights + (tl.load(w_ptr + d * WIDTH + i, mask=m, other=0.0).to(tl.float32),)
    bias = tl.load(bias_ptr + d, mask=m, other=0.0).to(tl.float32) if bias_ptr is not None else tl.zeros([BLOCK_D], tl.float32)
    a, b, c = history
    for t in range(begin, end):
        x = tl.load(x_ptr + t * DIM + d, mask=m, other=0.0).to(tl.float32)
        y = bias
        y += a * weights[0]
        y += b * weights[1]
        y += c * weights[2]
        y += x * weights[3]
        tl.store(out_ptr + t * DIM + d, activate(y, ACTIVATION), mask=m)
        a, b, c = b, c, x
    for i in tl.static_range(WIDTH - 1):
        tl.store(state + i, (a, b, c)[i], mask=m)


@pytest.mark.parametrize("activation, has_bias", [("silu", True), (None, False), ("relu", True)])
def test_causal_convolution_keeps_state(target, activation, has_bias):
    lengths, DIM, WIDTH = [3, 1, 0, 9], 20, 4
    cu = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)
    x, w = normal(sum(lengths), DIM, seed=1, dtype=torch.float16), normal(DIM, WIDTH, seed=2)
    bias = normal(DIM, seed=3) if has_bias else None
    state = normal(6, DIM, WIDTH - 1, seed=4)
    slots = torch.tensor([4, -1, 0, 2], dtype=torch.int64)
    before, out = state.clone(), torch.full_like(x, float("nan"))
    conv_kernel[(len(lengths), 2)](x, w, bias, state, slots, cu, out, DIM, state.stride(0), WIDTH=WIDTH, ACTIVATION=activation)
    expected = before.clone()
    for i, slot in enumerate(slots.tolist()):
        part = slice(cu[i], cu[i + 1])
        if slot < 0:
            assert out[part].isnan().all()
            continue
        long = torch.cat([before[slot].T, x[part].float()]).double()
        y = torch.stack([(long[t:t + WIDTH].T * w).sum(-1) for t in range(lengths[i])]) if lengths[i] else torch.zeros(0, DIM)
        y = y + (bias if has_bias else 0)
        y = torch.nn.functional.silu(y) if activation == "silu" else y.relu() if activation else y
        close(out[part], y, 5e-3)
        expected[slot] = long[-(WIDTH - 1):].T
    close(state, expected, 1e-6)


# --- verification of drafts --------------------------------------------------------------------


@triton.jit
def verify_kernel(out_ptr, cu_ptr, draft_ptr, draft_p_ptr, target_p_ptr, bonus_ptr, uniform_ptr, recovered_ptr, greedy_ptr, max_spec, V,
                  NO_DRAFT_P: tl.constexpr):
    r = tl.program_id(0)
    is_greedy = True if greedy_ptr is None else tl.load(greedy_ptr + r)
    begin = 0 if r == 0 else tl.load(cu_ptr + r - 1)
    count = tl.load(cu_ptr + r) - begin
    rejected = False
    for at in range(count):
        if not rejected:
            token = tl.load(draft_ptr + begin + at)
            if is_greedy:
                best, best_p, v = 0, -1.0, 0
                while v < V:
                    p = tl.load(target_p_ptr + (begin + at) * V + v)
                    if p > best_p:
                        best, best_p = v, p
                    v += 1
                rejected = best != token
                tl.store(out_ptr + r * (max_spec + 1) + at, best)
            else:
                draft_p = 1.0 if NO_DRAFT_P else tl.load(draft_p_ptr + (begin + at) * V + token)
                target_p = tl.load(target_p_ptr + (begin + at) * V + token)
                if draft_p > 0 and target_p / draft_p >= tl.load(uniform_ptr + begin + at):
                    taken = token
                else:
                    rejected = True
                    taken = tl.load(recovered_ptr + begin + at)
                tl.store(out_ptr + r * (max_spec + 1) + at, taken)
    if not rejected:
        tl.store(out_ptr + r * (max_spec + 1) + count, tl.load(bonus_ptr + r))


@pytest.mark.parametrize("no_draft", [True, False])
def test_drafts_are_verified(target, no_draft):
    counts, V, most = [3, 0, 5, 2, 4], 7, 5
    cu = torch.tensor(counts, dtype=torch.int32).cumsum(0).int()
    n = int(cu[-1])
    target_p, draft_p = normal(n, V, seed=1, scale=2.0).softmax(-1), normal(n, V, seed=2).softmax(-1)
    draft = integers(0, V, n, seed=3)
    greedy = torch.tensor([0, 0, 0, 1, 1], dtype=torch.bool)
    draft[8:9] = target_p[8:9].argmax(-1)
    uniform = torch.rand(n, generator=torch.Generator().manual_seed(4)) * (0.3 if no_draft else 1)
    recovered, bonus = integers(0, V, n, seed=5), torch.arange(100, 105, dtype=torch.int32)
    out = torch.full((len(counts), most + 1), -1, dtype=torch.int32)
    verify_kernel[(len(counts),)](out, cu, draft, None if no_draft else draft_p, target_p, bonus, uniform, recovered, greedy, most, V, NO_DRAFT_P=no_draft)
    for r, count in enumerate(counts):
        begin, row = int(cu[r]) - count, []
        for i in range(begin, begin + count):
            token = int(draft[i])
            if greedy[r]:
                row.append(int(target_p[i].argmax()))
                if row[-1] != token:
                    break
            elif target_p[i, token] / (1.0 if no_draft else draft_p[i, token]) >= uniform[i]:
                row.append(token)
            else:
                row.append(int(recovered[i]))
                break
        else:
            row.append(int(bonus[r]))
        assert out[r].tolist() == row + [-1] * (most + 1 - len(row))


# --- into the cache, quantized; and a gated product that is quantized by groups ----------------


@triton.jit
def into_cache_kernel(key_ptr, cache_ptr, slot_ptr, scale_ptr, stride_t, H, D: tl.constexpr, X: tl.constexpr, PAGE: tl.constexpr):
    """The cache is (pages, H, D / X, PAGE, X)."""
    t, h = tl.program_id(0), tl.program_id(1)
    if (slot := tl.load(slot_ptr + t)) < 0:
        return
    d = tl.arange(0, D)
    x = tl.load(key_ptr + t.to(tl.int64) * stride_t + h * D + d).to(tl.float32)
    if cache_ptr.dtype.element_ty.is_fp8():
        x = tl.clamp(x / tl.load(scale_ptr), -FP8_MAX, FP8_MAX)
    page, inside = slot // PAGE, slot % PAGE
    at = ((page * H + h) * (D // X) + d // X) * PAGE * X + inside * X + d % X
    tl.store(cache_ptr + at, x.to(cache_ptr.dtype.element_ty))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16])
def test_keys_into_a_cache(target, dtype):
    T, H, D, X, PAGE, pages = 7, 3, 16, 8, 4, 5
    keys = normal(T, 3 * H, D, seed=1, dtype=torch.bfloat16, scale=100.0)[:, H:2 * H]
    slots = torch.tensor([3, -1, 19, 0, 8, -1, 7], dtype=torch.int64)
    cache, scale = torch.zeros(pages, H, D // X, PAGE, X, dtype=dtype), torch.tensor([0.5])
    into_cache_kernel[(T, H)](keys, cache, slots, scale, keys.stride(0), H, D=D, X=X, PAGE=PAGE)
    expected = torch.zeros(pages, H, D // X, PAGE, X)
    for t, slot in enumerate(slots.tolist()):
        if slot >= 0:
            value = keys[t].float() if dtype == torch.bfloat16 else (keys[t].float() / scale).clamp(-448, 448)
            expected[slot // PAGE, :, :, slot % PAGE] = value.to(dtype).float().reshape(H, D // X, X)
    assert torch.equal(cache.float(), expected)


@triton.autotune([triton.Config({"ROWS": r}, num_warps=w) for r in (1, 2) for w in (1, 2)], key=["n"],
                 prune_configs_by={"early_config_prune": lambda configs, args, **kw: [c for c in configs if c.kwargs["ROWS"] <= args["rows"]][:1]})
@triton.jit
def gated_quantize_kernel(x_ptr, out_ptr, scale_ptr, rows, n, GROUP: tl.constexpr, ROUND: tl.constexpr, ROWS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * GROUP + tl.arange(0, GROUP)
    at, ok = r[:, None] * 2 * n + c[None, :], (r < rows)[:, None] & (0 <= c < n)[None, :]
    gate, up = tl.load(x_ptr + at, mask=ok, other=0.0).to(tl.float32), tl.load(x_ptr + at + n, mask=ok, other=0.0).to(tl.float32)
    y = gate / (1 + tl.exp(-gate)) * up
    scale = tl.maximum(tl.max(tl.abs(y), axis=-1, keep_dims=True), 1e-10) / (FP8_MAX if out_ptr.dtype.element_ty == tl.float8e4nv else 127.0)
    if ROUND:
        scale = tl.exp2(tl.ceil(tl.log2(scale)))
    q = tl.fdiv(y, scale)
    if out_ptr.dtype.element_ty == tl.int8:
        q = tl.floor(q + 0.5)
    tl.store(out_ptr + r[:, None] * n + c[None, :], q.to(out_ptr.dtype.element_ty), mask=ok)
    tl.store(scale_ptr + r * tl.num_programs(1) + tl.program_id(1), tl.reshape(scale, (ROWS,)), mask=r < rows)


@pytest.mark.parametrize("dtype, power", [(torch.float8_e4m3fn, True), (torch.int8, False)])
def test_gated_product_quantized_by_groups(target, dtype, power):
    rows, n, group = 5, 48, 16
    x = normal(rows, 2 * n, seed=1, dtype=torch.bfloat16)
    out, scale = torch.zeros(rows, n, dtype=dtype), torch.full((rows, n // group), float("nan"))
    gated_quantize_kernel[lambda meta: (triton.cdiv(rows, meta["ROWS"]), n // group)](x, out, scale, rows, n, GROUP=group, ROUND=power)
    g, u = x.double().chunk(2, -1)
    y = torch.nn.functional.silu(g) * u
    back = (out.double().reshape(rows, -1, group) * scale[..., None]).reshape(rows, n)
    step = y.abs().reshape(rows, -1, group).amax(-1, keepdim=True).expand(-1, -1, group).reshape(rows, n) * (1 / 8 if power else 1 / 200)
    assert ((back - y).abs() <= step).all()
    if power:
        assert (scale.log2() == scale.log2().round()).all()
