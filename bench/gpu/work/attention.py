"""Attention beside its forward pass: decoding with keys split over programs, the backward pass, a linear one by chunks."""
import tegula as triton
import tegula.language as tl


@triton.jit
def split_kernel(q_ptr, k_ptr, v_ptr, part_ptr, lse_ptr, length_ptr, scale, kv_heads, stride_kb, stride_kn, stride_kh, GROUP: tl.constexpr,
                 ROWS: tl.constexpr, HEAD: tl.constexpr, SPLITS: tl.constexpr, BLOCK_N: tl.constexpr):
    """One query a sequence; the GROUP heads that share keys are the rows of one product, filled up to ROWS."""
    batch, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows, d = tl.arange(0, ROWS), tl.arange(0, HEAD)
    heads = kv_heads * GROUP
    head = kv_head * GROUP + rows
    used = rows < GROUP
    q = tl.load(q_ptr + (batch * heads + head)[:, None] * HEAD + d[None, :], mask=used[:, None], other=0.0)
    length = tl.load(length_ptr + batch)
    share = tl.cdiv(length, SPLITS)
    begin = split * share
    end = tl.minimum(begin + share, length)
    m = tl.full((ROWS,), float("-inf"), tl.float32)
    l = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, HEAD), tl.float32)
    base = batch * stride_kb + kv_head * stride_kh
    for start in range(begin, end, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + n[None, :] * stride_kn + d[:, None], mask=n[None, :] < end, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where(n[None, :] < end, s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        v = tl.load(v_ptr + base + n[:, None] * stride_kn + d[None, :], mask=n[:, None] < end, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        l = l * alpha + tl.sum(p, 1)
        m = m_new
    at = (batch * heads + head) * SPLITS + split
    tl.store(part_ptr + at[:, None] * HEAD + d[None, :], acc / l[:, None], mask=used[:, None] & (begin < end))
    tl.store(lse_ptr + at, tl.where(begin < end, m + tl.log(l), float("-inf")), mask=used)


@triton.jit
def merge_kernel(part_ptr, lse_ptr, out_ptr, HEAD: tl.constexpr, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, HEAD)
    m, l = -float("inf"), 0.0
    acc = tl.zeros((HEAD,), tl.float32)
    for split in range(SPLITS):
        lse = tl.load(lse_ptr + row * SPLITS + split)
        if lse > float("-inf"):
            m_new = tl.maximum(m, lse)
            old, new = tl.exp(m - m_new), tl.exp(lse - m_new)
            acc = acc * old + tl.load(part_ptr + (row * SPLITS + split) * HEAD + d) * new
            l = l * old + new
            m = m_new
    tl.store(out_ptr + row * HEAD + d, (acc / l).to(out_ptr.dtype.element_ty))


def decode(q, k, v, part, lse, lengths, out, block_n=64, **options):
    """q, out: batch x heads x head; k, v: batch x length x kv_heads x head; part, lse: batch x heads x splits (x head)."""
    batch, heads, head = q.shape
    kv_heads, splits = k.shape[2], lse.shape[2]
    split_kernel[(batch, kv_heads, splits)](q, k, v, part, lse, lengths, head**-0.5, kv_heads, *k.stride()[:3], GROUP=heads // kv_heads,
                                            ROWS=16, HEAD=head, SPLITS=splits, BLOCK_N=block_n, **options)
    merge_kernel[(batch * heads,)](part, lse, out, HEAD=head, SPLITS=splits, num_warps=4)


@triton.jit
def backward_kv_kernel(q_ptr, k_ptr, v_ptr, do_ptr, dk_ptr, dv_ptr, lse_ptr, delta_ptr, scale, length, HEAD: tl.constexpr,
                       CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_n = tl.program_id(0) * BLOCK_N
    base = tl.program_id(1).to(tl.int64) * length
    offs_n, d = start_n + tl.arange(0, BLOCK_N), tl.arange(0, HEAD)
    kv_at = (base + offs_n)[:, None] * HEAD + d[None, :]
    k = tl.load(k_ptr + kv_at)
    v = tl.load(v_ptr + kv_at)
    dk = tl.zeros((BLOCK_N, HEAD), tl.float32)
    dv = tl.zeros((BLOCK_N, HEAD), tl.float32)
    first = start_n // BLOCK_M * BLOCK_M if CAUSAL else 0
    for start_m in range(first, length, BLOCK_M):
        offs_m = start_m + tl.arange(0, BLOCK_M)
        at = base + offs_m
        q_t = tl.load(q_ptr + at[None, :] * HEAD + d[:, None])
        lse = tl.load(lse_ptr + at)
        p_t = tl.math.exp2(tl.dot(k, q_t) * (scale * 1.4426950408889634) - lse[None, :])
        if CAUSAL:
            p_t = tl.where(offs_m[None, :] >= offs_n[:, None], p_t, 0.0)
        do = tl.load(do_ptr + at[:, None] * HEAD + d[None, :])
        dv += tl.dot(p_t.to(do.dtype), do)
        delta = tl.load(delta_ptr + at)
        ds_t = p_t * (tl.dot(v, tl.trans(do)) - delta[None, :])
        dk += tl.dot(ds_t.to(q_t.dtype), tl.trans(q_t))
    tl.store(dv_ptr + kv_at, dv.to(dv_ptr.dtype.element_ty))
    tl.store(dk_ptr + kv_at, (dk * scale).to(dk_ptr.dtype.element_ty))


@triton.jit
def backward_q_kernel(q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, lse_ptr, delta_ptr, scale, length, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_m = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1).to(tl.int64) * length
    offs_m, d = start_m + tl.arange(0, BLOCK_M), tl.arange(0, HEAD)
    q_at = (base + offs_m)[:, None] * HEAD + d[None, :]
    q = tl.load(q_ptr + q_at)
    do = tl.load(do_ptr + q_at)
    lse = tl.load(lse_ptr + base + offs_m)
    delta = tl.load(delta_ptr + base + offs_m)
    dq = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start_n in range(0, start_m + BLOCK_M if CAUSAL else length, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        at = (base + offs_n)[None, :] * HEAD + d[:, None]
        k_t = tl.load(k_ptr + at)
        v_t = tl.load(v_ptr + at)
        p = tl.math.exp2(tl.dot(q, k_t) * (scale * 1.4426950408889634) - lse[:, None])
        if CAUSAL:
            p = tl.where(offs_m[:, None] >= offs_n[None, :], p, 0.0)
        ds = p * (tl.dot(do, v_t) - delta[:, None])
        dq += tl.dot(ds.to(k_t.dtype), tl.trans(k_t))
    tl.store(dq_ptr + q_at, (dq * scale).to(dq_ptr.dtype.element_ty))


def backward(q, k, v, do, lse, delta, dq, dk, dv, causal, block_m=64, block_n=128, **options):
    """q, k, v, do: heads x length x head, dense; lse, delta: heads x length, lse to base 2."""
    heads, length, head = q.shape
    shared = dict(HEAD=head, CAUSAL=causal, **options)
    backward_kv_kernel[(length // block_n, heads)](q, k, v, do, dk, dv, lse, delta, head**-0.5, length, BLOCK_M=block_m, BLOCK_N=block_n,
                                                   **shared)
    backward_q_kernel[(length // block_n, heads)](q, k, v, do, dq, lse, delta, head**-0.5, length, BLOCK_M=block_n, BLOCK_N=block_m,
                                                  **shared)


@triton.jit
def chunked_kernel(q_ptr, k_ptr, v_ptr, g_ptr, o_ptr, length, HEAD: tl.constexpr, CHUNK: tl.constexpr, COLUMNS: tl.constexpr):
    """Linear attention with decay: a state of HEAD x COLUMNS goes from chunk to chunk, within a chunk products do the work."""
    base = tl.program_id(1).to(tl.int64) * length
    c, d = tl.arange(0, CHUNK), tl.arange(0, HEAD)
    col = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    state = tl.zeros((HEAD, COLUMNS), tl.float32)
    for start in range(0, length, CHUNK):
        at = base + start + c
        q = tl.load(q_ptr + at[:, None] * HEAD + d[None, :])
        k_t = tl.load(k_ptr + at[None, :] * HEAD + d[:, None])
        v = tl.load(v_ptr + at[:, None] * HEAD + col[None, :])
        g = tl.cumsum(tl.load(g_ptr + at), 0)
        last = tl.sum(tl.where(c == CHUNK - 1, g, 0.0), 0)
        scores = tl.dot(q, k_t) * tl.exp(g[:, None] - g[None, :])
        scores = tl.where(c[:, None] >= c[None, :], scores, 0.0)
        o = tl.dot(q, state.to(q.dtype)) * tl.exp(g)[:, None] + tl.dot(scores.to(v.dtype), v)
        tl.store(o_ptr + at[:, None] * HEAD + col[None, :], o.to(o_ptr.dtype.element_ty))
        faded = (v * tl.exp(last - g)[:, None]).to(v.dtype)
        state = state * tl.exp(last) + tl.dot(k_t, faded)


def chunked(q, k, v, g, o, chunk=64, columns=64, **options):
    """q, k, v, o: heads x length x head; g: logarithms of decays, heads x length."""
    heads, length, head = q.shape
    chunked_kernel[(head // columns, heads)](q, k, v, g, o, length, HEAD=head, CHUNK=chunk, COLUMNS=columns, **options)
