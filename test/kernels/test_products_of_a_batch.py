"""Products of a batch: the warps share the batch, and the rest of them the rows and columns of each product."""
import pytest
import torch

import tegula as triton
import tegula.language as tl

DTYPES = {"f16": torch.float16, "f32": torch.float32, "i8": torch.int8}


@triton.jit
def product_kernel(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TRIPS: tl.constexpr):
    i, m, n, k = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    sums = tl.zeros([B, M, N], out.dtype.element_ty)
    for trip in range(TRIPS):
        x = tl.load(a + (i[:, None, None] * M + m[None, :, None]) * K * TRIPS + trip * K + k[None, None, :])
        y = tl.load(b + (i[:, None, None] * K * TRIPS + trip * K + k[None, :, None]) * N + n[None, None, :])
        sums += tl.dot(x, y, out_dtype=out.dtype.element_ty)
    tl.store(out + (i[:, None, None] * M + m[None, :, None]) * N + n[None, None, :], sums)


@pytest.mark.parametrize("batch, m, n, k, warps", [(16, 16, 16, 32, 4), (2, 16, 32, 32, 4), (2, 32, 64, 32, 8), (4, 16, 16, 32, 8), (1, 32, 16, 32, 2), (8, 16, 8, 32, 2)])
@pytest.mark.parametrize("kind", list(DTYPES))
def test_products_of_a_batch(target, kind, batch, m, n, k, warps):
    generator = torch.Generator().manual_seed(1)
    trips = 2
    a, b = (torch.randint(-4, 5, shape, generator=generator) for shape in ((batch, m, k * trips), (batch, k * trips, n)))
    out = torch.zeros(batch, m, n, dtype=torch.int32 if kind == "i8" else torch.float32)
    product_kernel[(1,)](a.to(DTYPES[kind]), b.to(DTYPES[kind]), out, B=batch, M=m, N=n, K=k, TRIPS=trips, num_warps=warps)
    assert torch.equal(out, (a @ b).to(out.dtype))


@triton.jit
def chain_kernel(q, k, v, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    i, m, n, d = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    rows = tl.load(q + (i[:, None, None] * M + m[None, :, None]) * D + d[None, None, :])
    columns = tl.load(k + (i[:, None, None] * N + n[None, :, None]) * D + d[None, None, :])
    scores = tl.dot(rows, columns.permute(0, 2, 1))
    scores -= tl.max(scores, 2)[:, :, None]
    values = tl.load(v + (i[:, None, None] * N + n[None, :, None]) * D + d[None, None, :])
    result = tl.dot(scores.to(tl.float16), values)
    tl.store(out + (i[:, None] * M + m[None, :])[:, :, None] * D + d[None, None, :], result)
    tl.store(out + B * M * D + m[:, None] * D + d[None, :], tl.sum(result, 0))


@pytest.mark.parametrize("batch, m, n, d, warps", [(16, 16, 16, 32, 4), (4, 16, 32, 16, 8), (2, 16, 16, 64, 4)])
def test_a_product_of_a_batch_of_products(target, batch, m, n, d, warps):
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randint(-2, 3, (batch, rows, d), generator=generator).half() for rows in (m, n, n))
    out = torch.zeros(batch * m * d + m * d)
    chain_kernel[(1,)](q, k, v, out, B=batch, M=m, N=n, D=d, num_warps=warps)
    scores = q.float() @ k.float().transpose(1, 2)
    expected = (scores - scores.amax(2, keepdim=True)) @ v.float()
    assert torch.equal(out[:expected.numel()].view_as(expected), expected)
    assert torch.equal(out[expected.numel():].view(m, d), expected.sum(0))
