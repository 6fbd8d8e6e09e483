"""Conversions that would not fit into shared memory beside the buffers of products happen in rounds."""
import os
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def gradients_kernel(Q, K, V, DO, LOGS, DELTA, DQ, DK, DV, T, scale, BM: tl.constexpr, BN: tl.constexpr, HEAD: tl.constexpr):
    columns, depth = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, HEAD)
    there = columns[:, None] < T
    at = columns[:, None] * HEAD + depth[None, :]
    k, v = tl.load(K + at, mask=there, other=0.0), tl.load(V + at, mask=there, other=0.0)
    dk, dv = tl.zeros([BN, HEAD], tl.float32), tl.zeros([BN, HEAD], tl.float32)
    for start in range(0, T, BM):
        rows = start + tl.arange(0, BM)
        inside = rows[:, None] < T
        place = rows[:, None] * HEAD + depth[None, :]
        q, do = tl.load(Q + place, mask=inside, other=0.0), tl.load(DO + place, mask=inside, other=0.0)
        delta = tl.load(DELTA + rows, mask=rows < T, other=0.0)
        logs = tl.load(LOGS + rows, mask=rows < T, other=float("inf"))
        p = tl.exp2(tl.dot(k, tl.trans(q)) * scale - logs[None, :])
        dv += tl.dot(p, do)
        ds = p * (tl.dot(v, do.T) - delta[None, :]) * scale
        dk = tl.dot(ds, q, dk)
        tl.atomic_add(DQ + place, tl.dot(ds.T, k), mask=inside, sem="relaxed")
    tl.store(DK + at, dk, mask=there)
    tl.store(DV + at, dv, mask=there)


@pytest.mark.skipif(os.environ.get("TEGULA_SIM_ARCH", "sm_90a") == "sm_80", reason="the tiles alone take 180 KB of 163")
def test_gradients_of_attention_in_f32_fit(target):
    T, head, scale = 40, 128, 0.1
    q, k, v, do = (torch.randint(-2, 3, (T, head)).float() for _ in range(4))
    scores = (q @ k.T).double() * scale
    logs = torch.log2(torch.exp2(scores).sum(1))
    p = torch.exp2(scores - logs[:, None])
    delta = (p @ v.double() * do).sum(1)
    ds = p * (do.double() @ v.double().T - delta[:, None]) * scale
    dq, dk, dv = (torch.zeros(T, head) for _ in range(3))
    gradients_kernel[(2,)](q, k, v, do, logs.float(), delta.float(), dq, dk, dv, T, scale, BM=128, BN=32, HEAD=head, num_warps=4, num_stages=2)
    for got, wanted in ((dq, ds @ k.double()), (dk, ds.T @ q.double()), (dv, p.T @ do.double())):
        torch.testing.assert_close(got, wanted.float(), atol=0.05, rtol=0.01)


def test_the_conversion_is_said_to_be_in_rounds(build_dir):
    pointers = ",".join(f"{name}=*f32:16" for name in "Q K V DO LOGS DELTA DQ DK DV".split())
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::gradients_kernel", "--signature",
                           f"{pointers},T=i32:16,scale=f32,BM=128,BN=32,HEAD=128", "--target", "sm_90a", "--num-stages", "2"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "through 65536 bytes" not in done.stdout and "through 32768 bytes" in done.stdout
