"""Small losses with several outputs: focal loss, cosine similarity, hinge and contrastive losses with their gradients."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, wide


@triton.jit
def stable_log_sigmoid(x):
    return tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))


@triton.jit
def focal_loss_kernel(x_ptr, t_ptr, loss_ptr, grad_ptr, n, alpha, gamma: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, m, 0.0)
    t = tl.load(t_ptr + i, m, 0).to(tl.float32)
    p = tl.sigmoid(x)
    log_p, log_q = stable_log_sigmoid(x), stable_log_sigmoid(-x)
    p_t = tl.where(t > 0, p, 1 - p)
    log_pt = tl.where(t > 0, log_p, log_q)
    a_t = tl.where(t > 0, alpha, 1 - alpha)
    f = 1 - p_t
    mod = f
    for _ in tl.static_range(gamma - 1):
        mod *= f
    tl.store(loss_ptr + i, -a_t * mod * log_pt, m)
    sign = tl.where(t > 0, 1.0, -1.0)
    tl.store(grad_ptr + i, a_t * sign * mod * (gamma * p_t * log_pt - f), m)


@triton.jit
def cosine_kernel(a_ptr, b_ptr, out_ptr, da_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * D + d, mask=d < D, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + row * D + d, mask=d < D, other=0.0).to(tl.float32)
    dot, na, nb = tl.sum(a * b), tl.sum(a * a), tl.sum(b * b)
    norm = tl.sqrt(tl.maximum(na, eps) * tl.maximum(nb, eps))
    cos = dot / norm
    tl.store(out_ptr + row, cos)
    tl.store(da_ptr + row * D + d, b / norm - cos * a / na, mask=d < D)


@triton.jit
def margin_kernel(x_ptr, y_ptr, loss_ptr, count_ptr, C, margin, SQUARED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    y = tl.load(y_ptr + row)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C, other=float("-inf"))
    right = tl.load(x_ptr + row * C + y)
    h = tl.maximum(x - right + margin, 0.0)
    h = tl.where((c == y) | (c >= C), 0.0, h)
    if SQUARED:
        h *= h
    tl.store(loss_ptr + row, tl.sum(h) / C)
    # how many rows are wrong, and the worst of all, kept over the grid
    wrong = tl.max(tl.where(c == y, float("-inf"), x), axis=0) > right
    tl.atomic_add(count_ptr, wrong.to(tl.int32))


def check_focal(device):
    x, t = normal(200, device=device, scale=3), integers(0, 2, (200,), device=device)
    for gamma in (1, 2, 3):
        loss, grad = torch.empty_like(x), torch.empty_like(x)
        focal_loss_kernel[(2,)](x, t, loss, grad, 200, 0.25, gamma, BLOCK=128)
        xd, td = wide(x).requires_grad_(), wide(t)
        ce = torch.nn.functional.binary_cross_entropy_with_logits(xd, td, reduction="none")
        p_t = torch.where(td > 0, xd.sigmoid(), 1 - xd.sigmoid())
        expected = torch.where(td > 0, 0.25, 0.75) * (1 - p_t)**gamma * ce
        expected.sum().backward()
        close(loss, expected, error=1e-6)
        close(grad, xd.grad, error=2e-6)


def check_cosine(device):
    a, b = normal(6, 40, device=device), normal(6, 40, device=device, seed=1)
    out, da = torch.empty(6, device=device), torch.empty_like(a)
    cosine_kernel[(6,)](a, b, out, da, 40, 1e-8, BLOCK=64)
    ad = wide(a).requires_grad_()
    expected = torch.nn.functional.cosine_similarity(ad, wide(b), 1)
    expected.sum().backward()
    close(out, expected, error=1e-6)
    close(da, ad.grad, error=1e-6)


def check_margin(device):
    x, y = normal(9, 13, device=device), integers(0, 13, (9,), device=device, dtype=torch.int64)
    for squared in (False, True):
        loss, count = torch.empty(9, device=device), torch.zeros(1, dtype=torch.int32, device=device)
        margin_kernel[(9,)](x, y, loss, count, 13, 0.7, SQUARED=squared, BLOCK=16)
        close(loss, torch.nn.functional.multi_margin_loss(wide(x), y.cpu(), p=2 if squared else 1, margin=0.7, reduction="none"), error=1e-6)
        assert count.item() == (x.argmax(1) != y).sum().item()
