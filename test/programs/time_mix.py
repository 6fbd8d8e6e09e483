"""The WKV recurrence of attention-free models, kept stable by a running maximum, and a gated norm behind it."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def wkv_forward_kernel(w_ptr, u_ptr, k_ptr, v_ptr, state_ptr, out_ptr, T, C, BLOCK_C: tl.constexpr):
    b = tl.program_id(0)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    ok = c < C
    base = b * T * C + c
    state_ptr += b * 3 * C + c
    alpha = tl.load(state_ptr, ok, 0.0).to(tl.float32)
    beta = tl.load(state_ptr + C, ok, 0.0).to(tl.float32)
    eps = tl.load(state_ptr + 2 * C, ok, 0.0).to(tl.float32)
    w = -tl.exp(tl.load(w_ptr + c, ok, 0.0).to(tl.float32))
    u = tl.load(u_ptr + c, ok, 0.0).to(tl.float32)
    k_ptr += base
    v_ptr += base
    out_ptr += base
    for t in range(T):
        kt = tl.load(k_ptr, ok, 0.0).to(tl.float32)
        vt = tl.load(v_ptr, ok, 0.0).to(tl.float32)
        ukt = u + kt
        tau = tl.maximum(ukt, eps)
        e1a, e2a = tl.exp(eps - tau), tl.exp(ukt - tau)
        tl.store(out_ptr, (e1a * alpha + e2a * vt) / (e1a * beta + e2a), ok)
        w_eps = w + eps
        eps = tl.maximum(w_eps, kt)
        e1b, e2b = tl.exp(w_eps - eps), tl.exp(kt - eps)
        alpha, beta = e1b * alpha + e2b * vt, e1b * beta + e2b
        k_ptr += C
        v_ptr += C
        out_ptr += C
    tl.store(state_ptr, alpha, ok)
    tl.store(state_ptr + C, beta, ok)
    tl.store(state_ptr + 2 * C, eps, ok)


@triton.jit
def gated_norm_kernel(x_ptr, z_ptr, w_ptr, out_ptr, N, group, eps, NORM_BEFORE_GATE: tl.constexpr, HAS_Z: tl.constexpr, BLOCK: tl.constexpr):
    row, g = tl.program_id(0), tl.program_id(1)
    c = tl.arange(0, BLOCK)
    ok = c < group
    at = row * N + g * group + c
    x = tl.load(x_ptr + at, ok, 0.0).to(tl.float32)
    if HAS_Z and not NORM_BEFORE_GATE:
        z = tl.load(z_ptr + at, ok, 0.0).to(tl.float32)
        x *= z * tl.sigmoid(z)
    x = x * (1 / tl.sqrt(tl.sum(x * x, axis=0) / group + eps)) * tl.load(w_ptr + g * group + c, ok, 0.0)
    if HAS_Z and NORM_BEFORE_GATE:
        z = tl.load(z_ptr + at, ok, 0.0).to(tl.float32)
        x *= z * tl.sigmoid(z)
    tl.store(out_ptr + at, x, ok)


def check_recurrence(device):
    B, T, C = 2, 11, 20
    k, v = normal(B, T, C, device=device, scale=3), normal(B, T, C, device=device, seed=1)
    w, u = normal(C, device=device, seed=2), normal(C, device=device, seed=3)
    state = torch.stack([torch.zeros(B, C), torch.zeros(B, C), torch.full((B, C), -1e30)], 1).to(device)
    out = torch.empty_like(v)
    wkv_forward_kernel[(B, 2)](w, u, k, v, state, out, T, C, BLOCK_C=16)
    kd, vd, decay = wide(k), wide(v), -wide(w).exp()
    for t in range(T):
        weights = torch.stack([(T - T + t - 1 - s) * decay + kd[:, s] for s in range(t)] + [wide(u) + kd[:, t]], 1)
        close(out[:, t], (torch.softmax(weights, 1) * vd[:, :t + 1]).sum(1), error=2e-6)


def check_gated_norm(device):
    x, z, w = normal(5, 48, device=device), normal(5, 48, device=device, seed=1), normal(48, device=device, seed=2)
    norm = lambda t: (t.reshape(5, 2, 24) * torch.rsqrt(t.reshape(5, 2, 24).pow(2).mean(-1, keepdim=True) + 1e-5)).reshape(5, 48) * wide(w)
    gate = torch.nn.functional.silu(wide(z))
    for before, gated in ((True, True), (False, True), (False, False)):
        out = torch.empty_like(x)
        gated_norm_kernel[(5, 2)](x, z if gated else None, w, out, 48, 24, 1e-5, NORM_BEFORE_GATE=before, HAS_Z=gated, BLOCK=32)
        close(out, norm(wide(x)) * gate if before else norm(wide(x) * gate) if gated else norm(wide(x)), error=2e-6)
