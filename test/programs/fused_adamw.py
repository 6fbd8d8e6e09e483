"""AdamW over one flat parameter and over a list of them, in place."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def _adamw_step(p, g, m, v, lr, beta1, beta2, eps, wd, c1, c2):
    p = p * (1 - lr * wd)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    p = p - lr * (m / c1) / (tl.sqrt(v / c2) + eps)
    return p, m, v


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=2), triton.Config({"BLOCK": 256}, num_warps=4)], key=["n"],
                 restore_value=["p_ptr", "m_ptr", "v_ptr"])
@triton.jit
def adamw_kernel(p_ptr, g_ptr, m_ptr, v_ptr, n, lr, beta1, beta2, eps, wd, step_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    step = tl.load(step_ptr).to(tl.float32)
    c1 = 1 - tl.exp2(step * tl.log2(beta1))
    c2 = 1 - tl.exp2(step * tl.log2(beta2))
    p, m, v = tl.load(p_ptr + i, mask), tl.load(m_ptr + i, mask), tl.load(v_ptr + i, mask)
    g = tl.load(g_ptr + i, mask).to(tl.float32)
    p, m, v = _adamw_step(p, g, m, v, lr, beta1, beta2, eps, wd, c1, c2)
    tl.store(p_ptr + i, p, mask)
    tl.store(m_ptr + i, m, mask)
    tl.store(v_ptr + i, v, mask)


def check_three_steps(device):
    lr, b1, b2, eps, wd, n = 1e-2, 0.9, 0.999, 1e-8, 0.1, 501
    p, m, v = normal(n, device=device), torch.zeros(n, device=device), torch.zeros(n, device=device)
    pd, md, vd = wide(p), wide(m), wide(v)
    for step in range(1, 4):
        g = normal(n, device=device, seed=step)
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        adamw_kernel[grid](p, g, m, v, n, lr, b1, b2, eps, wd, torch.tensor(step, device=device))
        md, vd = b1 * md + (1 - b1) * wide(g), b2 * vd + (1 - b2) * wide(g)**2
        pd = pd * (1 - lr * wd) - lr * md / (1 - b1**step) / ((vd / (1 - b2**step)).sqrt() + eps)
    close(p, pd, error=3e-6)
    assert adamw_kernel.best_config.kwargs["BLOCK"] in (128, 256)
