"""Products whose factor is a constant: ptxas 13.0 negated pairs of 16-bit floats wrongly where the upper one is below zero."""
import re
import subprocess

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


@pytest.mark.sim
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("kind, size", [("f16", "M=16,N=16,K=8"), ("bf16", "M=16,N=16,K=16"), ("f16", "M=64,N=64,K=64")])
def test_no_instruction_negates_a_factor(build_dir, kind, size, is_first, arch):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::constant_kernel", "--target", arch, "--emit", "sass", "--signature",
                           f"a=*{kind}:16,out=*f32:16,VALUE=-2.0,FIRST={is_first},{size}"], capture_output=True, text=True, timeout=120,
                          env=machine_code.tools())
    if "TEGULA_PTXAS" in done.stderr:
        pytest.skip(f"there is no assembler here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    products = re.findall(r"\bH?G?MMA[^;]*", done.stdout)
    assert products and not [each for each in products if "-R" in each]
