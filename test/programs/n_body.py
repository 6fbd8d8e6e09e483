"""Forces between bodies and a step of their motion, in float64; an estimate of pi by random points."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def forces_kernel(pos_ptr, mass_ptr, acc_ptr, n, softening, BLOCK_I: tl.constexpr, BLOCK_J: tl.constexpr):
    i = tl.program_id(0) * BLOCK_I + tl.arange(0, BLOCK_I)
    xi = tl.load(pos_ptr + 3 * i, i < n, 0.0)
    yi = tl.load(pos_ptr + 3 * i + 1, i < n, 0.0)
    zi = tl.load(pos_ptr + 3 * i + 2, i < n, 0.0)
    ax = tl.zeros_like(xi)
    ay = tl.zeros_like(xi)
    az = tl.zeros_like(xi)
    for start in range(0, n, BLOCK_J):
        j = start + tl.arange(0, BLOCK_J)
        ok = j < n
        dx = tl.load(pos_ptr + 3 * j, ok, 0.0)[None, :] - xi[:, None]
        dy = tl.load(pos_ptr + 3 * j + 1, ok, 0.0)[None, :] - yi[:, None]
        dz = tl.load(pos_ptr + 3 * j + 2, ok, 0.0)[None, :] - zi[:, None]
        r2 = dx * dx + dy * dy + dz * dz + softening
        inv = 1.0 / (r2 * tl.sqrt(r2))
        f = inv * tl.load(mass_ptr + j, ok, 0.0)[None, :]
        ax += tl.sum(f * dx, 1)
        ay += tl.sum(f * dy, 1)
        az += tl.sum(f * dz, 1)
    tl.store(acc_ptr + 3 * i, ax, i < n)
    tl.store(acc_ptr + 3 * i + 1, ay, i < n)
    tl.store(acc_ptr + 3 * i + 2, az, i < n)


@triton.jit
def leapfrog_kernel(pos_ptr, vel_ptr, acc_ptr, dt, n, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = k < n * 3
    v = tl.load(vel_ptr + k, ok) + dt * tl.load(acc_ptr + k, ok)
    tl.store(vel_ptr + k, v, ok)
    tl.store(pos_ptr + k, tl.load(pos_ptr + k, ok) + dt * v, ok)


@triton.jit
def pi_kernel(hits_ptr, seed, trips, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    hits = tl.zeros((), tl.int64)
    for t in range(trips):
        offs = (pid * trips + t) * BLOCK + tl.arange(0, BLOCK)
        x, y, _, _ = tl.rand4x(seed, offs)
        hits += tl.sum((x * x + y * y < 1.0).to(tl.int64))
    tl.atomic_add(hits_ptr, hits)


def check_motion(device):
    n = 37
    pos, vel = normal(n, 3, device=device, dtype=torch.float64), normal(n, 3, device=device, dtype=torch.float64, seed=1)
    mass = normal(n, device=device, dtype=torch.float64, seed=2).abs()
    acc = torch.empty_like(pos)
    p, v = wide(pos), wide(vel)
    for _ in range(2):
        forces_kernel[(triton.cdiv(n, 16),)](pos, mass, acc, n, 0.01, BLOCK_I=16, BLOCK_J=16)
        leapfrog_kernel[(1,)](pos, vel, acc, 0.1, n, BLOCK=128)
        d = p[None] - p[:, None]
        r2 = (d * d).sum(-1) + torch.tensor(0.01, dtype=torch.float32).double()
        v = v + torch.tensor(0.1, dtype=torch.float32).double() * (d * (wide(mass)[None, :] / r2**1.5)[..., None]).sum(1)
        p = p + torch.tensor(0.1, dtype=torch.float32).double() * v
    close(vel, v, error=1e-12)
    close(pos, p, error=1e-12)


def check_pi(device):
    hits = torch.zeros(1, dtype=torch.int64, device=device)
    pi_kernel[(4,)](hits, 7, 4, BLOCK=256)
    assert abs(4 * hits.item() / 4096 - 3.14159) < 0.12
