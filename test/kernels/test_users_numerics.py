"""Kernels of training and of numerics as their users write them: attention over packed sequences with dropout, a loss
behind a projection, moments of eight bits, products that share their work among programs, transforms, scans of tuples."""
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


# --- attention over packed sequences, with dropout, forward and backward ------------------------


@triton.jit
def keep_mask(seed, head, rows, cols, total, p):
    return tl.rand(seed, (head * total + rows[:, None]) * total + cols[None, :]) > p


@triton.jit
def packed_forward_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, cu_ptr, scale, p_drop, seed, total, H: tl.constexpr, D: tl.constexpr,
                          CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    start_m, seq, head = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    begin, end = tl.load(cu_ptr + seq), tl.load(cu_ptr + seq + 1)
    n_ctx = end - begin
    if start_m * M >= n_ctx:
        return
    rows, cols, d = start_m * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + ((begin + rows)[:, None] * H + head) * D + d[None, :], mask=(rows < n_ctx)[:, None], other=0.0)
    m_i = tl.zeros([M], tl.float32) - float("inf")
    l_i = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    hi = min((start_m + 1) * M, n_ctx) if CAUSAL else n_ctx
    for start in range(0, hi, N):
        start = tl.multiple_of(start, N)
        n = start + cols
        at = ((begin + n)[:, None] * H + head) * D + d[None, :]
        k = tl.load(k_ptr + at, mask=(n < n_ctx)[:, None], other=0.0)
        s = tl.dot(q, k.T) * scale
        ok = (n < n_ctx)[None, :]
        if CAUSAL:
            ok = ok & (rows[:, None] >= n[None, :])
        s = tl.where(ok, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        if DROPOUT:
            keep = keep_mask(seed, head, begin + rows, begin + n, total, p_drop)
            p = tl.where(keep, p / (1 - p_drop), 0.0)
        v = tl.load(v_ptr + at, mask=(n < n_ctx)[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    out = ((begin + rows)[:, None] * H + head) * D + d[None, :]
    tl.store(o_ptr + out, acc / l_i[:, None], mask=(rows < n_ctx)[:, None])
    tl.store(lse_ptr + (begin + rows) * H + head, m_i + tl.log(l_i), mask=rows < n_ctx)


@triton.jit
def packed_backward_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, cu_ptr, scale, p_drop, seed, total,
                           H: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    start_n, seq, head = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    begin = tl.load(cu_ptr + seq)
    n_ctx = tl.load(cu_ptr + seq + 1) - begin
    if start_n * N >= n_ctx:
        return
    n, d = start_n * N + tl.arange(0, N), tl.arange(0, D)
    n_ok = (n < n_ctx)[:, None]
    kv = ((begin + n)[:, None] * H + head) * D + d[None, :]
    k, v = tl.load(k_ptr + kv, mask=n_ok, other=0.0), tl.load(v_ptr + kv, mask=n_ok, other=0.0)
    dk, dv = tl.zeros([N, D], tl.float32), tl.zeros([N, D], tl.float32)
    lo = 0
    if CAUSAL:
        lo = start_n * N // M * M
    for start in range(lo, n_ctx, M):
        m = start + tl.arange(0, M)
        m_ok = (m < n_ctx)[:, None]
        at = ((begin + m)[:, None] * H + head) * D + d[None, :]
        q, do = tl.load(q_ptr + at, mask=m_ok, other=0.0), tl.load(do_ptr + at, mask=m_ok, other=0.0)
        lse = tl.load(lse_ptr + (begin + m) * H + head, mask=m < n_ctx, other=0.0)
        delta = tl.load(delta_ptr + (begin + m) * H + head, mask=m < n_ctx, other=0.0)
        pT = tl.exp(tl.dot(k, q.T) * scale - lse[None, :])
        ok = n_ok & (m < n_ctx)[None, :]
        if CAUSAL:
            ok &= n[:, None] <= m[None, :]
        pT = tl.where(ok, pT, 0.0)
        dpT = tl.dot(v, tl.trans(do))
        if DROPOUT:
            keepT = tl.trans(keep_mask(seed, head, begin + m, begin + n, total, p_drop))
            dpT = tl.where(keepT, dpT / (1 - p_drop), 0.0)
            dv += tl.dot(tl.where(keepT, pT / (1 - p_drop), 0.0).to(do.dtype), do)
        else:
            dv += tl.dot(pT.to(do.dtype), do)
        dsT = (pT * (dpT - delta[None, :])).to(q.dtype)
        dk += tl.dot(dsT, q)
        dq = tl.dot(tl.trans(dsT), k) * scale
        tl.atomic_add(dq_ptr + at, dq, mask=m_ok, sem="relaxed")
    tl.store(dk_ptr + kv, (dk * scale).to(dk_ptr.dtype.element_ty), mask=n_ok)
    tl.store(dv_ptr + kv, dv.to(dv_ptr.dtype.element_ty), mask=n_ok)


@triton.jit
def rand_kernel(out_ptr, seed, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out_ptr + at, tl.rand(seed, at), mask=at < n)


@pytest.mark.parametrize("causal, p_drop", [(True, 0.25), (False, 0.0)])
def test_packed_sequences_with_dropout(target, causal, p_drop):
    lengths, H, D, seed = [19, 1, 0, 40], 2, 16, 17
    total = sum(lengths)
    cu = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)
    q, k, v, do = (normal(total, H, D, seed=s, dtype=torch.float16) for s in range(4))
    o, lse = torch.full_like(q, float("nan")), torch.full((total, H), float("nan"))
    common = dict(H=H, D=D, CAUSAL=causal, DROPOUT=p_drop > 0, M=16, N=16)
    packed_forward_kernel[(3, len(lengths), H)](q, k, v, o, lse, cu, D**-0.5, p_drop, seed, total, **common)
    delta = (o.float() * do.float()).sum(-1).contiguous()
    dq, dk, dv = torch.zeros(total, H, D), torch.full_like(k, float("nan")), torch.full_like(v, float("nan"))
    packed_backward_kernel[(3, len(lengths), H)](q, k, v, do, lse, delta, dq, dk, dv, cu, D**-0.5, p_drop, seed, total, **common)
    noise = torch.zeros(H, total, total)
    rand_kernel[(triton.cdiv(noise.numel(), 1024),)](noise, seed, noise.numel(), B=1024)
    qd, kd, vd = (t.double().requires_grad_() for t in (q, k, v))
    outs = []
    for b, e in zip(cu[:-1], cu[1:]):
        s = torch.einsum("mhd,nhd->hmn", qd[b:e], kd[b:e]) * D**-0.5
        if causal:
            s = s.masked_fill(~torch.ones(e - b, e - b, dtype=torch.bool).tril(), -torch.inf)
        p = s.softmax(-1)
        if p_drop:
            p = torch.where(noise[:, b:e, b:e] > p_drop, p / (1 - p_drop), 0.0)
        outs.append(torch.einsum("hmn,nhd->mhd", p, vd[b:e]))
    expected = torch.cat(outs)
    expected.backward(do.double())
    for actual, wanted in ((o, expected), (dq, qd.grad), (dk, kd.grad), (dv, vd.grad)):
        close(actual, wanted, 2e-2)


# --- a loss whose logits are never stored: products in two loops --------------------------------


@triton.jit
def projected_loss_kernel(x_ptr, w_ptr, y_ptr, loss_ptr, lse_ptr, T, V, K, IGNORE: tl.constexpr, BT: tl.constexpr, BV: tl.constexpr,
                          BK: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    y = tl.load(y_ptr + t, mask=t < T, other=IGNORE)
    m, l, picked = tl.full([BT], float("-inf"), tl.float32), tl.zeros([BT], tl.float32), tl.zeros([BT], tl.float32)
    for v0 in range(0, V, BV):
        v = v0 + tl.arange(0, BV)
        acc = tl.zeros([BT, BV], tl.float32)
        for k0 in range(0, K, BK):
            k = k0 + tl.arange(0, BK)
            a = tl.load(x_ptr + t[:, None] * K + k[None, :], mask=(t < T)[:, None] & (k < K)[None, :], other=0.0)
            b = tl.load(w_ptr + v[:, None] * K + k[None, :], mask=(v < V)[:, None] & (k < K)[None, :], other=0.0)
            acc += tl.dot(a, b.T, input_precision="ieee")
        acc = tl.where((v < V)[None, :], acc, float("-inf"))
        picked += tl.sum(tl.where(v[None, :] == y[:, None], acc, 0.0), 1)
        m, old = tl.maximum(m, tl.max(acc, 1)), m
        l = l * tl.exp(old - m) + tl.sum(tl.exp(acc - m[:, None]), 1)
    lse = m + tl.log(l)
    tl.store(lse_ptr + t, lse, mask=t < T)
    tl.store(loss_ptr + t, tl.where(y == IGNORE, 0.0, lse - picked), mask=t < T)


def test_loss_without_logits(target):
    T, V, K = 21, 53, 40
    x, w = normal(T, K, seed=1), normal(V, K, seed=2)
    y = integers(0, V, T, seed=3, dtype=torch.int64)
    y[4] = -100
    loss, lse = torch.full((T,), float("nan")), torch.full((T,), float("nan"))
    projected_loss_kernel[(2,)](x, w, y, loss, lse, T, V, K, IGNORE=-100, BT=16, BV=16, BK=16)
    close(loss, torch.nn.functional.cross_entropy(x.double() @ w.double().T, y, reduction="none"), 1e-4)
    close(lse, (x.double() @ w.double().T).logsumexp(-1), 1e-4)


# --- a policy's loss, with clipping on two sides -------------------------------------------------


@triton.jit
def policy_kernel(logp_ptr, old_ptr, ref_ptr, advantage_ptr, mask_ptr, loss_ptr, kl_ptr, clipped_ptr, L, eps_low, eps_high, beta,
                  LEVEL: tl.constexpr = "token", BLOCK: tl.constexpr = 32):
    seq = tl.program_id(0)
    advantage = tl.load(advantage_ptr + seq).to(tl.float32)
    log_ratio_mean = 0.0
    kept = 0.0
    if LEVEL == "sequence":
        for start in range(0, L, BLOCK):
            at = start + tl.arange(0, BLOCK)
            keep = tl.load(mask_ptr + seq * L + at, mask=at < L, other=0).to(tl.float32)
            diff = tl.load(logp_ptr + seq * L + at, mask=at < L, other=0) - tl.load(old_ptr + seq * L + at, mask=at < L, other=0)
            log_ratio_mean += tl.sum(diff * keep)
            kept += tl.sum(keep)
        log_ratio_mean /= tl.maximum(kept, 1)
    for start in range(0, L, BLOCK):
        at = seq * L + start + tl.arange(0, BLOCK)
        inside = start + tl.arange(0, BLOCK) < L
        keep = tl.load(mask_ptr + at, mask=inside, other=0) != 0
        logp = tl.load(logp_ptr + at, mask=inside, other=0)
        if LEVEL == "sequence":
            log_ratio = log_ratio_mean
        else:
            log_ratio = logp - tl.load(old_ptr + at, mask=inside, other=0)
        ratio = tl.exp(log_ratio)
        clipped = tl.clamp(ratio, 1 - eps_low, 1 + eps_high)
        loss = -tl.minimum(ratio * advantage, clipped * advantage)
        if ref_ptr is not None:
            d = tl.load(ref_ptr + at, mask=inside, other=0) - logp
            kl = tl.exp(d) - d - 1
            tl.store(kl_ptr + at, tl.where(keep, kl, 0), mask=inside)
            loss = loss + beta * kl
        tl.store(loss_ptr + at, tl.where(keep, loss, 0.0), mask=inside)
        low = (ratio < 1 - eps_low) and (advantage < 0)
        high = (ratio > 1 + eps_high) and (advantage > 0)
        tl.store(clipped_ptr + at, (low or high) and keep, mask=inside)


@pytest.mark.parametrize("level, reference", [("token", True), ("sequence", False)])
def test_policy_loss(target, level, reference):
    B, L, low, high, beta = 3, 45, 0.2, 0.28, 0.04
    logp, old, ref = (-normal(B, L, seed=s).abs() * 0.5 for s in range(3))
    advantage, mask = torch.tensor([1.5, -0.5, 0.25]), (integers(0, 4, B, L, seed=4) > 0)
    loss, kl, clipped = torch.full((B, L), float("nan")), torch.full((B, L), float("nan")), torch.zeros(B, L, dtype=torch.bool)
    policy_kernel[(B,)](logp, old, ref if reference else None, advantage, mask, loss, kl, clipped, L, low, high, beta, LEVEL=level)
    x, a = (logp - old).double(), advantage[:, None].double()
    if level == "sequence":
        x = ((x * mask).sum(-1) / mask.sum(-1))[:, None].expand(B, L)
    r = x.exp()
    expected = -torch.minimum(r * a, r.clamp(1 - low, 1 + high) * a)
    d = (ref - logp).double()
    if reference:
        expected = expected + beta * (d.exp() - d - 1)
        close(kl, (d.exp() - d - 1) * mask, 1e-5)
    close(loss, expected * mask, 1e-5)
    assert torch.equal(clipped, (((r < 1 - low) & (a < 0)) | ((r > 1 + high) & (a > 0))) & mask)


# --- a symmetric product, one triangle of which is mirrored: five steps of an orthogonalization --


@triton.jit
def symmetric_kernel(a_ptr, c_ptr, add_ptr, M, K, alpha, beta, stride_m, stride_k, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    """C = alpha * A @ A.T + beta * ADD, symmetric."""
    i, j = tl.program_id(0), tl.program_id(1)
    if i < j:
        return
    m, n, k = i * BLOCK + tl.arange(0, BLOCK), j * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k0 in range(tl.cdiv(K, BLOCK_K)):
        kk = k0 * BLOCK_K + k
        a = tl.load(a_ptr + m[:, None] * stride_m + kk[None, :] * stride_k, mask=(m[:, None] < M) & (kk[None, :] < K), other=0.0)
        b = tl.load(a_ptr + n[:, None] * stride_m + kk[None, :] * stride_k, mask=(n[:, None] < M) & (kk[None, :] < K), other=0.0)
        acc = tl.dot(a, b.T, acc)
    acc *= alpha
    mask = (m[:, None] < M) & (n[None, :] < M)
    if add_ptr is not None:
        acc += beta * tl.load(add_ptr + m[:, None] * M + n[None, :], mask=mask, other=0.0).to(tl.float32)
    out = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + m[:, None] * M + n[None, :], out, mask=mask)
    if i != j:
        tl.store(c_ptr + n[:, None] * M + m[None, :], tl.permute(out, (1, 0)), mask=tl.trans(mask))


@pytest.mark.parametrize("transposed", [False, True])
def test_orthogonalization_by_symmetric_products(target, transposed):
    M, K = 37, 50
    x = normal(K, M, seed=1, dtype=torch.bfloat16).T if transposed else normal(M, K, seed=1, dtype=torch.bfloat16)
    x = x / x.float().norm().to(torch.bfloat16)
    a, b, c = 3.4445, -4.7750, 2.0315
    grid = (triton.cdiv(M, 16), triton.cdiv(M, 16))
    for _ in range(3):
        gram, poly = (torch.full((M, M), float("nan"), dtype=torch.bfloat16) for _ in range(2))
        symmetric_kernel[grid](x, gram, None, M, K, 1.0, 0.0, *x.stride(), BLOCK=16, BLOCK_K=32)
        close(gram, x.double() @ x.double().T, 1e-2)
        symmetric_kernel[grid](gram, poly, gram, M, M, c, b, M, 1, BLOCK=16, BLOCK_K=32)
        close(poly, b * gram.double() + c * gram.double() @ gram.double().T, 2e-2)
        assert torch.equal(poly, poly.T)
        x = a * x + poly @ x


# --- moments of eight bits, by blocks and a table that is searched ------------------------------


@triton.jit
def nearest(table_ptr, x, STEPS: tl.constexpr):
    low = tl.zeros_like(x).to(tl.int32)
    high = low + 255
    for _ in tl.static_range(STEPS):
        middle = (low + high) // 2
        below = tl.load(table_ptr + middle) < x
        low = tl.where(below, middle + (low + 1 < high), low)
        high = tl.where(below, high, middle)
    other = tl.maximum(high - 1, 0)
    return tl.where(tl.abs(tl.load(table_ptr + other) - x) <= tl.abs(tl.load(table_ptr + high) - x), other, high).to(tl.uint8)


@triton.jit
def adam8_kernel(p_ptr, g_ptr, m_ptr, v_ptr, m_scale_ptr, v_scale_ptr, signed_ptr, unsigned_ptr, n, lr, beta1, beta2, eps, decay, step,
                 skip_ptr, BLOCK: tl.constexpr):
    if skip_ptr is not None and tl.load(skip_ptr) != 0.0:
        return
    b = tl.program_id(0)
    at = b * BLOCK + tl.arange(0, BLOCK)
    ok = at < n
    p, g = tl.load(p_ptr + at, mask=ok, other=0.0).to(tl.float32), tl.load(g_ptr + at, mask=ok, other=0.0).to(tl.float32)
    m = tl.load(signed_ptr + tl.load(m_ptr + at, mask=ok, other=0)) * tl.load(m_scale_ptr + b)
    v = tl.load(unsigned_ptr + tl.load(v_ptr + at, mask=ok, other=0)) * tl.load(v_scale_ptr + b)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    m_hat, v_hat = m / (1 - tl.exp2(step * tl.log2(beta1))), v / (1 - tl.exp2(step * tl.log2(beta2)))
    p *= 1 - lr * decay
    p -= lr * m_hat / (tl.sqrt(v_hat) + eps)
    tl.store(p_ptr + at, p, mask=ok)
    m_scale, v_scale = tl.max(tl.where(ok, tl.abs(m), 0)), tl.max(tl.where(ok, v, 0))
    tl.store(m_scale_ptr + b, m_scale)
    tl.store(v_scale_ptr + b, v_scale)
    tl.store(m_ptr + at, nearest(signed_ptr, m / tl.maximum(m_scale, 1e-30), 9), mask=ok)
    tl.store(v_ptr + at, nearest(unsigned_ptr, v / tl.maximum(v_scale, 1e-30), 9), mask=ok)


@pytest.mark.parametrize("skip", [None, 0.0, 1.0])
def test_adam_with_moments_of_eight_bits(target, skip):
    n, BLOCK = 300, 128
    blocks = triton.cdiv(n, BLOCK)
    signed = torch.linspace(-1, 1, 256) ** 3
    unsigned = torch.linspace(0, 1, 256) ** 2
    p, g = normal(n, seed=1, dtype=torch.bfloat16), normal(n, seed=2, dtype=torch.bfloat16)
    m, v = integers(0, 256, n, seed=3, dtype=torch.uint8), integers(0, 256, n, seed=4, dtype=torch.uint8)
    m_scale, v_scale = normal(blocks, seed=5).abs(), normal(blocks, seed=6).abs()
    before = p.clone()
    each = torch.arange(n) // BLOCK
    md = 0.9 * signed[m.long()].double() * m_scale[each] + 0.1 * g.double()
    vd = 0.99 * unsigned[v.long()].double() * v_scale[each] + 0.01 * g.double()**2
    expected = p.double() * (1 - 1e-2 * 0.1) - 1e-2 * (md / (1 - 0.9**3)) / ((vd / (1 - 0.99**3)).sqrt() + 1e-8)
    adam8_kernel[(blocks,)](p, g, m, v, m_scale, v_scale, signed, unsigned, n, 1e-2, 0.9, 0.99, 1e-8, 0.1, 3,
                            None if skip is None else torch.tensor(skip), BLOCK=BLOCK)
    if skip:
        assert torch.equal(p, before)
        return
    close(p, expected, 1e-2)
    for code, table, scale, exact in ((m, signed, m_scale, md), (v, unsigned, v_scale, vd)):
        found = table[code.long()].double()
        wanted = exact / scale[each]
        best = (table[None, :].double() - wanted[:, None]).abs().min(1).values
        assert ((found - wanted).abs() <= best + 1e-5).all()


# --- products that share their work: by streams with locks, and by parts with a counter ----------


@triton.jit
def stream_kernel(a_ptr, b_ptr, c_ptr, part_ptr, lock_ptr, M, N, K, per_program, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    tiles_n, steps = tl.cdiv(N, BN), tl.cdiv(K, BK)
    every = tl.cdiv(M, BM) * tiles_n * steps
    at = pid * per_program
    last = tl.minimum(at + per_program, every)
    while at < last:
        tile, first = at // steps, at % steps
        stop = tl.minimum(steps, first + last - at)
        m, n = tile // tiles_n * BM + tl.arange(0, BM), tile % tiles_n * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for s in range(first, stop):
            k = s * BK + tl.arange(0, BK)
            a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
            b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
            acc = tl.dot(a, b, acc)
        tile_at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
        if stop < steps:
            tl.store(part_ptr + pid * BM * BN + tile_at, acc, cache_modifier=".cg")
            tl.debug_barrier()
            tl.atomic_xchg(lock_ptr + pid, 1, sem="release")
        else:
            # Parts of this tile that earlier programs have made: a program may wait for those, which have started.
            begin, helper = first, pid - 1
            while begin > 0:
                while tl.atomic_cas(lock_ptr + helper, 1, 1, sem="acquire") != 1:
                    pass
                tl.debug_barrier()
                acc += tl.load(part_ptr + helper * BM * BN + tile_at, volatile=True)
                begin -= per_program
                helper -= 1
            tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])
        at += stop - first


@pytest.mark.parametrize("programs", [1, 2, 5, 13])
def test_streams_of_products(target, programs):
    M, N, K = 30, 40, 90
    a, b = normal(M, K, seed=1, dtype=torch.float16), normal(K, N, seed=2, dtype=torch.float16)
    c = torch.full((M, N), float("nan"))
    every = 2 * 3 * 6
    parts, locks = torch.zeros(programs, 16, 16), torch.zeros(programs, dtype=torch.int32)
    stream_kernel[(programs,)](a, b, c, parts, locks, M, N, K, triton.cdiv(every, programs), BM=16, BN=16, BK=16)
    close(c, a.double() @ b.double(), 1e-2)


@triton.jit
def parts_kernel(a_ptr, b_ptr, c_ptr, part_ptr, counter_ptr, M, N, K, SPLIT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile, part = tl.program_id(0), tl.program_id(1)
    tiles_n = tl.cdiv(N, BN)
    m, n = tile // tiles_n * BM + tl.arange(0, BM), tile % tiles_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(part * BK, K, SPLIT * BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
        acc += tl.dot(a, b)
    inner = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)
    tl.store(part_ptr + (tile * SPLIT + part) * BM * BN + inner, acc)
    tl.debug_barrier()
    if tl.atomic_inc(counter_ptr + tile) if False else tl.atomic_add(counter_ptr + tile, 1) == SPLIT - 1:
        total = tl.zeros((BM, BN), tl.float32)
        for i in tl.static_range(SPLIT):
            total += tl.load(part_ptr + (tile * SPLIT + i) * BM * BN + inner, cache_modifier=".cg")
        tl.store(c_ptr + m[:, None] * N + n, total, mask=(m < M)[:, None] & (n < N))
        tl.store(counter_ptr + tile, 0)


def test_last_part_adds_all(target):
    M, N, K = 20, 30, 100
    a, b = normal(M, K, seed=1, dtype=torch.bfloat16), normal(K, N, seed=2, dtype=torch.bfloat16)
    c, counters = torch.full((M, N), float("nan")), torch.zeros(4, dtype=torch.int32)
    parts = torch.zeros(4, 3, 16, 16)
    for _ in range(2):
        parts_kernel[(4, 3)](a, b, c, parts, counters, M, N, K, SPLIT=3, BM=16, BN=16, BK=16)
        close(c, a.double() @ b.double(), 1e-2)
        assert not counters.any()


# --- transforms by butterflies, a sort by hand, masks of two in four ------------------------------


@triton.jit
def hadamard_kernel(x_ptr, out_ptr, scale, N: tl.constexpr, LOG: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    x = tl.load(x_ptr + row[:, None] * N + tl.arange(0, N)[None, :]).to(tl.float32)
    for _ in tl.static_range(LOG):
        a, b = tl.split(x.reshape(ROWS, N // 2, 2))
        x = tl.join(a + b, a - b).permute(0, 2, 1).reshape(ROWS, N)
    tl.store(out_ptr + row[:, None] * N + tl.arange(0, N)[None, :], x * scale)


def test_hadamard_transform(target):
    N, LOG = 32, 5
    x = normal(4, N, seed=1)
    out = torch.full_like(x, float("nan"))
    hadamard_kernel[(2,)](x, out, N**-0.5, N=N, LOG=LOG, ROWS=2)
    h = torch.ones(1, 1, dtype=torch.float64)
    for _ in range(LOG):
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
    close(out, x.double() @ h * N**-0.5, 1e-5)


@triton.jit
def swap_with_payload(key, value, flip, i: tl.constexpr, LOG: tl.constexpr):
    shape: tl.constexpr = [2**i, 2, 2**(LOG - i - 1)]
    k, v = tl.reshape(key, shape), tl.reshape(value, shape)
    side = tl.arange(0, 2)[None, :, None]
    k_low, k_high = tl.sum(k * (1 - side), 1), tl.sum(k * side, 1)
    v_low, v_high = tl.sum(v * (1 - side), 1), tl.sum(v * side, 1)
    other_k = tl.where(side == 0, k_high[:, None, :], k_low[:, None, :])
    other_v = tl.where(side == 0, v_high[:, None, :], v_low[:, None, :])
    swap = (k_low > k_high)[:, None, :] != (flip.reshape(shape) != 0)
    return tl.where(swap, other_k, k).reshape(2**LOG), tl.where(swap, other_v, v).reshape(2**LOG)


@triton.jit
def sort_pairs_kernel(key_ptr, value_ptr, n, LOG: tl.constexpr):
    SIZE: tl.constexpr = 2**LOG
    at = tl.arange(0, SIZE)
    key = tl.load(key_ptr + at, mask=at < n, other=2**30)
    value = tl.load(value_ptr + at, mask=at < n, other=0)
    for stage in tl.static_range(1, LOG + 1):
        if stage < LOG:
            shape: tl.constexpr = [2**(LOG - 1 - stage), 2, 2**stage]
            flip = tl.broadcast_to(tl.arange(0, 2)[None, :, None], shape).reshape(SIZE)
        else:
            flip = tl.zeros([SIZE], tl.int32)
        for i in tl.static_range(stage):
            key, value = swap_with_payload(key, value, flip, i + (LOG - stage), LOG)
    tl.store(key_ptr + at, key, mask=at < n)
    tl.store(value_ptr + at, value, mask=at < n)


def test_sort_of_pairs_by_hand(target):
    n = 27
    keys = torch.randperm(100, generator=torch.Generator().manual_seed(1))[:n].int() - 50
    values = torch.arange(n, dtype=torch.int32)
    right = keys.sort()
    sort_pairs_kernel[(1,)](keys, values, n, LOG=5, num_warps=2)
    assert torch.equal(keys, right.values) and torch.equal(values.long(), right.indices)


@triton.jit
def larger(a_value, a_index, b_value, b_index):
    first = (a_value > b_value) or (a_value == b_value and a_index < b_index)
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


@triton.jit
def two_of_four_kernel(w_ptr, mask_ptr, meta_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w = tl.abs(tl.load(w_ptr + at, mask=at < n, other=0.0)).to(tl.float32).reshape(BLOCK // 4, 4)
    lane = tl.broadcast_to(tl.arange(0, 4)[None, :], (BLOCK // 4, 4))
    _, first = tl.reduce((w, lane), 1, larger)
    _, second = tl.reduce((tl.where(lane == first[:, None], -1.0, w), lane), 1, larger)
    keep = (lane == first[:, None]) | (lane == second[:, None])
    tl.store(mask_ptr + at, keep.reshape(BLOCK), mask=at < n)
    low, high = tl.minimum(first, second), tl.maximum(first, second)
    group = tl.program_id(0) * (BLOCK // 4) + tl.arange(0, BLOCK // 4)
    tl.store(meta_ptr + group, (low | high << 2).to(tl.uint8), mask=group * 4 < n)


def test_masks_of_two_in_four(target):
    n = 200
    w = (integers(-3, 4, n, seed=1) * 0.5).half()  # many are equal: the first ones stay
    mask, meta = torch.zeros(n, dtype=torch.bool), torch.zeros(n // 4, dtype=torch.uint8)
    two_of_four_kernel[(4,)](w, mask, meta, n, BLOCK=64)
    order = w.abs().reshape(-1, 4).sort(descending=True, stable=True, dim=1).indices[:, :2].sort(1).values
    assert torch.equal(mask, torch.zeros(n // 4, 4, dtype=torch.bool).scatter_(1, order, True).flatten())
    assert torch.equal(meta.long(), order[:, 0] | order[:, 1] << 2)


# --- scans and sums of tuples ----------------------------------------------------------------------


@triton.jit
def linear(a1, b1, c1, a2, b2, c2):
    return a1 * a2, b1 * a2 + b2, c1 + c2


@triton.jit
def recurrence_kernel(a_ptr, x_ptr, h_ptr, count_ptr, T, D, REVERSE: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    state, seen = tl.zeros([BD], tl.float32), tl.zeros([BD], tl.int32)
    for i in range(0, tl.cdiv(T, BT)):
        t = ((tl.cdiv(T, BT) - 1 - i) if REVERSE else i) * BT + tl.arange(0, BT)
        ok = (t < T)[:, None] & (d < D)[None, :]
        at = t[:, None] * D + d[None, :]
        a, x = tl.load(a_ptr + at, mask=ok, other=1.0), tl.load(x_ptr + at, mask=ok, other=0.0)
        decay, h, positive = tl.associative_scan((a, x, (x > 0).to(tl.int32)), 0, linear, reverse=REVERSE)
        h += decay * state[None, :]
        positive += seen[None, :]
        tl.store(h_ptr + at, h, mask=ok)
        tl.store(count_ptr + at, positive, mask=ok)
        edge = (tl.arange(0, BT) == (0 if REVERSE else BT - 1))[:, None]
        state, seen = tl.sum(tl.where(edge, h, 0.0), 0), tl.sum(tl.where(edge, positive, 0), axis=0)


@pytest.mark.parametrize("reverse", [False, True])
def test_recurrence_by_scans_of_triples(target, reverse):
    T, D = 37, 10
    a, x = normal(T, D, seed=1).sigmoid(), normal(T, D, seed=2)
    h, count = torch.full((T, D), float("nan")), torch.full((T, D), -1, dtype=torch.int32)
    recurrence_kernel[(2,)](a, x, h, count, T, D, REVERSE=reverse, BT=16, BD=8)
    state, expected = torch.zeros(D, dtype=torch.float64), torch.zeros(T, D, dtype=torch.float64)
    for t in reversed(range(T)) if reverse else range(T):
        expected[t] = state = a[t] * state + x[t]
    close(h, expected, 1e-4)
    positive = (x > 0).int()
    assert torch.equal(count, (positive.flip(0).cumsum(0).flip(0) if reverse else positive.cumsum(0)).int())


@triton.jit
def merged(mean1, m1, n1, mean2, m2, n2):
    n = n1 + n2
    part = tl.where(n == 0, 0.0, n2 / n)
    delta = mean2 - mean1
    return mean1 + delta * part, m1 + m2 + delta * delta * n1 * part, n


@triton.jit
def moments_kernel(x_ptr, mean_ptr, rstd_ptr, n, eps, GROUPS: tl.constexpr, SPATIAL: tl.constexpr, CHANNELS: tl.constexpr):
    """Means and deviations of groups of channels: a tile of three dimensions, reduced over two at once."""
    b = tl.program_id(0)
    g, c, s = tl.arange(0, GROUPS)[:, None, None], tl.arange(0, CHANNELS)[None, :, None], tl.arange(0, SPATIAL)[None, None, :]
    ok = tl.broadcast_to(s < n, [GROUPS, CHANNELS, SPATIAL])
    x = tl.load(x_ptr + (b * GROUPS * CHANNELS + g * CHANNELS + c) * n + s, mask=ok, other=0).to(tl.float32)
    count = ok.to(tl.float32)
    mean, m2, count = tl.reduce((x, tl.zeros_like(x), count), 2, merged)
    mean, m2, count = tl.reduce((mean, m2, count), 1, merged)
    tl.store(mean_ptr + b * GROUPS + tl.arange(0, GROUPS), mean)
    tl.store(rstd_ptr + b * GROUPS + tl.arange(0, GROUPS), tl.rsqrt(m2 / count + eps))


def test_moments_of_three_dimensions(target):
    B, G, C, S = 2, 4, 4, 13
    x = normal(B, G, C, S, seed=1, dtype=torch.bfloat16) + 3
    mean, rstd = torch.zeros(B, G), torch.zeros(B, G)
    moments_kernel[(B,)](x, mean, rstd, S, 1e-5, GROUPS=G, SPATIAL=16, CHANNELS=C)
    flat = x.double().flatten(2)
    close(mean, flat.mean(-1), 1e-5)
    close(rstd, (flat.var(-1, unbiased=False) + 1e-5).rsqrt(), 1e-4)


# --- spellings that such kernels have --------------------------------------------------------------


@triton.constexpr_function
def is_power_of_two(n):
    return n & (n - 1) == 0


@triton.jit
def spelled(x, scale=2.0, *, shift: tl.constexpr = 1):
    def_shift: tl.constexpr = shift if shift is not None else 0
    return x * scale + def_shift, (x, x.to(tl.int32))


@triton.jit
def spelling_kernel(x_ptr, out_ptr, flags_ptr, n, other_ptr, MODE: tl.constexpr, DTYPE: tl.constexpr, FN: tl.constexpr, SIZES: tl.constexpr,
                    BLOCK: tl.constexpr):
    tl.static_assert(is_power_of_two(BLOCK), f"BLOCK={BLOCK}")
    tl.static_assert(len(SIZES) == 2 and SIZES[0] < SIZES[1])
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = (0 <= at) & (at < n)
    x = tl.load(x_ptr + at[::1] if False else x_ptr + at, ok)
    x = x.to(DTYPE)
    y, (same, whole) = spelled(x, shift=SIZES[0])
    if not MODE or MODE == "plain":
        y = FN(y, SIZES[1])
    elif "both" in MODE:
        y = FN(FN(y, 1), b=SIZES[-1])
    if other_ptr is not None:
        y -= tl.load(other_ptr + at, mask=ok, other=0)
    flags = (x > 0 and x < 1) or not (x > -1)
    acc = whole * 0
    for _ in tl.static_range(3, 0, -1):
        for j in tl.static_range(2):
            acc += _ * (j + 1)
    tl.store(flags_ptr + at, flags.to(tl.int32) + acc * 10 + -7 // 2 % 5, mask=ok)
    tl.store(out_ptr + at, y + (same - x), mask=ok)


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def plus(a, b: tl.constexpr = 3):
    return a + b


@pytest.mark.parametrize("mode, fn", [("plain", times), (None, plus), ("in both", plus), ("neither", times)])
def test_spellings_of_modes(target, mode, fn):
    n = 50
    x, other = normal(n, seed=1, dtype=torch.float16), normal(n, seed=2) if mode else None
    out, flags = torch.full((n,), float("nan")), torch.full((n,), -1, dtype=torch.int32)
    spelling_kernel[(2,)](x, out, flags, n, other, MODE=mode, DTYPE=tl.float32, FN=fn, SIZES=(1, 4), BLOCK=32)
    y = x.float() * 2 + 1
    call = (lambda a, b: a * b) if fn is times else (lambda a, b: a + b)
    y = call(y, 4) if mode in (None, "plain") else call(call(y, 1), 4) if "both" in mode else y
    close(out, y - (other if mode else 0), 1e-6)
    # In integers `/` and `%` of known numbers are Python's, and 18 is the sum of what the loops add.
    assert torch.equal(flags, ((x > 0) & (x < 1) | ~(x > -1)).int() + 180 + -7 // 2 % 5)


@triton.jit
def mirrored_kernel(x_ptr, out_ptr, H, W, stride_h, stride_w, BH: tl.constexpr, BW: tl.constexpr):
    """Strides may be negative: the tile is read backwards."""
    h, w = tl.program_id(0) * BH + tl.arange(0, BH), tl.program_id(1) * BW + tl.arange(0, BW)
    ok = (h < H)[:, None] & (w < W)[None, :]
    x = tl.load(x_ptr + h[:, None] * stride_h + w[None, :] * stride_w, mask=ok, other=0)
    block = tl.make_block_ptr(x_ptr, shape=(H, W), strides=(stride_h, stride_w), offsets=(tl.program_id(0) * BH, tl.program_id(1) * BW),
                              block_shape=(BH, BW), order=(1, 0))
    again = tl.load(block, boundary_check=(0, 1), padding_option="zero")
    tl.store(out_ptr + h[:, None] * W + w[None, :], x + again, mask=ok)


@pytest.mark.parametrize("shape", [(5, 33), (8, 16), (1, 1)])
def test_strides_below_zero(target, shape):
    H, W = shape
    x = normal(H, W, seed=1)
    out = torch.full_like(x, float("nan"))
    mirrored_kernel[(triton.cdiv(H, 4), triton.cdiv(W, 16))](x.flatten()[H * W - 1:], out, H, W, -W, -1, BH=4, BW=16)
    close(out, 2 * x.flip(0, 1), 0)
