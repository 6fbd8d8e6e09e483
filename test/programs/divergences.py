"""KL and Jensen-Shannon divergences of distributions, with gradients written while the losses are summed."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide

REDUCTIONS = {"none": tl.constexpr(0), "sum": tl.constexpr(1), "mean": tl.constexpr(2), "batchmean": tl.constexpr(3)}
_REDUCTION_MODE_NONE = tl.constexpr(0)


@triton.jit
def _kldiv_kernel_forward(y_ptr, y_stride, gt_ptr, gt_stride, loss_ptr, loss_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr,
                          log_target: tl.constexpr = False, reduction: tl.constexpr = 3):
    pid = tl.program_id(0).to(tl.int64)
    y_ptr += pid * y_stride
    gt_ptr += pid * gt_stride
    loss_ptr += pid * loss_stride
    base_offsets = tl.arange(0, BLOCK_SIZE)
    loss_sum = 0.0
    for i in range(0, n_cols, BLOCK_SIZE):
        offsets = i + base_offsets
        mask = offsets < n_cols
        y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
        y_true = tl.load(gt_ptr + offsets, mask=mask, other=0.0)
        # KL(y_true || y) = y_true * (log(y_true) - log(y)); y is a logarithm already
        if not log_target:
            loss = y_true * (tl.log(tl.maximum(y_true, eps)) - y)
        else:
            loss = tl.exp(y_true) * (y_true - y)
        if reduction == _REDUCTION_MODE_NONE:
            tl.store(loss_ptr + offsets, loss, mask=mask)
        else:
            loss_sum += tl.sum(loss, axis=0)
    if reduction != _REDUCTION_MODE_NONE:
        tl.store(loss_ptr, loss_sum)


@triton.jit
def _jsd_kernel(X_ptr, X_stride, Y_ptr, Y_stride, loss_ptr, loss_stride, dX_ptr, dX_stride, label_ptr, beta: tl.constexpr, n_non_ignore: int,
                ignore_index: tl.constexpr, n_cols, BLOCK_SIZE: tl.constexpr, HAS_LABEL: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    X_ptr += pid * X_stride
    dX_ptr += pid * dX_stride
    Y_ptr += pid * Y_stride
    loss_ptr += pid * loss_stride
    if HAS_LABEL:
        label = tl.load(label_ptr + pid)
        if label == ignore_index:
            for i in range(0, n_cols, BLOCK_SIZE):
                offsets = i + tl.arange(0, BLOCK_SIZE)
                tl.store(dX_ptr + offsets, 0.0, mask=offsets < n_cols)
            return
    for i in range(0, n_cols, BLOCK_SIZE):
        offsets = i + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n_cols
        X = tl.load(X_ptr + offsets, mask=mask, other=float("-inf")).to(tl.float32)
        Y = tl.load(Y_ptr + offsets, mask=mask, other=float("-inf")).to(tl.float32)
        if beta == 0.0:  # forward KL
            Y_max = tl.max(Y, axis=0)
            Y_shift = Y - Y_max
            Y_prob = tl.exp(Y_shift) * tl.exp(Y_max)
            loss = Y_prob * (Y - X)
            dX = -Y_prob
        elif beta == 1.0:
            X_prob = tl.exp(X)
            loss = X_prob * (X - Y)
            dX = loss + X_prob
        else:
            Q = tl.exp(X)
            P = tl.exp(Y)
            beta_P = beta * P
            one_minus_beta_Q = (1 - beta) * Q
            M = beta_P + one_minus_beta_Q
            log_M = tl.log(M)
            loss = beta_P * Y + one_minus_beta_Q * X - M * log_M
            dX = one_minus_beta_Q * (X - log_M)
        scale = 1.0 / n_non_ignore
        loss = loss * scale
        dX = dX * scale
        tl.store(loss_ptr + offsets, loss, mask=mask)
        tl.store(dX_ptr + offsets, dX, mask=mask)


def check_kl(device):
    y, t = torch.log_softmax(normal(4, 77, device=device), 1), torch.softmax(normal(4, 77, device=device, seed=1), 1)
    for log_target in (False, True):
        target = torch.log(t) if log_target else t
        for reduction in ("none", "batchmean"):
            loss = torch.empty((4, 77) if reduction == "none" else (4,), device=device)
            _kldiv_kernel_forward[(4,)](y, y.stride(0), target, target.stride(0), loss, loss.stride(0), 77, 1e-10, BLOCK_SIZE=32, num_warps=4,
                                        log_target=log_target, reduction=REDUCTIONS[reduction])
            expected = torch.nn.functional.kl_div(wide(y), wide(target), reduction="none", log_target=log_target)
            close(loss, expected if reduction == "none" else expected.sum(1), error=2e-6)


def check_jsd(device):
    x, y = (torch.log_softmax(normal(5, 50, device=device, seed=s), 1) for s in (0, 1))
    label = torch.tensor([1, -100, 3, 4, 5], device=device)
    for beta in (0.0, 0.5, 1.0):
        loss, dx = torch.zeros(5, 50, device=device), torch.empty(5, 50, device=device)
        _jsd_kernel[(5,)](x, 50, y, 50, loss, 50, dx, 50, label, beta, 4, -100, 50, BLOCK_SIZE=64, HAS_LABEL=True)
        xd, yd = wide(x).requires_grad_(), wide(y)
        q, p = xd.exp(), yd.exp()
        m = (beta * p + (1 - beta) * q).log()
        full = p * (yd - xd) if beta == 0 else q * (xd - yd) if beta == 1 else beta * p * (yd - m) + (1 - beta) * q * (xd - m)
        expected = torch.where((label.cpu() != -100)[:, None], full, 0) / 4
        expected.sum().backward()
        close(loss, expected, error=1e-6)
        close(dx, xd.grad, error=2e-6)
