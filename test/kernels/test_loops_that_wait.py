"""Small loops whose trips wait for memory take several trips at once: whatever their number, each trip counts once, in its order."""
import re
import subprocess
from pathlib import Path

import pytest
import torch

import tegula as triton
import tegula.language as tl
from contract import assert_same

B = 128


@triton.jit
def combine_kernel(values, weights, out, first, last, stride, B: tl.constexpr, STEP: tl.constexpr, FORM: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0) * stride * 40
    acc = tl.zeros([B], tl.float32)
    total = 0.0
    for k in range(first, last, STEP):
        if FORM == "sum":
            acc = acc * 0.5 + tl.load(values + row + k * stride + i)
        elif FORM == "masked":
            acc = acc * 0.5 + tl.load(values + row + k * stride + i, mask=i < 100, other=1.0)
        elif FORM == "chosen":
            w = tl.load(weights + k)
            if w > 0:
                acc = acc * 0.5 + tl.load(values + row + k * stride + i) * w
                total += w
        elif FORM == "by index":
            w = tl.load(weights + k)
            acc = acc * 0.5 + tl.load(values + row + tl.abs(w).to(tl.int32) % 7 * stride + i)
        else:
            if k < 9:
                acc += tl.load(values + row + k * stride + i)
            else:
                acc *= 0.5
    tl.store(out + tl.program_id(0) * (B + 1) + i, acc)
    tl.store(out + tl.program_id(0) * (B + 1) + B, total)


def expected(values, weights, form, trips):
    acc, total = torch.zeros(2, B), 0.0
    seen = torch.arange(B) < 100
    for k in trips:
        w = float(weights[k])
        if form == "sum":
            acc = acc * 0.5 + values[:, k]
        elif form == "masked":
            acc = acc * 0.5 + torch.where(seen, values[:, k], 1.0)
        elif form == "chosen":
            if w > 0:
                acc, total = acc * 0.5 + values[:, k] * w, total + w
        elif form == "by index":
            acc = acc * 0.5 + values[:, int(abs(w)) % 7]
        else:
            acc = acc + values[:, k] if k < 9 else acc * 0.5
    return torch.cat([acc, torch.full((2, 1), total)], 1)


@pytest.mark.parametrize("form", ["sum", "masked", "chosen", "by index", "branch"])
@pytest.mark.parametrize("first, last, step", [(0, 0, 1), (0, 1, 1), (0, 7, 1), (0, 8, 1), (0, 9, 1), (3, 40, 1), (5, 4, 1), (1, 40, 3), (2, 33, 16)])
def test_each_trip_counts_once(target, form, first, last, step):
    values = (torch.arange(2 * 40 * B).reshape(2, 40, B) * 37 % 64).float()
    weights = (torch.arange(40) * 5 % 11 - 3).float()
    out = torch.full((2, B + 1), float("nan"))
    combine_kernel[(2,)](values, weights, out, first, last, B, B=B, STEP=step, FORM=form)
    assert_same(out, expected(values, weights, form, range(first, last, step)))


@triton.jit
def sums_kernel(x, out, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        total += tl.load(x + tl.program_id(0) * n + start + tl.arange(0, B)).to(tl.float32)
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


LAYERNORM = Path(__file__).resolve().parents[2] / "examples" / "kernels" / "layernorm.py"


@pytest.mark.parametrize("kernel, signature, loads", [
    (f"{__file__}::sums_kernel", "x=*f16:16,out=*f32:16,n=i32:16,B=1024", 4 * 2 + 2),  # four trips at once, and one
    # Three loops, of which one stores: of x, x, and x with its weights and biases. As many rows run as have registers.
    (f"{LAYERNORM}::layernorm_kernel", "x_ptr=*f16:16,weight_ptr=*f16:16,bias_ptr=*f16:16,out_ptr=*f16:16,mean_ptr=*f32:16,rstd_ptr=*f32:16,"
     "x_stride=i32:16,out_stride=i32:16,n_columns=i32:16,eps=f32,BLOCK=1024", 2 + 2 + 3 * 2)])
def test_wide_loads_of_several_trips_start_together_unless_rows_are_stored(build_dir, kernel, signature, loads):
    text = subprocess.run([build_dir / "bin" / "tegula", "compile", kernel, "--target", "sm_90a", "--num-warps", "2", "--signature", signature,
                           "--emit", "ptx"], capture_output=True, text=True, check=True, timeout=120).stdout
    assert len(re.findall(r"ld\.global\.v4", text)) == loads
