"""Loops of products whose copies start behind a trip's last read, into the slot that it has read: a second program fits then, or
half as many again where the warps of all are few."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def latent_kernel(q, k, v, out, n, D: tl.constexpr, B: tl.constexpr):
    """Both factors of a trip are read by instructions of one warp; K's rows may end within a block."""
    m, d, j = tl.arange(0, 16), tl.arange(0, D), tl.arange(0, B)
    x = tl.load(q + m[:, None] * D + d[None, :])
    acc = tl.zeros([16, D], tl.float32)
    for start in range(0, n, B):
        inside = start + j < n
        keys = tl.load(k + (start + j)[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
        p = tl.dot(x, keys)
        values = tl.load(v + (start + j)[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        acc = acc * 0.5 + tl.dot(p.to(tl.float16), values)
    tl.store(out + m[:, None] * D + d[None, :], acc)


@triton.jit
def faded_kernel(a, b, out, n, M: tl.constexpr, K: tl.constexpr):
    """Sums are scaled in each trip, so that each product is waited for there; K columns of both factors a trip."""
    m, k = tl.arange(0, M), tl.arange(0, K)
    acc = tl.zeros([M, M], tl.float32)
    for start in range(0, n, K):
        x = tl.load(a + m[:, None] * n + (start + k)[None, :])
        y = tl.load(b + m[None, :] * n + (start + k)[:, None])
        acc = acc * 0.5 + tl.dot(x, y)
    tl.store(out + m[:, None] * M + m[None, :], acc)


@triton.jit
def gated_kernel(a, g, u, out, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Three tiles a trip, 20 accesses of a thread of eight warps with 64×128×128; two sums."""
    m, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    gate, up = tl.zeros([M, N], tl.float32), tl.zeros([M, N], tl.float32)
    for start in range(0, n, K):
        x = tl.load(a + m[:, None] * n + (start + k)[None, :])
        gate = tl.dot(x, tl.load(g + j[None, :] * n + (start + k)[:, None]), gate)
        up = tl.dot(x, tl.load(u + j[None, :] * n + (start + k)[:, None]), up)
    tl.store(out + m[:, None] * N + j[None, :], gate * up)


def whole(*shape):
    return torch.randint(-1, 2, shape, generator=torch.Generator().manual_seed(sum(shape))).half()


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("n", [0, 20, 32, 75])
def test_attention_without_softmax(target, n, stages):
    q, k, v = whole(16, 512), whole(n + 1, 512), whole(n + 2, 512)
    out = torch.full((16, 512), float("nan"))
    latent_kernel[(1,)](q, k, v, out, n, D=512, B=32, num_stages=stages)
    acc = torch.zeros(16, 512, dtype=torch.float64)
    for start in range(0, n, 32):
        rows = slice(start, min(start + 32, n))
        acc = acc * 0.5 + (q.double() @ k[rows].double().T).half().double() @ v[rows].double()
    assert torch.equal(out.double(), acc)


@pytest.mark.parametrize("m, k, warps", [(64, 256, 4), (32, 64, 1)])
@pytest.mark.parametrize("trips", [1, 2, 5])
def test_scaled_sums(target, trips, m, k, warps):
    n = k * trips
    a, b = whole(m, n), whole(m, n + 1)[:, :n].contiguous()
    out = torch.full((m, m), float("nan"))
    faded_kernel[(1,)](a, b, out, n, M=m, K=k, num_stages=3, num_warps=warps)
    acc = torch.zeros(m, m, dtype=torch.float64)
    for start in range(0, n, k):
        acc = acc * 0.5 + a[:, start:start + k].double() @ b[:, start:start + k].double().T
    assert torch.equal(out.double(), acc)


@pytest.mark.sim
@pytest.mark.parametrize("name, signature, arch, warps, ahead", [
    ("latent_kernel", "q=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,n=i32,D=512,B=32", "sm_90a", 4, 1),
    ("latent_kernel", "q=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,n=i32,D=512,B=16", "sm_80", 4, 2),
    ("faded_kernel", "a=*f16:16,b=*f16:16,out=*f32:16,n=i32:16,M=64,K=256", "sm_90a", 4, 1),
    ("faded_kernel", "a=*f16:16,b=*f16:16,out=*f32:16,n=i32:16,M=32,K=64", "sm_90a", 1, 2)])
def test_explain_says_so(build_dir, name, signature, arch, warps, ahead):
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::{name}", "--target", arch, "--num-stages", "3",
                           "--num-warps", str(warps), "--signature", signature], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"run {ahead} trip{'s' if ahead > 1 else ''} ahead, started behind a trip's last read" in done.stdout, done.stdout


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_gated_products(target, trips):
    n = 128 * trips
    a, g, u = whole(64, n), whole(128, n), whole(128, n + 1)[:, :n].contiguous()
    out = torch.full((64, 128), float("nan"))
    gated_kernel[(1,)](a, g, u, out, n, M=64, N=128, K=128, num_stages=3, num_warps=8)
    assert torch.equal(out.double(), (a.double() @ g.double().T) * (a.double() @ u.double().T))


@pytest.mark.sim
def test_registers_of_addresses_leave_no_room_for_a_second_program(build_dir):
    """With one slot nothing would run beside a trip's copies, since no second program has registers."""
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::gated_kernel", "--target", "sm_90a", "--num-stages", "3",
                           "--num-warps", "8", "--signature", "a=*f16:16,g=*f16:16,u=*f16:16,out=*f32:16,n=i32:16,M=64,N=128,K=128"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "3 loads run 1 trip ahead\n" in done.stdout, done.stdout
