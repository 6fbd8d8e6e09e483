"""`while` loops that count: they become `for` loops, whose loads run ahead; the index behind them is the one that ended them."""
import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def counted_kernel(x, out, begin, end, FORM: tl.constexpr, STEP: tl.constexpr, B: tl.constexpr):
    i = begin
    total = tl.zeros([B], tl.int32)
    trips = 0
    while i < end:
        total += tl.load(x + tl.arange(0, B) + trips)
        trips += 1
        if FORM == "twice":
            i += STEP
            i += STEP
        elif FORM == "by condition":
            i += STEP if trips % 2 == 0 else STEP + 1
        elif FORM == "moving end":
            i += STEP
            end -= 1
        else:
            i += STEP
    tl.store(out + tl.arange(0, B), total)
    tl.store(out + B, i)
    tl.store(out + B + 1, trips)


@pytest.mark.parametrize("begin, end", [(0, 10), (3, 3), (7, -4), (-5, 2), (2**31 - 20, 2**31 - 8), (-(2**31), -(2**31) + 9)])
@pytest.mark.parametrize("form", ["plain", "twice", "by condition", "moving end"])
def test_index_and_trips(target, form, begin, end):
    x = torch.arange(200, dtype=torch.int32)
    out = torch.full((34,), -7, dtype=torch.int32)
    counted_kernel[(1,)](x, out, begin, end, FORM=form, STEP=3, B=32)
    i, trips, total = begin, 0, torch.zeros(32, dtype=torch.int32)
    while i < end:
        total += x[trips:trips + 32]
        trips += 1
        i += {"plain": 3, "twice": 6, "by condition": 3 + trips % 2, "moving end": 3}[form]
        end -= form == "moving end"
    assert out.tolist() == [*total.tolist(), i, trips]


@triton.jit
def product_kernel(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    acc = tl.zeros([M, N], tl.float32)
    k = 0
    while k < K:
        at = k + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + at[None, :], mask=at[None, :] < K, other=0.0)
        y = tl.load(b + at[:, None] * N + n[None, :], mask=at[:, None] < K, other=0.0)
        acc = tl.dot(x, y, acc)
        k += BK
    tl.store(c + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("dtype, k, stages", [(torch.float16, 96, 3), (torch.float32, 80, 2), (torch.float16, 0, 3)])
def test_products(target, dtype, k, stages):
    g = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-3, 4, shape, generator=g).to(dtype) for shape in ((64, k), (k, 64)))
    c = torch.full((64, 64), float("nan"))
    product_kernel[(1,)](a, b, c, k, M=64, N=64, BK=32, num_stages=stages)
    assert torch.equal(c, a.float() @ b.float())


@pytest.mark.sim
def test_their_loads_run_ahead():
    half, out = torch.empty(2**14, dtype=torch.float16), torch.empty(2**12)
    product_kernel.target = "ptxvm"
    assert "cp.async" in product_kernel.warmup(half, half, out, 256, M=64, N=64, BK=32, num_stages=3, arch="sm90a", grid=(1,)).asm["ptx"]
