"""Products of f32 whose rows another product computes: each thread multiplies what it has, in pairs along K, where the warps lie so."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def twice_kernel(q, k, v, out, T, R: tl.constexpr, C: tl.constexpr, D: tl.constexpr, E: tl.constexpr, MASKED: tl.constexpr):
    r, c, d, e = tl.arange(0, R), tl.arange(0, C), tl.arange(0, D), tl.arange(0, E)
    rows = tl.load(q + r[:, None] * D + d[None, :])
    acc = tl.zeros([R, E], tl.float32)
    for start in range(0, T, C):
        keys = tl.load(k + (start + c)[:, None] * D + d[None, :])
        values = tl.load(v + (start + c)[:, None] * E + e[None, :]).to(tl.float32)
        scores = tl.dot(rows, tl.trans(keys)) + 1
        if MASKED:
            scores = tl.where(r[:, None] >= start + c[None, :], scores, 0.5)
        acc += tl.dot(scores, values)
    tl.store(out + r[:, None] * E + e[None, :], acc)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("masked", [False, True], ids=["", "masked"])
@pytest.mark.parametrize("types", [(torch.float32, torch.float32), (torch.float16, torch.bfloat16)], ids=["f32", "f16 bf16"])
@pytest.mark.parametrize("r, c, d, e, warps", [(64, 64, 32, 64, 4), (128, 32, 16, 32, 4), (16, 64, 32, 32, 1), (32, 16, 16, 64, 4), (128, 64, 32, 32, 8), (64, 16, 64, 16, 2)])
def test_second_products(target, r, c, d, e, warps, types, masked, arch, monkeypatch):
    if arch == "sm_80" and target != "sim":
        pytest.skip("the target has one architecture")
    monkeypatch.setenv("TEGULA_SIM_ARCH", arch)
    generator = torch.Generator().manual_seed(r)
    q, k = (torch.randint(-2, 3, (rows, d), generator=generator).to(types[0]) for rows in (r, 2 * c))
    v = torch.randint(-3, 4, (2 * c, e), generator=generator).to(types[1])
    out = torch.full((r, e), 9.0)
    twice_kernel[(1,)](q, k, v, out, 2 * c, R=r, C=c, D=d, E=e, MASKED=masked, num_warps=warps, num_stages=2)
    scores = q.float() @ k.float().T + 1
    if masked:
        scores = torch.where(torch.arange(r)[:, None] >= torch.arange(2 * c), scores, torch.tensor(0.5))
    assert torch.equal(out, scores @ v.float())
