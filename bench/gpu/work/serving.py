"""Attention as servers run it: pages of keys, sequences of different lengths in one batch, windows, capped scores."""
import tegula as triton
import tegula.language as tl


@triton.jit
def paged_kernel(q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, out_ptr, scale, most_pages, HEADS: tl.constexpr, KV_HEADS: tl.constexpr,
                 HEAD: tl.constexpr, PAGE: tl.constexpr, GROUP: tl.constexpr):
    """One token of a sequence: all query heads that share a key head, over pages named in a table."""
    sequence = tl.program_id(0)
    kv_head = tl.program_id(1)
    length = tl.load(lengths_ptr + sequence)
    group = tl.arange(0, GROUP)
    heads = kv_head * (HEADS // KV_HEADS) + group
    d = tl.arange(0, HEAD)
    inside = group < HEADS // KV_HEADS
    q = tl.load(q_ptr + (sequence * HEADS + heads)[:, None] * HEAD + d[None, :], mask=inside[:, None], other=0.0)
    m = tl.full((GROUP,), float("-inf"), tl.float32)
    l = tl.zeros((GROUP,), tl.float32)
    acc = tl.zeros((GROUP, HEAD), tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        block = tl.load(table_ptr + sequence * most_pages + page).to(tl.int64)
        slots = tl.arange(0, PAGE)
        at = ((block * PAGE + slots) * KV_HEADS + kv_head)[:, None] * HEAD + d[None, :]
        k = tl.load(k_ptr + at)
        v = tl.load(v_ptr + at)
        s = tl.dot(q, k.T) * (scale * 1.4426950408889634)
        s = tl.where((page * PAGE + slots)[None, :] < length, s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m = m_new
    tl.store(out_ptr + (sequence * HEADS + heads)[:, None] * HEAD + d[None, :], (acc / l[:, None]).to(out_ptr.dtype.element_ty),
             mask=inside[:, None])


def paged(q, k, v, table, lengths, out, **options):
    sequences, heads, head = q.shape
    _, page, kv_heads, _ = k.shape
    paged_kernel[(sequences, kv_heads)](q, k, v, table, lengths, out, head**-0.5, table.shape[1], HEADS=heads, KV_HEADS=kv_heads,
                                        HEAD=head, PAGE=page, GROUP=max(16, heads // kv_heads), **options)


@triton.jit
def packed_kernel(q_ptr, k_ptr, v_ptr, starts_ptr, out_ptr, scale, stride_q, stride_k, stride_o, HEADS: tl.constexpr,
                  KV_HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, WINDOW: tl.constexpr,
                  CAP: tl.constexpr):
    """Causal attention of sequences that lie one after another; with a window of keys or capped scores if asked for."""
    block, head, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    start = tl.load(starts_ptr + sequence)
    length = tl.load(starts_ptr + sequence + 1) - start
    if block * BLOCK_M >= length:
        return
    kv_head = head // (HEADS // KV_HEADS)
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    q = tl.load(q_ptr + (start + rows)[:, None] * stride_q + head * HEAD + d[None, :], mask=rows[:, None] < length, other=0.0)
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    low = 0
    if WINDOW > 0:
        low = tl.maximum(0, (block * BLOCK_M - WINDOW + 1) // BLOCK_N * BLOCK_N)
    high = tl.minimum(length, (block + 1) * BLOCK_M)
    for n in range(low, high, BLOCK_N):
        keys = n + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + (start + keys)[None, :] * stride_k + kv_head * HEAD + d[:, None], mask=keys[None, :] < length, other=0.0)
        s = tl.dot(q, k) * scale
        if CAP > 0:
            s = CAP * (2 * tl.sigmoid(2 * s / CAP) - 1)
        seen = rows[:, None] >= keys[None, :]
        if WINDOW > 0:
            seen &= rows[:, None] - keys[None, :] < WINDOW
        s = tl.where(seen, s * 1.4426950408889634, -1.0e6)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc *= alpha[:, None]
        v = tl.load(v_ptr + (start + keys)[:, None] * stride_k + kv_head * HEAD + d[None, :], mask=keys[:, None] < length, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        m = m_new
    acc /= l[:, None]
    tl.store(out_ptr + (start + rows)[:, None] * stride_o + head * HEAD + d[None, :], acc.to(out_ptr.dtype.element_ty),
             mask=rows[:, None] < length)


def packed(q, k, v, starts, longest, out, window=0, cap=0.0, block_m=64, block_n=32, **options):
    _, heads, head = q.shape
    packed_kernel[(triton.cdiv(longest, block_m), heads, starts.shape[0] - 1)](
        q, k, v, starts, out, head**-0.5, q.stride(0), k.stride(0), out.stride(0), HEADS=heads, KV_HEADS=k.shape[1], HEAD=head,
        BLOCK_M=block_m, BLOCK_N=block_n, WINDOW=window, CAP=cap, **options)


@triton.jit
def cache_kernel(k_ptr, v_ptr, k_pages_ptr, v_pages_ptr, slot_ptr, KV_HEADS: tl.constexpr, HEAD: tl.constexpr):
    """Writes the new keys and values of tokens to their slots; a slot below zero is none."""
    token = tl.program_id(0)
    slot = tl.load(slot_ptr + token)
    if slot < 0:
        return
    at = tl.arange(0, KV_HEADS * HEAD)
    tl.store(k_pages_ptr + slot * KV_HEADS * HEAD + at, tl.load(k_ptr + token * KV_HEADS * HEAD + at))
    tl.store(v_pages_ptr + slot * KV_HEADS * HEAD + at, tl.load(v_ptr + token * KV_HEADS * HEAD + at))


def cache(k, v, k_pages, v_pages, slot, **options):
    tokens, kv_heads, head = k.shape
    cache_kernel[(tokens,)](k, v, k_pages, v_pages, slot, KV_HEADS=kv_heads, HEAD=head, **options)
