"""Products: types of factors and results, accumulators, batches, precisions."""
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr, OUT: tl.constexpr, MODE: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    if MODE == "acc":
        c = tl.dot(a, b, acc=tl.full((M, N), 2, OUT), input_precision=PRECISION)
    elif MODE == "plus":
        c = tl.full((M, N), 2, OUT)
        c += tl.dot(a, b, input_precision=PRECISION, out_dtype=OUT)
    else:
        c = tl.dot(a, b, input_precision=PRECISION, out_dtype=OUT) + 2
    tl.static_assert(c.dtype == OUT)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@pytest.mark.parametrize("mode", ["acc", "plus", "after"])
@pytest.mark.parametrize("name, out", [("float16", "float32"), ("bfloat16", "float32"), ("float32", "float32"), ("int8", "int32"),
                                       ("float16", "float16"), ("float64", "float64")])
def test_types_and_accumulators(device, name, out, mode):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-4, 5, shape, generator=generator).to(getattr(torch, name)).to(device) for shape in ((16, 32), (32, 16)))
    c = torch.zeros(16, 16, dtype=getattr(torch, out), device=device)
    dot_kernel[(1,)](a, b, c, M=16, N=16, K=32, PRECISION="ieee", OUT=getattr(tl, out), MODE=mode)
    assert torch.equal(c.cpu().double(), a.cpu().double() @ b.cpu().double() + 2)


@pytest.mark.parametrize("precision, bound", [("ieee", 2e-6), ("tf32", 5e-3), ("tf32x3", 3e-6), (None, 5e-3)])
def test_precisions_of_float32(device, precision, bound):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=generator).to(device) for shape in ((32, 64), (64, 32)))
    c = torch.zeros(32, 32, device=device)
    dot_kernel[(1,)](a, b, c, M=32, N=32, K=64, PRECISION=precision, OUT=tl.float32, MODE="plus")
    exact = a.cpu().double() @ b.cpu().double() + 2
    assert (c.cpu().double() - exact).abs().max() <= bound * exact.abs().max()


@triton.jit
def batched_kernel(a_ptr, b_ptr, c_ptr):
    z, i = tl.arange(0, 2), tl.arange(0, 16)
    at = z[:, None, None] * 256 + i[None, :, None] * 16 + i[None, None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    tl.static_assert(c.dtype == tl.float32 and len(c.shape) == 3)
    tl.store(c_ptr + at, c)


def test_batches(device):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-4, 5, (2, 16, 16), generator=generator).half().to(device) for _ in range(2))
    c = torch.zeros(2, 16, 16, device=device)
    batched_kernel[(1,)](a, b, c)
    assert torch.equal(c.cpu().double(), a.cpu().double() @ b.cpu().double())


@triton.jit
def chain_kernel(q_ptr, k_ptr, v_ptr, out_ptr):
    i, d = tl.arange(0, 32), tl.arange(0, 16)
    at = i[:, None] * 16 + d[None, :]
    q, k, v = tl.load(q_ptr + at), tl.load(k_ptr + at), tl.load(v_ptr + at)
    s = tl.dot(q, tl.trans(k))
    s = tl.where(i[:, None] >= i[None, :], s, float("-inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    tl.store(out_ptr + at, tl.dot(p.to(v.dtype), v))


def test_products_of_products(device):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(32, 16, generator=generator).half().to(device) for _ in range(3))
    out = torch.zeros(32, 16, device=device)
    chain_kernel[(1,)](q, k, v, out)
    s = (q.cpu().double() @ k.cpu().double().T).masked_fill(torch.ones(32, 32).triu(1).bool(), float("-inf"))
    assert (out.cpu().double() - torch.softmax(s, 1) @ v.cpu().double()).abs().max() < 3e-3


@triton.jit
def loop_kernel(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in tl.range(0, K, BK, num_stages=STAGES):
        a = tl.load(a_ptr + m[:, None] * K + start + k[None, :], mask=start + k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + (start + k[:, None]) * BN + n[None, :], mask=start + k[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc)


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("K", [16, 100, 128])
def test_loops_over_k(device, K, stages):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-4, 5, shape, generator=generator).half().to(device) for shape in ((32, K), (K, 32)))
    c = torch.zeros(32, 32, device=device)
    loop_kernel[(1,)](a, b, c, K, BM=32, BN=32, BK=32, STAGES=stages)
    assert torch.equal(c.cpu().double(), a.cpu().double() @ b.cpu().double())
