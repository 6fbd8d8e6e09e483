"""Products whose factor is a constant or one row, which ptxas 13.0 gets wrong: it negated pairs of 16-bit floats where the upper one is below zero, took
another constant for half of a word of 8-bit zeros, and made one of two pieces of a product with equal factors."""
import re

import pytest
import torch

import machine_code
import tegula as triton
import tegula.language as tl

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


@triton.jit
def constant_kernel(a, out, VALUE: tl.constexpr, FIRST: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if FIRST:
        x = tl.full([M, K], VALUE, a.dtype.element_ty)
        y = tl.load(a + k[:, None] * N + n[None, :])
    else:
        x = tl.load(a + m[:, None] * K + k[None, :])
        y = tl.full([K, N], VALUE, a.dtype.element_ty)
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(x, y))


@pytest.mark.parametrize("m, n, k, warps", [(16, 16, 16, 1), (16, 32, 8, 2), (64, 64, 64, 4)])
@pytest.mark.parametrize("value", [-2.0, 3.0, -0.0])
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("kind", list(DTYPES))
def test_factors_below_zero(target, kind, is_first, value, m, n, k, warps):
    dtype = DTYPES[kind]
    a = torch.randint(-3, 4, (k, n) if is_first else (m, k), generator=torch.Generator().manual_seed(1)).to(dtype)
    out = torch.full((m, n), float("nan"))
    constant_kernel[(1,)](a, out, VALUE=value, FIRST=is_first, M=m, N=n, K=k, num_warps=warps)
    other = torch.full((m, k) if is_first else (k, n), value)
    expected = other @ a.float() if is_first else a.float() @ other
    assert torch.equal(out, expected)


@pytest.mark.parametrize("m, n, k, warps", [(16, 16, 32, 1), (64, 32, 32, 4), (64, 64, 64, 2)])
@pytest.mark.parametrize("value", [0.0, 2.0, -3.0])
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn])
def test_factors_of_bytes(target, dtype, is_first, value, m, n, k, warps):
    a = torch.randint(-3, 4, (k, n) if is_first else (m, k), generator=torch.Generator().manual_seed(1)).float()
    out = torch.full((m, n), float("nan"))
    constant_kernel[(1,)](a.to(dtype), out, VALUE=value, FIRST=is_first, M=m, N=n, K=k, num_warps=warps)
    other = torch.full((m, k) if is_first else (k, n), value)
    assert torch.equal(out, other @ a if is_first else a @ other)


@triton.jit
def ones_kernel(x, out, trips, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros([M, N], tl.float32)
    for i in range(trips):
        acc += tl.dot(tl.full([M, K], 1, tl.float16), tl.load(x + (i * K + k)[:, None] * N + n[None, :]))
    first = tl.dot(tl.full([M, K], 1, tl.float16), tl.load(x + k[:, None] * N + n[None, :]))
    tl.store(out + m[:, None] * N + n[None, :], acc + first)


@pytest.mark.parametrize("m, warps", [(64, 4), (128, 4), (256, 4), (128, 8)])
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_sums_of_columns_by_a_product(target, m, warps, trips):
    n, k = 32, 16
    x = torch.randint(-3, 4, (max(trips, 1) * k, n), generator=torch.Generator().manual_seed(1)).half()
    out = torch.full((m, n), float("nan"))
    ones_kernel[(1,)](x, out, trips, M=m, N=n, K=k, num_warps=warps)
    assert torch.equal(out, (x[:trips * k].float().sum(0) + x[:k].float().sum(0)).expand(m, n))


@triton.jit
def one_row_kernel(row, x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    rows = tl.load(row + k)[None, :] * tl.full([M, 1], 1, tl.float16)
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(rows, tl.load(x + k[:, None] * N + n[None, :])))


@pytest.mark.parametrize("m, warps", [(64, 4), (128, 4), (256, 4), (128, 8)])
def test_a_row_that_is_repeated(target, m, warps):
    n, k = 32, 16
    g = torch.Generator().manual_seed(1)
    row, x = torch.randint(-3, 4, (k,), generator=g).half(), torch.randint(-3, 4, (k, n), generator=g).half()
    out = torch.full((m, n), float("nan"))
    one_row_kernel[(1,)](row, x, out, M=m, N=n, K=k, num_warps=warps)
    assert torch.equal(out, (row.float() @ x.float()).expand(m, n))


@pytest.mark.sim
@pytest.mark.parametrize("m, pieces", [(64, 1), (128, 2), (256, 4)])
@pytest.mark.parametrize("kernel, arguments", [("ones_kernel", "x=*f16:16,out=*f32:16,trips=0"), ("one_row_kernel", "row=*f16:16,x=*f16:16,out=*f32:16")])
def test_each_piece_of_a_product_is_multiplied(build_dir, kernel, arguments, m, pieces):
    text = machine_code.of_kernel(build_dir, f"{__file__}::{kernel}", f"{arguments},M={m},N=32,K=16")
    assert len(re.findall(r"\bHGMMA", text)) == pieces


@pytest.mark.sim
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("kind", ["fp8e5", "fp8e4nv"])
def test_the_assembler_knows_no_factor_of_bytes(build_dir, kind, is_first):
    text = machine_code.of_kernel(build_dir, f"{__file__}::constant_kernel", f"a=*{kind}:16,out=*f32:16,VALUE=0.0,FIRST={is_first},M=16,N=16,K=32", "--num-warps", 1)
    unpacked = re.findall(r"UNPACK_B R\d+, (\S+)", text)
    assert unpacked and all(re.match(r"U?R\d", word) for word in unpacked), unpacked


@pytest.mark.sim
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("kind, size", [("f16", "M=16,N=16,K=8"), ("bf16", "M=16,N=16,K=16"), ("f16", "M=64,N=64,K=64")])
def test_no_instruction_negates_a_factor(build_dir, kind, size, is_first, arch):
    text = machine_code.of_kernel(build_dir, f"{__file__}::constant_kernel", f"a=*{kind}:16,out=*f32:16,VALUE=-2.0,FIRST={is_first},{size}", arch=arch)
    products = re.findall(r"\bH?G?MMA[^;]*", text)
    assert products and not [each for each in products if "-R" in each]
