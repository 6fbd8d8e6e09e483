"""Several factors that all trips of a loop read: those that registers have no room for stay in shared memory."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def recurrent_kernel(x, R, out, T, B: tl.constexpr, D: tl.constexpr, N: tl.constexpr):
    """h = (sum of h @ R[i]) * 0.125 + x[t], with N matrices that stay."""
    rows, d = tl.arange(0, B), tl.arange(0, D)
    at = d[:, None] * D + d[None, :]
    first, second = tl.load(R + at), tl.load(R + D * D + at)
    third = tl.load(R + 2 * D * D + at) if N == 3 else second
    h = tl.zeros([B, D], tl.float32)
    for t in range(T):
        a = h.to(tl.float16)
        h = tl.dot(a, first) * 0.125 + tl.dot(a, second) * 0.25
        if N == 3:
            h += tl.dot(a, third) * 0.5
        h += tl.load(x + t * B * D + rows[:, None] * D + d[None, :])
        tl.store(out + t * B * D + rows[:, None] * D + d[None, :], h)


@pytest.mark.parametrize("count", [2, 3])
def test_recurrence(target, count):
    generator = torch.Generator().manual_seed(count)
    x = torch.randint(-2, 3, (3, 16, 128), generator=generator).float()
    R = (torch.rand(count, 128, 128, generator=generator) < 0.03).half()
    out = torch.full_like(x, float("nan"))
    recurrent_kernel[(1,)](x, R, out, 3, B=16, D=128, N=count)
    h = torch.zeros(16, 128, dtype=torch.float64)
    for t in range(3):
        a = h.half().double()
        h = sum(a @ R[i].double() * (0.125, 0.25, 0.5)[i] for i in range(count)) + x[t]
        assert torch.equal(out[t].double(), h), t


@pytest.mark.sim
@pytest.mark.parametrize("count, stays", [(2, 0), (3, 1)])
def test_some_stay_in_shared_memory(build_dir, count, stays):
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::recurrent_kernel", "--target", "sm_90a", "--num-warps", "4",
                           "--signature", f"x=*f32:16,R=*f16:16,out=*f32:16,T=i32,B=16,D=128,N={count}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("stays in shared memory: a loop that uses it needs the registers") == stays, done.stdout


@triton.jit
def computed_kernel(q, k, v, out, scale, trips, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """sum of max(scaled q @ k, 0) @ v: the scaled factor is computed once."""
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    x = (tl.load(q + m[:, None] * D + d[None, :]) * scale).to(tl.float16)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(trips):
        y = tl.load(k + (i * N + n)[None, :] * D + d[:, None])
        z = tl.load(v + (i * N + n)[:, None] * D + d[None, :])
        acc = acc * 0.5 + tl.dot(tl.maximum(tl.dot(x, y), 0.0).to(tl.float16), z)
    tl.store(out + m[:, None] * D + d[None, :], acc)


@pytest.mark.parametrize("m, n, d, warps, stages", [(128, 32, 64, 2, 1), (128, 32, 64, 2, 3), (64, 32, 64, 1, 2), (32, 32, 32, 2, 2), (128, 64, 64, 4, 2)])
def test_computed_ahead(target, m, n, d, warps, stages):
    generator = torch.Generator().manual_seed(m)
    q, k, v = (torch.randint(-1, 2, shape, generator=generator).half() for shape in ((m, d), (3 * n, d), (3 * n, d)))
    for trips in (0, 1, 3):
        out, wanted = torch.full((m, d), float("nan")), torch.zeros(m, d)
        computed_kernel[(1,)](q, k, v, out, 2.0, trips, M=m, N=n, D=d, num_warps=warps, num_stages=stages)
        for i in range(trips):
            part = slice(i * n, (i + 1) * n)
            wanted = wanted * 0.5 + (2 * q.float() @ k[part].float().T).clamp(min=0) @ v[part].float()
        assert torch.equal(out, wanted)
