"""Products that are read transposed are computed transposed: attention's gradients for keys as people write them, and tiles around
the product that must change their order of dimensions with it, or keep it."""
import pytest
import torch

import tegula as triton
import tegula.language as tl

TARGETS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu), "cpu"]


@triton.jit
def keys_gradient_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, bias_ptr, scale, rows, columns,
                         FORM: tl.constexpr, CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """The gradients of a block of keys and of values; scores lie with queries in rows, so that both products read them transposed."""
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    k = tl.load(k_ptr + n[:, None] * D + d[None, :], mask=n[:, None] < columns, other=0.0)
    v = tl.load(v_ptr + n[:, None] * D + d[None, :], mask=n[:, None] < columns, other=0.0)
    dk = tl.zeros([BLOCK_N, D], tl.float32)
    dv = tl.zeros([BLOCK_N, D], tl.float32)
    first = tl.program_id(0) * BLOCK_N // BLOCK_M * BLOCK_M if CAUSAL else 0
    for start in range(first, rows, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        q = tl.load(q_ptr + m[:, None] * D + d[None, :], mask=m[:, None] < rows, other=0.0)
        do = tl.load(do_ptr + m[:, None] * D + d[None, :], mask=m[:, None] < rows, other=0.0)
        if FORM == "stepwise":
            lse = tl.load(lse_ptr + m[:, None], mask=m[:, None] < rows, other=0.0)
            delta = tl.load(delta_ptr + m[:, None], mask=m[:, None] < rows, other=0.0)
        else:
            lse = tl.load(lse_ptr + m, mask=m < rows, other=0.0)[:, None]
            delta = tl.load(delta_ptr + m, mask=m < rows, other=0.0)[:, None]
        keep = (m[:, None] < rows) & (n[None, :] < columns)
        if FORM == "bias":
            bias = tl.load(bias_ptr + m[:, None] * columns + n[None, :], mask=keep, other=0.0)
            s = tl.dot(q, tl.trans(k), acc=bias.to(tl.float32) / scale) * scale
        else:
            s = tl.dot(q, tl.trans(k)) * scale
        if FORM == "branch":
            if start % (2 * BLOCK_M) == 0:
                s = s + tl.load(bias_ptr).to(tl.float32)  # 0
        if CAUSAL:
            keep = keep & (m[:, None] >= n[None, :])
        p = tl.where(keep, tl.exp(s - lse), 0.0)
        dp = tl.dot(do, tl.trans(v))
        if FORM == "dropped":
            kept = tl.rand(7, m[:, None] * columns + n[None, :]) > 0.25
            dv += tl.dot(tl.trans(tl.where(kept, p / 0.75, 0.0).to(do.dtype)), do)
            dp = tl.where(kept, dp / 0.75, 0.0)
        else:
            dv += tl.dot(tl.trans(p.to(do.dtype)), do)
        ds = p * (dp - delta) * scale
        if FORM == "stored":
            tl.store(bias_ptr + m[:, None] * columns + n[None, :], ds.to(bias_ptr.dtype.element_ty), mask=keep)
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q)
    tl.store(dk_ptr + n[:, None] * D + d[None, :], dk.to(dk_ptr.dtype.element_ty), mask=n[:, None] < columns)
    tl.store(dv_ptr + n[:, None] * D + d[None, :], dv.to(dv_ptr.dtype.element_ty), mask=n[:, None] < columns)


@triton.jit
def kept_kernel(out, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """out[m, n]: is the score kept by the dropout?"""
    m, n = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    keep = tl.rand(7, m[:, None] * columns + n[None, :]) > 0.25
    tl.store(out + m[:, None] * columns + n[None, :], keep.to(tl.float32), mask=(m[:, None] < rows) & (n[None, :] < columns))


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("form, dtype", [("plain", torch.float16), ("plain", torch.float32), ("bias", torch.float16), ("dropped", torch.bfloat16),
                                         ("stepwise", torch.float16), ("stored", torch.float16), ("branch", torch.float16)], ids=str)
@pytest.mark.parametrize("config", [(32, 64, 32, 4, 2), (64, 16, 16, 2, 2), (64, 64, 64, 4, 3)], ids=str)
def test_gradients_of_keys(target, form, dtype, causal, config):
    block_m, block_n, d, warps, stages = config
    rows = columns = 100
    torch.manual_seed(1)
    q, k, v, do = (torch.randn(rows, d).to(dtype) for _ in range(4))
    bias = torch.randn(rows, columns).to(dtype) if form == "bias" else torch.zeros(rows, columns, dtype=dtype)
    scale = d ** -0.5
    kept = torch.ones(rows, columns)
    if form == "dropped":
        kept_kernel[(1,)](kept, rows, columns, BLOCK_M=128, BLOCK_N=128)
        kept = kept.cpu() / 0.75
    exact = [t.double().requires_grad_() for t in (q, k, v)]
    s = exact[0] @ exact[1].T * scale + bias.double()
    if causal:
        s = s.masked_fill(torch.ones(rows, columns).triu(1).bool(), float("-inf"))
    o = (torch.softmax(s, 1) * kept) @ exact[2]
    o.backward(do.double())
    lse, delta = torch.logsumexp(s.detach(), 1).float(), (o.detach() * do.double()).sum(1).float()
    dk, dv = torch.empty(columns, d), torch.empty(columns, d)
    keys_gradient_kernel[(triton.cdiv(columns, block_n),)](
        q, k, v, do, lse, delta, dk, dv, bias, scale, rows, columns, FORM=form, CAUSAL=causal, D=d, BLOCK_M=block_m, BLOCK_N=block_n,
        num_warps=warps, num_stages=stages)
    bound = 0.08 if dtype == torch.bfloat16 else 0.02
    torch.testing.assert_close(dk.cpu().double(), exact[1].grad, rtol=bound, atol=bound)
    torch.testing.assert_close(dv.cpu().double(), exact[2].grad, rtol=bound, atol=bound)


@triton.jit
def places_kernel(a_ptr, b_ptr, c_ptr, at_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """out = (ab)ᵀ c, and for each column of ab the row of its largest element."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    c = tl.load(c_ptr + m[:, None] * K + k[None, :])
    ab = tl.dot(a, b)
    tl.store(at_ptr + n, tl.argmax(ab, 0))
    sums = tl.sum(ab, 1, keep_dims=True)
    scaled = (ab - sums / N).to(tl.float16)
    tl.store(out_ptr + n[:, None] * K + k[None, :], tl.dot(tl.trans(scaled), c))


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("m, n", [(64, 64), (32, 128), (128, 32)])
def test_reductions_of_both_axes_and_of_pairs(target, m, n):
    torch.manual_seed(2)
    k = 32
    a, b, c = (torch.randn(*shape).half() for shape in ((m, k), (k, n), (m, k)))
    at, out = torch.empty(n, dtype=torch.int32), torch.empty(n, k)
    places_kernel[(1,)](a, b, c, at, out, M=m, N=n, K=k)
    ab = a.double() @ b.double()
    assert at.cpu().tolist() == ab.argmax(0).tolist()
    expected = (ab - ab.sum(1, keepdim=True) / n).T @ c.double()
    torch.testing.assert_close(out.cpu().double(), expected, rtol=5e-3, atol=0.1)


@triton.jit
def states_kernel(k_ptr, v_ptr, out_ptr, steps, SCALE: tl.constexpr, D: tl.constexpr, E: tl.constexpr, T: tl.constexpr):
    """out = the sum of (kᵀ v)ᵀ over chunks of T rows, each sum scaled by 0.5 ahead of the next; as vLLM's gated delta rules keep theirs."""
    d, e, t = tl.arange(0, D), tl.arange(0, E), tl.arange(0, T)
    state = tl.zeros([E, D], tl.float32)
    for step in range(steps):
        rows = step * T + t
        k = tl.load(k_ptr + d[:, None] + rows[None, :] * D)
        v = tl.load(v_ptr + rows[:, None] * E + e[None, :]) * 2
        product = tl.dot(k, v)
        if SCALE:
            product = product / (1 + tl.abs(product)) + d[:, None]
        state = state * 0.5 + tl.trans(product)
    tl.store(out_ptr + e[:, None] * D + d[None, :], state)


@pytest.mark.parametrize("target", TARGETS, indirect=True)
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("d, e, t, warps", [(64, 32, 64, 2), (32, 64, 16, 4), (64, 64, 32, 4), (16, 128, 32, 8)])
def test_sums_of_transposed_products(target, scale, d, e, t, warps):
    torch.manual_seed(3)
    steps = 3
    k, v = torch.randn(steps * t, d).bfloat16(), torch.randn(steps * t, e).bfloat16()
    out = torch.empty(e, d)
    states_kernel[(1,)](k, v, out, steps, SCALE=scale, D=d, E=e, T=t, num_warps=warps)
    expected = torch.zeros(e, d, dtype=torch.float64)
    for step in range(steps):
        product = k[step * t:(step + 1) * t].double().T @ (2 * v[step * t:(step + 1) * t].double())
        if scale:
            product = product / (1 + product.abs()) + torch.arange(d).double()[:, None]
        expected = expected * 0.5 + product.T
    torch.testing.assert_close(out.cpu().double(), expected, rtol=1e-3, atol=1e-3)
