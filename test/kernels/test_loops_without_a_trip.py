"""A loop of products that has no trip for certain is removed ahead of the assembler, which otherwise leaves sums unwritten that begin as constants."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def none_kernel(x, out, trips, IS_CONSTANT: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    acc = tl.full([N, N], 1, tl.float32)
    for i in range(trips):
        factor = tl.load(x + at)
        left = 0 if IS_CONSTANT else ((trips % 6) * 3) % 3
        while left > 0:
            left -= 1
            acc = tl.dot(acc.to(tl.float16), factor, acc)
            for j in range(i):
                acc = tl.dot(factor, acc.to(tl.float16), acc)
    tl.store(out + at, acc)


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("is_constant", [True, False])
def test_sums_stay_as_they_began(target, is_constant, warps, trips):
    n = 64
    out = torch.full((n, n), float("nan"))
    none_kernel[(1,)](torch.ones(n, n, dtype=torch.float16), out, trips, IS_CONSTANT=is_constant, N=n, num_warps=warps)
    assert torch.all(out == 1)


@pytest.mark.parametrize("is_constant", [True, False])
def test_it_is_not_in_the_text(build_dir, is_constant):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::none_kernel", "--signature",
                           f"x=*f16:16,out=*f32:16,trips=i32,IS_CONSTANT={is_constant},N=64", "--target", "sm_90a", "--emit", "ptx"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "st.global" in done.stdout and "wgmma" not in done.stdout
