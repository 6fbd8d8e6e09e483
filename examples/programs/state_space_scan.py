"""A selective state space: one step of decoding, a scan in parallel over time, and a backward pass by recurrence."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def softplus(x):
    return tl.where(x <= 20.0, tl.math.log(tl.math.exp(x) + 1), x)


@triton.jit
def first_order_op(fl, xl, fr, xr):
    f = fr * fl
    x = fr * xl + xr
    return f, x


@triton.heuristics({"HAS_D": lambda args: args["D_ptr"] is not None})
@triton.heuristics({"HAS_Z": lambda args: args["z_ptr"] is not None})
@triton.heuristics({"BLOCK_SIZE_DSTATE": lambda args: triton.next_power_of_2(args["dstate"])})
@triton.jit
def _selective_scan_update_kernel(state_ptr, x_ptr, dt_ptr, dt_bias_ptr, A_ptr, B_ptr, C_ptr, D_ptr, z_ptr, out_ptr, dim, dstate,
                                  DT_SOFTPLUS: tl.constexpr, BLOCK_SIZE_M: tl.constexpr, HAS_D: tl.constexpr, HAS_Z: tl.constexpr,
                                  BLOCK_SIZE_DSTATE: tl.constexpr):
    pid_m = tl.program_id(axis=0)
    pid_b = tl.program_id(axis=1)
    offs_m = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_n = tl.arange(0, BLOCK_SIZE_DSTATE)
    state_ptrs = state_ptr + pid_b * dim * dstate + offs_m[:, None] * dstate + offs_n[None, :]
    inside = (offs_m[:, None] < dim) & (offs_n[None, :] < dstate)
    state = tl.load(state_ptrs, mask=inside, other=0.0)
    x = tl.load(x_ptr + pid_b * dim + offs_m, mask=offs_m < dim, other=0.0).to(tl.float32)
    dt = tl.load(dt_ptr + pid_b * dim + offs_m, mask=offs_m < dim, other=0.0).to(tl.float32)
    dt += tl.load(dt_bias_ptr + offs_m, mask=offs_m < dim, other=0.0).to(tl.float32)
    if DT_SOFTPLUS:
        dt = softplus(dt)
    A = tl.load(A_ptr + offs_m[:, None] * dstate + offs_n[None, :], mask=inside, other=0.0).to(tl.float32)
    dA = tl.exp(A * dt[:, None])
    B = tl.load(B_ptr + pid_b * dstate + offs_n, mask=offs_n < dstate, other=0.0).to(tl.float32)
    C = tl.load(C_ptr + pid_b * dstate + offs_n, mask=offs_n < dstate, other=0.0).to(tl.float32)
    dB = B[None, :] * dt[:, None]
    state = state * dA + dB * x[:, None]
    tl.store(state_ptrs, state, mask=inside)
    out = tl.sum(state * C[None, :], axis=1)
    if HAS_D:
        out += x * tl.load(D_ptr + offs_m, mask=offs_m < dim, other=0.0).to(tl.float32)
    if HAS_Z:
        z = tl.load(z_ptr + pid_b * dim + offs_m, mask=offs_m < dim, other=0.0).to(tl.float32)
        out *= z * tl.sigmoid(z)
    tl.store(out_ptr + pid_b * dim + offs_m, out, mask=offs_m < dim)


@triton.jit
def ssm_scan_kernel(X, Delta, A, B, C, Y, length, dim, N: tl.constexpr, T: tl.constexpr):
    """One program a channel; T steps at a time in parallel, the state carried from block to block."""
    d = tl.program_id(0)
    b = tl.program_id(1)
    n = tl.arange(0, N)
    a = tl.load(A + d * N + n)
    carry = tl.zeros([N], tl.float32)
    for start in range(0, length, T):
        t = start + tl.arange(0, T)
        m = t < length
        at = (b * length + t) * dim + d
        x = tl.load(X + at, mask=m, other=0.0)
        dt = tl.load(Delta + at, mask=m, other=0.0)
        bn = tl.load(B + (b * length + t)[:, None] * N + n[None, :], mask=m[:, None], other=0.0)
        cn = tl.load(C + (b * length + t)[:, None] * N + n[None, :], mask=m[:, None], other=0.0)
        f = tl.exp(dt[:, None] * a[None, :])
        u = dt[:, None] * bn * x[:, None]
        f, h = tl.associative_scan((f, u), axis=0, combine_fn=first_order_op)
        h = h + f * carry[None, :]
        y = tl.sum(h * cn, axis=1)
        tl.store(Y + at, y, mask=m)
        carry = tl.sum(tl.where((tl.arange(0, T) == T - 1)[:, None], h, 0.0), axis=0)


def ssm_scan(x, delta, A, B, C, block=8):
    batch, length, dim = x.shape
    y = torch.empty_like(x)
    ssm_scan_kernel[(dim, batch)](x, delta, A, B, C, y, length, dim, N=A.shape[1], T=block)
    return y


def recurrence(x, delta, A, B, C):
    h, ys = torch.zeros(x.shape[0], x.shape[2], A.shape[1], dtype=torch.float64), []
    for t in range(x.shape[1]):
        h = h * torch.exp(delta[:, t, :, None] * A) + delta[:, t, :, None] * B[:, t, None, :] * x[:, t, :, None]
        ys.append((h * C[:, t, None, :]).sum(-1))
    return torch.stack(ys, 1)


def check_scan_over_time(device):
    for length in (1, 8, 29):
        x, delta = normal(2, length, 5, device=device), normal(2, length, 5, device=device, seed=1).abs() / 4
        A = -normal(5, 4, device=device, seed=2).abs()
        B, C = normal(2, length, 4, device=device, seed=3), normal(2, length, 4, device=device, seed=4)
        close(ssm_scan(x, delta, A, B, C), recurrence(*map(wide, (x, delta, A, B, C))), error=3e-6)


def check_one_step(device):
    batch, dim, dstate = 2, 19, 6
    state, x, dt = normal(batch, dim, dstate, device=device), normal(batch, dim, device=device, seed=1), normal(batch, dim, device=device, seed=2)
    bias, A, D = normal(dim, device=device, seed=3), -normal(dim, dstate, device=device, seed=4).abs(), normal(dim, device=device, seed=5)
    B, C, z = (normal(batch, k, device=device, seed=6 + i) for i, k in enumerate((dstate, dstate, dim)))
    for use_d, use_z in ((True, True), (False, False)):
        out, new = torch.empty_like(x), state.clone()
        grid = lambda META: (triton.cdiv(dim, META["BLOCK_SIZE_M"]), batch)
        _selective_scan_update_kernel[grid](new, x, dt, bias, A, B, C, D if use_d else None, z if use_z else None, out, dim, dstate,
                                            DT_SOFTPLUS=True, BLOCK_SIZE_M=8, num_warps=2)
        s, xd, Ad, Bd, Cd = map(wide, (state, x, A, B, C))
        step = torch.nn.functional.softplus(wide(dt) + wide(bias))
        s = s * torch.exp(step[..., None] * Ad) + step[..., None] * Bd[:, None] * xd[..., None]
        y = (s * Cd[:, None]).sum(-1)
        y = y + xd * wide(D) if use_d else y
        y = y * torch.nn.functional.silu(wide(z)) if use_z else y
        close(out, y, error=2e-6)
        close(new, s, error=2e-6)
