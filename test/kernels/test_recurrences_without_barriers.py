"""Recurrences whose trips store rows of their own: threads that hold copies of a row neither read nor store it, so that nobody waits."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def recurrence_kernel(x, g, out, T, D: tl.constexpr, BD: tl.constexpr):
    """h = g * h + x, row by row; pointers are moved by hand."""
    at = tl.program_id(0) * BD + tl.arange(0, BD)
    mask = at < D
    x += at
    g += at
    out += at
    h = tl.zeros([BD], tl.float32)
    for t in range(0, T):
        decay = tl.load(g, mask=mask, other=0.0)
        if t == 0:
            decay = decay * 0.0
        h = decay * h + tl.load(x, mask=mask, other=0.0)
        tl.store(out, h, mask=mask)
        x += D
        g += D
        out += D


@triton.jit
def centred_kernel(x, out, T, D: tl.constexpr):
    """All elements of a row are summed ahead of the store: in place, that store has to wait for them."""
    at = tl.arange(0, D)
    for t in range(0, T):
        row = tl.load(x + at)
        tl.store(out + at, row - tl.sum(row))
        x += D
        out += D


def recurrence(x, g):
    h, rows = torch.zeros(x.shape[1]), []
    for row, decay in zip(x, g):
        h = decay * h + row
        rows.append(h)
    return torch.stack(rows)


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("form", ["apart", "in place", "in place of decays"])
def test_recurrence(target, form, warps):
    generator = torch.Generator().manual_seed(warps)
    x, g = torch.randint(-3, 4, (5, 72), generator=generator).float(), torch.randint(0, 2, (5, 72), generator=generator).float()
    right = recurrence(x, g)
    out = {"apart": torch.full_like(x, float("nan")), "in place": x, "in place of decays": g}[form]
    recurrence_kernel[(2,)](x, g, out, 5, D=72, BD=64, num_warps=warps)
    assert torch.equal(out, right)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("columns", [16, 64])
def test_sums_of_what_is_stored_in_place(target, columns, warps):
    x = torch.randint(-3, 4, (4, columns), generator=torch.Generator().manual_seed(columns)).float()
    right = x - x.sum(1, keepdim=True)
    centred_kernel[(1,)](x, x, 4, D=columns, num_warps=warps)
    assert torch.equal(x, right)


@pytest.mark.sim
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_no_trip_has_a_barrier(build_dir, warps):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::recurrence_kernel", "--target", "sm_90a", "--num-warps", str(warps),
                           "--emit", "ptx", "--signature", "x=*f32:16,g=*f32:16,out=*f32:16,T=i32,D=2048,BD=64"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "ld.global" in done.stdout, done.stderr
    assert "bar.sync" not in done.stdout
