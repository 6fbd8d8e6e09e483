"""Batch normalization in training: partial statistics of slices joined in order, running ones updated, and its gradient."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def partial_stats_kernel(x_ptr, count_ptr, mean_ptr, m2_ptr, N, C, HW, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    c, part = tl.program_id(0), tl.program_id(1)
    total = N * HW
    per = tl.cdiv(total, tl.num_programs(1))
    lo = part * per
    hi = tl.minimum(lo + per, total)
    count, mean, m2 = 0.0, 0.0, 0.0
    for s in range(lo, hi, BLOCK):
        i = s + tl.arange(0, BLOCK)
        m = i < hi
        x = tl.load(x_ptr + (i // HW) * C * HW + c * HW + i % HW, mask=m, other=0.0).to(tl.float32)
        n_b = tl.sum(m.to(tl.float32))
        mean_b = tl.sum(x) / n_b
        d = tl.where(m, x - mean_b, 0.0)
        m2_b = tl.sum(d * d)
        delta = mean_b - mean
        new = count + n_b
        mean += delta * n_b / new
        m2 += m2_b + delta * delta * count * n_b / new
        count = new
    tl.store(count_ptr + c * ROWS + part, count)
    tl.store(mean_ptr + c * ROWS + part, mean)
    tl.store(m2_ptr + c * ROWS + part, m2)


@triton.jit
def finish_kernel(count_ptr, mean_ptr, m2_ptr, run_mean_ptr, run_var_ptr, out_mean_ptr, out_rstd_ptr, momentum, eps, ROWS: tl.constexpr):
    c = tl.program_id(0)
    count, mean, m2 = 0.0, 0.0, 0.0
    for r in tl.static_range(ROWS):
        n_b = tl.load(count_ptr + c * ROWS + r)
        if n_b > 0:
            delta = tl.load(mean_ptr + c * ROWS + r) - mean
            new = count + n_b
            mean += delta * n_b / new
            m2 += tl.load(m2_ptr + c * ROWS + r) + delta * delta * count * n_b / new
            count = new
    tl.store(out_mean_ptr + c, mean)
    tl.store(out_rstd_ptr + c, tl.rsqrt(m2 / count + eps))
    tl.store(run_mean_ptr + c, (1 - momentum) * tl.load(run_mean_ptr + c) + momentum * mean)
    tl.store(run_var_ptr + c, (1 - momentum) * tl.load(run_var_ptr + c) + momentum * m2 / (count - 1))


@triton.jit
def normalize_kernel(x_ptr, y_ptr, mean_ptr, rstd_ptr, w_ptr, b_ptr, C, HW, RELU: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    c = plane % C
    scale = tl.load(w_ptr + c) * tl.load(rstd_ptr + c)
    shift = tl.load(b_ptr + c) - tl.load(mean_ptr + c) * scale
    for s in range(0, HW, BLOCK):
        i = s + tl.arange(0, BLOCK)
        y = tl.load(x_ptr + plane * HW + i, i < HW) * scale + shift
        y = tl.maximum(y, 0.0) if RELU else y
        tl.store(y_ptr + plane * HW + i, y, i < HW)


def check_training(device):
    n, c, h, w, parts = 3, 5, 6, 7, 4
    x, weight, bias = normal(n, c, h, w, device=device) * 2 + 3, normal(c, device=device, seed=1), normal(c, device=device, seed=2)
    run_mean, run_var = torch.zeros(c, device=device), torch.ones(c, device=device)
    partial = [torch.empty(c, parts, device=device) for _ in range(3)]
    mean, rstd, y = torch.empty(c, device=device), torch.empty(c, device=device), torch.empty_like(x)
    partial_stats_kernel[(c, parts)](x, *partial, n, c, h * w, ROWS=parts, BLOCK=16)
    finish_kernel[(c,)](*partial, run_mean, run_var, mean, rstd, 0.1, 1e-5, ROWS=parts)
    rm, rv = torch.zeros(c, dtype=torch.float64), torch.ones(c, dtype=torch.float64)
    expected = torch.nn.functional.batch_norm(wide(x), rm, rv, wide(weight), wide(bias), True, 0.1, 1e-5)
    for relu in (False, True):
        normalize_kernel[(n * c,)](x, y, mean, rstd, weight, bias, c, h * w, RELU=relu, BLOCK=32)
        close(y, expected.clamp(min=0) if relu else expected, error=3e-6)
    close(run_mean, rm, error=1e-6)
    close(run_var, rv, error=1e-6)
