"""Products whose sums begin equal to each other, or to a factor: each is read from a register of its own. ptxas 13.0 wrote the first sum of an
8-bit product before it read the second one from the same register; products under way read a factor from the register of a sum."""
import re
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl

DTYPES = {"f8e4nv": torch.float8_e4m3fn, "f8e5": torch.float8_e5m2}


@triton.jit
def equal_sums_kernel(a, b, out, start, more, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros([M, N], tl.float32) + start
    if more > 0:
        x = tl.load(a + m[:, None] * K + k[None, :])
        y = tl.load(b + k[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(out + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("m, n, k, warps", [(16, 16, 32, 1), (32, 16, 32, 8), (16, 32, 64, 2)])
@pytest.mark.parametrize("kind", list(DTYPES))
def test_sums_that_begin_equal(target, kind, m, n, k, warps):
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-3, 4, shape, generator=generator).to(DTYPES[kind]) for shape in ((m, k), (k, n)))
    for more in (0, 1):
        out = torch.full((m, n), float("nan"))
        equal_sums_kernel[(1,)](a, b, out, 3.0, more, M=m, N=n, K=k, num_warps=warps)
        assert torch.equal(out, 3 + more * (a.float() @ b.float()))


@pytest.mark.sim
@pytest.mark.parametrize("arch", ["sm_89", "sm_90a"])
@pytest.mark.parametrize("kind", list(DTYPES))
def test_each_sum_is_written_where_it_was_read(build_dir, kind, arch):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::equal_sums_kernel", "--target", arch, "--emit", "ptx", "--signature",
                           f"a=*{kind}:16,b=*{kind}:16,out=*f32:16,start=f32,more=i32,M=32,N=16,K=32"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    products = re.findall(r"mma\.sync\S+\s+\{([^}]*)\},\s*\{[^}]*\},\s*\{[^}]*\},\s*\{([^}]*)\}", done.stdout)
    assert products
    for written, read in products:
        assert written == read
        assert len(set(read.split(", "))) == 4


@triton.jit
def constant_factor_kernel(b, out, VALUE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    y = tl.load(b + n[None, :] * K + k[:, None])
    acc = tl.dot(tl.full([M, K], VALUE, b.dtype.element_ty), y, tl.full([M, N], VALUE, tl.float32))
    tl.store(out + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("m, n, k, warps", [(64, 16, 64, 4), (64, 16, 64, 8), (16, 16, 32, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("value", [2.0, 0.0])
def test_a_factor_that_equals_the_sums(target, value, dtype, m, n, k, warps):
    b = torch.randint(-3, 4, (n, k), generator=torch.Generator().manual_seed(1)).to(dtype)
    out = torch.full((m, n), float("nan"))
    constant_factor_kernel[(1,)](b, out, VALUE=value, M=m, N=n, K=k, num_warps=warps)
    assert torch.equal(out, value + value * b.float().sum(1).expand(m, n))
