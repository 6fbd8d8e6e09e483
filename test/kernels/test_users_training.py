"""Kernels of training as their users write them: losses with gradients in place, optimizers, norms that quantize; called by
wrappers, functions of autograd and operators of PyTorch's library."""
import enum
import math

import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice


def normal(*shape, seed=0, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def close(actual, expected, tolerance):
    torch.testing.assert_close(actual.double(), expected.double(), rtol=tolerance, atol=tolerance)


# --- cross entropy behind a projection, chunk by chunk, with gradients in place ----------------


@triton.jit
def loss_in_place_kernel(X_ptr, X_stride, Y_ptr, Y_stride, loss_ptr, z_loss_ptr, n_cols, n_non_ignore, ignore_index, lse_square_scale,
                         label_smoothing, softcap, reduction: tl.constexpr, HAS_SOFTCAP: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    y = tl.load(Y_ptr + row * Y_stride)
    X_ptr += row * X_stride
    if y == ignore_index:
        for i in range(0, n_cols, BLOCK_SIZE):
            offsets = i + tl.arange(0, BLOCK_SIZE)
            tl.store(X_ptr + offsets, 0.0, mask=offsets < n_cols)
        return
    m = float("-inf")
    d = 0.0
    x_y = tl.load(X_ptr + y).cast(tl.float32)
    if HAS_SOFTCAP:
        x_y = softcap * libdevice.tanh(x_y / softcap)
    total = 0.0
    eps = label_smoothing / n_cols
    for i in range(0, n_cols, BLOCK_SIZE):
        offsets = i + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X_ptr + offsets, mask=offsets < n_cols, other=float("-inf")).cast(tl.float32)
        if HAS_SOFTCAP:
            x = tl.where(offsets < n_cols, softcap * libdevice.tanh(x / softcap), float("-inf"))
        if label_smoothing > 0:
            total += tl.sum(tl.where(offsets < n_cols, -eps * x, 0.0))
        m_new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new
    lse = m + tl.log(d)
    for i in range(0, n_cols, BLOCK_SIZE):
        offsets = i + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X_ptr + offsets, mask=offsets < n_cols, other=float("-inf")).cast(tl.float32)
        if HAS_SOFTCAP:
            inner = libdevice.tanh(x / softcap)
            x = softcap * inner  # what it makes of masked elements is not stored
        g = tl.exp(x - m) / d
        g += 2 * lse_square_scale * lse * g
        g += -eps
        g = tl.where(offsets != y, g, g - (1 - label_smoothing))
        if reduction == "mean":
            g = g / n_non_ignore
        if HAS_SOFTCAP:
            g = g * (1 - inner * inner)
        tl.store(X_ptr + offsets, g, mask=offsets < n_cols)
    tl.debug_barrier()
    loss = lse - x_y
    if label_smoothing > 0:
        loss = loss * (1 - label_smoothing) + total + label_smoothing * lse
    z_loss = lse_square_scale * lse * lse
    loss += z_loss
    if reduction == "mean":
        loss = loss / n_non_ignore
        z_loss = z_loss / n_non_ignore
    tl.store(loss_ptr + row, loss)
    tl.store(z_loss_ptr + row, z_loss)


@triton.jit
def scale_kernel(X_ptr, X_stride, grad_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    X_ptr += tl.program_id(0).to(tl.int64) * X_stride
    grad = tl.load(grad_ptr)
    for i in range(0, n_cols, BLOCK_SIZE):
        at = i + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X_ptr + at, mask=at < n_cols)
        tl.store(X_ptr + at, x * grad, mask=at < n_cols)


class ProjectedLoss(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x, weight, target, ignore_index, z_scale, smoothing, softcap, reduction):
        BT, H = x.shape
        V = weight.shape[0]
        BLOCK_SIZE = min(4096, triton.next_power_of_2(V))
        chunk = triton.next_power_of_2(triton.cdiv(BT, triton.cdiv(V, H)))
        grad_x, grad_w = torch.zeros_like(x), torch.zeros_like(weight)
        loss, z_loss = torch.zeros(BT), torch.zeros(BT)
        kept = (target != ignore_index).sum().item()
        for i in range(triton.cdiv(BT, chunk)):
            part = slice(i * chunk, min((i + 1) * chunk, BT))
            logits = (x[part] @ weight.T).contiguous()
            rows = logits.shape[0]
            loss_in_place_kernel[(rows,)](logits, logits.stride(-2), target[part], target.stride(-1), loss[part], z_loss[part], V, kept,
                                          ignore_index, z_scale, smoothing, softcap, reduction=reduction, HAS_SOFTCAP=softcap is not None,
                                          BLOCK_SIZE=BLOCK_SIZE, num_warps=8)
            grad_x[part] = logits @ weight
            grad_w += logits.T @ x[part]
        ctx.save_for_backward(grad_x, grad_w)
        return loss.sum()

    @staticmethod
    def backward(ctx, grad):
        gradients = ctx.saved_tensors
        for g in gradients:
            scale_kernel[(g.shape[0],)](g, g.stride(-2), grad, g.shape[-1], BLOCK_SIZE=64, num_warps=4)
        return *gradients, None, None, None, None, None, None


@pytest.mark.parametrize("softcap, smoothing, z_scale, reduction", [(None, 0.0, 0.0, "mean"), (5.0, 0.1, 1e-2, "sum")])
def test_projected_cross_entropy(target, softcap, smoothing, z_scale, reduction):
    BT, H, V = 13, 24, 77
    x, weight = (normal(*shape, seed=s).requires_grad_() for s, shape in ((1, (BT, H)), (2, (V, H))))
    labels = torch.randint(0, V, (BT,), generator=torch.Generator().manual_seed(3))
    labels[[2, 12]] = -100
    loss = ProjectedLoss.apply(x, weight, labels, -100, z_scale, smoothing, softcap, reduction)
    (loss * 3).backward()
    xd, wd = (t.detach().double().requires_grad_() for t in (x, weight))
    logits = xd @ wd.T
    logits = softcap * torch.tanh(logits / softcap) if softcap else logits
    lse = logits.logsumexp(-1)[labels != -100]
    expected = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=smoothing, reduction=reduction)
    expected = expected + z_scale * (lse.square().mean() if reduction == "mean" else lse.square().sum())
    (expected * 3).backward()
    for actual, wanted in ((loss, expected), (x.grad, xd.grad), (weight.grad, wd.grad)):
        close(actual, wanted, 1e-4)


# --- divergences and preferences ---------------------------------------------------------------


@triton.jit
def divergence_kernel(X_ptr, X_stride, T_ptr, T_stride, loss_ptr, dX_ptr, label_ptr, beta: tl.constexpr, n_non_ignore, ignore_index: tl.constexpr,
                      n_cols, BLOCK_SIZE: tl.constexpr, HAS_LABEL: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    X_ptr += pid * X_stride
    dX_ptr += pid * X_stride
    T_ptr += pid * T_stride
    label_ptr += pid
    if HAS_LABEL:
        label = tl.load(label_ptr)
        if label == ignore_index:
            for i in range(0, n_cols, BLOCK_SIZE):
                offsets = i + tl.arange(0, BLOCK_SIZE)
                tl.store(dX_ptr + offsets, 0.0, mask=offsets < n_cols)
            return
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for i in range(0, n_cols, BLOCK_SIZE):
        offsets = i + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n_cols
        X = tl.load(X_ptr + offsets, mask=mask, other=float("-inf")).to(tl.float32)
        Y = tl.load(T_ptr + offsets, mask=mask, other=float("-inf")).to(tl.float32)
        if beta == 0.0:
            Y_prob = tl.exp(Y)
            loss = Y_prob * (tl.maximum(Y, -1e30) - tl.maximum(X, -1e30))
            dX = -Y_prob
        elif beta == 1.0:
            X_prob = tl.exp(X)
            loss = X_prob * (tl.maximum(X, -1e30) - tl.maximum(Y, -1e30))
            dX = loss + X_prob
        else:
            Q, P = tl.exp(X), tl.exp(Y)
            M = beta * P + (1 - beta) * Q
            log_M = tl.log(tl.maximum(M, 1e-30))
            loss = beta * P * tl.maximum(Y, -1e30) + (1 - beta) * Q * tl.maximum(X, -1e30) - M * log_M
            dX = (1 - beta) * Q * (X - log_M)
        scale = 1.0 / n_non_ignore
        total += tl.where(mask, loss * scale, 0.0)
        tl.store(dX_ptr + offsets, dX * scale, mask=mask)
    tl.store(loss_ptr + pid, tl.sum(total))


@pytest.mark.parametrize("beta, labels", [(0.0, None), (0.3, [1, -1, 2]), (1.0, None)])
def test_divergences(target, beta, labels):
    rows, columns = 3, 70
    x, t = (normal(rows, columns, seed=s).log_softmax(-1) for s in (1, 2))
    label = None if labels is None else torch.tensor(labels)
    kept = rows if labels is None else sum(value != -1 for value in labels)
    loss, dx = torch.zeros(rows), torch.full_like(x, float("nan"))
    divergence_kernel[(rows,)](x, x.stride(0), t, t.stride(0), loss, dx, label if label is not None else torch.empty(1, dtype=torch.int64),
                               beta, kept, -1, columns, BLOCK_SIZE=32, HAS_LABEL=label is not None)
    xd, td = x.double().requires_grad_(), t.double()
    q, p = xd.exp(), td.exp()
    m = beta * p + (1 - beta) * q
    each = {0.0: p * (td - xd), 1.0: q * (xd - td)}.get(beta, beta * p * td + (1 - beta) * q * xd - m * m.log())
    kept_rows = torch.ones(rows) if label is None else (label != -1).float()
    expected = (each.sum(-1) * kept_rows).sum() / kept
    expected.backward()
    close(loss.sum(), expected.detach(), 1e-5)
    close(dx, xd.grad, 1e-5)


class Preference(enum.IntEnum):
    SIGMOID = 0
    HINGE = 1
    SQUARED = 2
    KTO = 3


@triton.jit
def log_sigmoid(x):
    return tl.minimum(x, 0.0) - tl.extra.cuda.libdevice.log1p(tl.exp(-tl.abs(x)))


@triton.jit
def preference_kernel(policy, reference, out, grad, pairs, beta, KIND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    on = i < pairs
    tl.static_assert(KIND >= 0 and KIND <= 3, "no such loss")
    chosen = tl.load(policy + i, on) - tl.load(reference + i, on)
    rejected = tl.load(policy + pairs + i, on) - tl.load(reference + pairs + i, on)
    h = chosen - rejected
    if KIND == 0:
        loss, slope = -log_sigmoid(beta * h), -beta * tl.sigmoid(-beta * h)
    elif KIND == 1:
        loss = tl.maximum(1 - beta * h, 0.0)
        slope = tl.where(beta * h < 1, -beta, 0.0)
    elif KIND == 2:
        away = h - 1 / (2 * beta)
        loss, slope = away * away, 2 * away
    else:
        middle = tl.sum(tl.where(on, chosen, 0.0), 0) / pairs
        loss = 1 - tl.sigmoid(beta * (chosen - middle))
        slope = loss * 0
    tl.store(out + i, loss, on)
    tl.store(grad + i, slope, on)


@pytest.mark.parametrize("kind", list(Preference), ids=lambda kind: kind.name)
def test_preferences(target, kind):
    pairs, beta = 37, 0.3
    policy, reference = (normal(2, pairs, seed=s, scale=3) for s in (1, 2))
    out, grad = torch.zeros(pairs), torch.zeros(pairs)
    preference_kernel[(1,)](policy, reference, out, grad, pairs, beta, KIND=kind, BLOCK=64)
    r = (policy - reference).double()
    h = (r[0] - r[1]).requires_grad_()
    expected = {Preference.SIGMOID: -torch.nn.functional.logsigmoid(beta * h), Preference.HINGE: torch.relu(1 - beta * h),
                Preference.SQUARED: (h - 1 / (2 * beta))**2,
                Preference.KTO: 1 - torch.sigmoid(beta * (r[0] - r[0].mean())) + 0 * h}[kind]
    expected.sum().backward()
    close(out, expected.detach(), 1e-5)
    close(grad, h.grad, 1e-5)


# --- focal and triplet losses, one kernel for both directions ----------------------------------


@triton.jit
def focal(p, target, gamma, alpha):
    p = tl.sigmoid(p)
    pt = tl.where(target == 1, p, 1 - p)
    at = tl.where(target == 1, alpha, 1 - alpha)
    return -at * libdevice.pow(1 - pt, gamma) * tl.log(pt), pt, at


@triton.jit
def focal_kernel(x_ptr, t_ptr, out_ptr, dout_ptr, n, gamma: tl.float64, alpha: tl.float64, BACKWARD: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    on = at < n
    x, t = tl.load(x_ptr + at, on), tl.load(t_ptr + at, on)
    loss, pt, weight = focal(x, t, gamma, alpha)
    if BACKWARD:
        slope = weight * libdevice.pow(1 - pt, gamma) * (gamma * pt * tl.log(pt) + pt - 1)
        tl.store(out_ptr + at, tl.where(t == 1, slope, -slope) * tl.load(dout_ptr + at, on), on)
    else:
        tl.store(out_ptr + at, loss, on)


class Focal(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x, t, gamma, alpha):
        ctx.save_for_backward(x, t)
        ctx.more = gamma, alpha
        return Focal.launch(x, t, None, gamma, alpha)

    @staticmethod
    def backward(ctx, grad):
        return Focal.launch(*ctx.saved_tensors, grad.contiguous(), *ctx.more), None, None, None

    @staticmethod
    def launch(x, t, grad, gamma, alpha):
        out = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
        focal_kernel[grid](x, t, out, grad, x.numel(), gamma, alpha, BACKWARD=grad is not None, BLOCK=32)
        return out


def test_focal_loss_by_gradcheck(target):
    x, t = normal(5, 7, seed=1, dtype=torch.float64).requires_grad_(), normal(5, 7, seed=2) > 0
    assert torch.autograd.gradcheck(lambda x: Focal.apply(x, t, 2.0, 0.25), (x,))


# --- norms -------------------------------------------------------------------------------------


@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (1, 2)], key=["n_cols", "GROUP"],
                 restore_value=["residual_ptr"])
@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n_cols"])})
@triton.jit
def add_norm_quantize_kernel(x_ptr, residual_ptr, w_ptr, q_ptr, scale_ptr, n_cols, stride_x, eps, GROUP: tl.constexpr, BLOCK: tl.constexpr,
                             LIMIT: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    on = at < n_cols
    x = tl.load(x_ptr + row * stride_x + at, mask=on, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + row * n_cols + at, mask=on, other=0.0)
    tl.store(residual_ptr + row * n_cols + at, x.to(residual_ptr.dtype.element_ty), mask=on)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps) * tl.load(w_ptr + at, mask=on, other=0.0)
    groups = tl.reshape(y, (BLOCK // GROUP, GROUP))
    scale = tl.maximum(tl.max(tl.abs(groups), axis=1), 1e-6) / LIMIT
    q = tl.clamp(groups / scale[:, None], -LIMIT, LIMIT)
    if q_ptr.dtype.element_ty == tl.int8:
        q = libdevice.rint(q)
    tl.store(q_ptr + row * n_cols + at, tl.reshape(q, (BLOCK,)).to(q_ptr.dtype.element_ty), mask=on)
    group = tl.arange(0, BLOCK // GROUP)
    tl.store(scale_ptr + row * (n_cols // GROUP) + group, scale, mask=group < n_cols // GROUP)


@pytest.mark.parametrize("columns, quantized", [(96, torch.int8), (96, torch.float8_e4m3fn), (256, torch.float8_e5m2)], ids=str)
def test_add_norm_quantize(target, columns, quantized):
    rows, group = 3, 32
    x, residual = normal(rows, 2 * columns, seed=1, dtype=torch.bfloat16)[:, :columns], normal(rows, columns, seed=2)
    weight, before = normal(columns, seed=3), residual.clone()
    q, scale = torch.zeros(rows, columns, dtype=quantized), torch.zeros(rows, columns // group)
    limit = 127.0 if quantized == torch.int8 else torch.finfo(quantized).max
    add_norm_quantize_kernel[(rows,)](x, residual, weight, q, scale, columns, x.stride(0), 1e-5, GROUP=group, LIMIT=limit)
    total = x.double() + before.double()
    close(residual, total, 1e-6)
    y = (total * torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-5) * weight).view(rows, -1, group)
    close(scale, y.abs().amax(-1) / limit, 1e-5)
    step = {torch.int8: 0.51, torch.float8_e4m3fn: 17.0, torch.float8_e5m2: 4100.0}[quantized]
    assert ((q.double().view(rows, -1, group) - y / scale[..., None]).abs() <= step).all()


@triton.jit
def grouped_norm_gate_kernel(X, Z, W, Y, RSTD, stride, N, GROUPS: tl.constexpr, BLOCK: tl.constexpr, GATE_FIRST: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    size = N // GROUPS
    at = group * size + tl.arange(0, BLOCK)
    on = tl.arange(0, BLOCK) < size
    x, z = [tl.load(ptr + row * stride + at, mask=on, other=0.0).to(tl.float32) for ptr in (X, Z)]
    gate = z * tl.sigmoid(z)
    if GATE_FIRST:
        x *= gate
    rstd = 1 / tl.sqrt(tl.sum(x * x) / size + 1e-6)
    tl.store(RSTD + row * GROUPS + group, rstd)
    y = x * rstd * tl.load(W + at, mask=on).to(tl.float32)
    if not GATE_FIRST:
        y *= gate
    tl.store(Y + row * stride + at, y, mask=on)


@pytest.mark.parametrize("gate_first, dtype", [(True, torch.float16), (False, torch.float64)], ids=str)
def test_grouped_norm_with_gate(target, gate_first, dtype):
    rows, columns, groups = 4, 60, 3
    x, z, w = (normal(*shape, seed=s, dtype=dtype) for s, shape in ((1, (rows, columns)), (2, (rows, columns)), (3, (columns,))))
    y, rstd = torch.full_like(x, float("nan")), torch.zeros(rows, groups)
    grouped_norm_gate_kernel[(rows, groups)](x, z, w, y, rstd, x.stride(0), columns, GROUPS=groups, BLOCK=32, GATE_FIRST=gate_first)
    gate = torch.nn.functional.silu(z.double())
    parts = (x.double() * (gate if gate_first else 1)).view(rows, groups, -1)
    expected = (parts * torch.rsqrt(parts.square().mean(-1, keepdim=True) + 1e-6)).flatten(1) * w.double() * (1 if gate_first else gate)
    close(y, expected, 2e-3 if dtype == torch.float16 else 1e-6)


# --- optimizers --------------------------------------------------------------------------------

CODES = 16
CODEBOOK = torch.tensor([math.copysign(abs(i / 7.5 - 1)**2, i / 7.5 - 1) for i in range(CODES)])


@triton.jit
def nearest_code(x, codes_ptr, COUNT: tl.constexpr):
    low, high = tl.zeros(x.shape, tl.int32), tl.full(x.shape, COUNT - 1, tl.int32)
    for _ in tl.static_range(4):
        middle = (low + high) // 2
        above = x > tl.load(codes_ptr + middle)
        low, high = tl.where(above, middle, low), tl.where(above, high, middle)
    nearer = x - tl.load(codes_ptr + low) < tl.load(codes_ptr + high) - x
    return tl.where(nearer, low, high)


@triton.jit
def four_bit_momentum_kernel(p_ptr, g_ptr, packed_ptr, absmax_ptr, codes_ptr, n, rate, decay, beta1, beta2, COUNT: tl.constexpr,
                             BLOCK: tl.constexpr):
    """Lion with its momentum as codes of four bits, two in a byte, and one scale for a block."""
    block = tl.program_id(0)
    half = block * (BLOCK // 2) + tl.arange(0, BLOCK // 2)
    packed = tl.load(packed_ptr + half, mask=2 * half < n, other=0)
    index = tl.interleave((packed & 0xF).to(tl.int32), (packed >> 4).to(tl.int32))
    at = block * BLOCK + tl.arange(0, BLOCK)
    on = at < n
    m = tl.load(codes_ptr + index) * tl.load(absmax_ptr + block)
    p, g = tl.load(p_ptr + at, mask=on, other=0.0), tl.load(g_ptr + at, mask=on, other=0.0)
    update = beta1 * m + (1 - beta1) * g
    sign = tl.where(update > 0, 1.0, tl.where(update < 0, -1.0, 0.0))
    tl.store(p_ptr + at, p * (1 - rate * decay) - rate * sign, mask=on)
    m = tl.where(on, beta2 * m + (1 - beta2) * g, 0.0)
    absmax = tl.maximum(tl.max(tl.abs(m)), 1e-12)
    tl.store(absmax_ptr + block, absmax)
    codes = nearest_code(m / absmax, codes_ptr, COUNT)
    low, high = tl.split(tl.reshape(codes, (BLOCK // 2, 2)))
    tl.store(packed_ptr + half, (low | high << 4).to(tl.uint8), mask=2 * half < n)


@pytest.mark.parametrize("n", [1, 64, 150])
def test_lion_with_momentum_of_four_bits(target, n):
    block, rate, decay, beta1, beta2 = 64, 0.1, 0.01, 0.9, 0.99
    blocks = triton.cdiv(n, block)
    p, packed, absmax = normal(n, seed=1), torch.full((blocks * block // 2,), 0x78, dtype=torch.uint8), torch.zeros(blocks)
    m, expected = torch.zeros(blocks, block), p.clone()
    for step in range(3):
        g = normal(n, seed=2 + step)
        four_bit_momentum_kernel[(blocks,)](p, g, packed, absmax, CODEBOOK, n, rate, decay, beta1, beta2, COUNT=CODES, BLOCK=block)
        padded = torch.nn.functional.pad(g, (0, blocks * block - n)).view(blocks, block)
        update = beta1 * m + (1 - beta1) * padded
        expected = expected * (1 - rate * decay) - rate * update.flatten()[:n].sign()
        exact = beta2 * m + (1 - beta2) * padded
        index = torch.stack([packed & 15, packed >> 4], -1).view(blocks, block).long()
        m = CODEBOOK[index] * absmax[:, None]
        assert ((m - exact).abs() <= absmax[:, None] * 0.14)[:, :n].all()
    close(p, expected, 1e-5)


@triton.jit
def factored_moment_kernel(g_ptr, row_ptr, col_ptr, rows, cols, beta, eps, R: tl.constexpr, C: tl.constexpr):
    """Running means of the squares of rows and of columns, one program."""
    r, c = tl.arange(0, R), tl.arange(0, C)
    on = (r[:, None] < rows) & (c[None, :] < cols)
    g = tl.load(g_ptr + r[:, None] * cols + c[None, :], mask=on, other=0.0)
    square = tl.where(on, g * g + eps, 0.0)
    row = beta * tl.load(row_ptr + r, mask=r < rows, other=0.0) + (1 - beta) * (tl.sum(square, 1) / cols)
    col = beta * tl.load(col_ptr + c, mask=c < cols, other=0.0) + (1 - beta) * (tl.sum(square, 0) / rows)
    tl.store(row_ptr + r, row, mask=r < rows)
    tl.store(col_ptr + c, col, mask=c < cols)


@triton.jit
def factored_update_kernel(p_ptr, g_ptr, row_ptr, col_ptr, rows, cols, rate, clip, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    on = (r < rows)[:, None] & (c < cols)[None, :]
    row, col = tl.load(row_ptr + r, r < rows, 1.0), tl.load(col_ptr + c, c < cols, 1.0)
    mean = tl.sum(tl.where(r < rows, row, 0.0), keep_dims=True) / rows
    at = r[:, None] * cols + c[None, :]
    u = tl.load(g_ptr + at, on, 0.0) * (tl.rsqrt(row / mean)[:, None] * tl.rsqrt(col)[None, :])
    rms = tl.sqrt(tl.sum(tl.where(on, u * u, 0.0)) / (rows * cols))
    u /= max(1.0, rms / clip)
    tl.store(p_ptr + at, tl.load(p_ptr + at, on) - rate * u, on)


def test_factored_moments(target):
    rows, cols, beta, eps = 11, 21, 0.8, 1e-30
    p, g, row, col = normal(rows, cols, seed=1), normal(rows, cols, seed=2), torch.rand(rows) + 0.5, torch.rand(cols) + 0.5
    pd, square = p.double(), g.double()**2 + eps
    r, c = beta * row.double() + (1 - beta) * square.mean(1), beta * col.double() + (1 - beta) * square.mean(0)
    u = g.double() * torch.rsqrt(r / r.mean())[:, None] * torch.rsqrt(c)[None]
    expected = pd - 0.1 * u / max(1.0, float(u.square().mean().sqrt()) / 0.5)
    factored_moment_kernel[(1,)](g, row, col, rows, cols, beta, eps, R=16, C=32)
    factored_update_kernel[(1,)](p, g, row, col, rows, cols, 0.1, 0.5, R=16, C=32)
    for actual, wanted in ((row, r), (col, c), (p, expected)):
        close(actual, wanted, 1e-5)


# --- an operator of PyTorch's library ----------------------------------------------------------


@triton.jit
def triplet_kernel(a, p, n, out, columns, margin, NORM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    positive = negative = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x, y, z = [tl.load(ptr + row * columns + at, at < columns, 0.0).to(tl.float32) for ptr in (a, p, n)]
        if NORM == 1:
            positive += tl.sum(tl.abs(x - y))
            negative += tl.sum(tl.abs(x - z))
        else:
            positive += tl.sum((x - y) * (x - y))
            negative += tl.sum((x - z) * (x - z))
    if NORM == 2:
        positive, negative = tl.sqrt(positive), tl.sqrt(negative)
    tl.store(out + row, tl.maximum(positive - negative + margin, 0.0))


@torch.library.custom_op("tegula_tests::triplet", mutates_args=())
def triplet(a: torch.Tensor, p: torch.Tensor, n: torch.Tensor, margin: float, norm: int) -> torch.Tensor:
    out = a.new_empty(a.shape[0])
    if a.shape[0]:
        triplet_kernel[(a.shape[0],)](a, p, n, out, a.shape[1], margin, NORM=norm, BLOCK=16)
    return out


@pytest.mark.parametrize("rows, columns, norm", [(0, 5, 1), (4, 33, 1), (3, 50, 2)])
def test_triplet_loss_as_an_operator(target, rows, columns, norm):
    a, p, n = (normal(rows, columns, seed=s, dtype=torch.float16) for s in (1, 2, 3))
    distance = lambda x, y: (x.double() - y.double()).norm(p=norm, dim=-1)
    close(triplet(a, p, n, 0.7, norm), torch.relu(distance(a, p) - distance(a, n) + 0.7), 2e-3)
