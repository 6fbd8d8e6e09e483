"""Loops that add up what reductions of their trips give: on GPUs threads meet once, behind the loop (defer-reductions)."""
import re
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl

ROWS, COLUMNS = 24, 200


@triton.jit
def along_kernel(x, y, out, n, FORM: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """One form of adding up [M, N] tiles along AXIS, over blocks of N columns."""
    rows = tl.arange(0, M)
    acc = tl.full((M,) if AXIS == 1 else (N,), 0.5, tl.float32)
    if FORM == "zero":
        acc = tl.zeros((M,) if AXIS == 1 else (N,), tl.float32)
    for start in range(0, n, N):
        at = start + tl.arange(0, N)
        inside = at[None, :] < n
        a = tl.load(x + rows[:, None] * n + at[None, :], mask=inside, other=0.0)
        b = tl.load(y + rows[:, None] * n + at[None, :], mask=inside, other=0.0)
        if FORM == "add" or FORM == "zero":
            acc += tl.sum(a * b, AXIS)
        elif FORM == "subtract":
            acc -= tl.sum(a * b, AXIS)
        elif FORM == "both":
            acc = acc + tl.sum(a, AXIS) - tl.sum(b, AXIS)
        elif FORM == "scaled":
            acc = acc * 0.75 + tl.sum(a, AXIS)
        elif FORM == "fused":
            acc = tl.fma(acc, 0.75, tl.sum(a, AXIS))
        elif FORM == "largest":
            acc = tl.maximum(acc, tl.max(a, AXIS))
        elif FORM == "least":
            acc = tl.minimum(tl.min(a, AXIS), acc)
        elif FORM == "read":  # `acc` is read besides: it stays in order
            acc += tl.sum(a * 0.5, AXIS) - acc * 0.25
    tl.store(out + tl.arange(0, M if AXIS == 1 else N), acc)


def along(x, y, form, axis, m, n):
    acc = torch.full((m if axis == 1 else n,), 0.0 if form == "zero" else 0.5, dtype=torch.float64)
    for start in range(0, COLUMNS, n):
        a, b = (torch.zeros(m, n, dtype=torch.float64) for _ in range(2))
        here = min(n, COLUMNS - start)
        a[:, :here], b[:, :here] = x[:m, start:start + here].double(), y[:m, start:start + here].double()
        step = {"add": lambda: acc + (a * b).sum(axis), "zero": lambda: acc + (a * b).sum(axis), "subtract": lambda: acc - (a * b).sum(axis),
                "both": lambda: acc + a.sum(axis) - b.sum(axis), "scaled": lambda: acc * 0.75 + a.sum(axis),
                "fused": lambda: acc * 0.75 + a.sum(axis), "largest": lambda: torch.maximum(acc, a.amax(axis)),
                "least": lambda: torch.minimum(acc, a.amin(axis)), "read": lambda: acc + (a * 0.5).sum(axis) - acc * 0.25}
        acc = step[form]()
    return acc


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("axis, m, n", [(1, 8, 64), (1, 2, 128), (0, 16, 32), (1, 1, 32)])
@pytest.mark.parametrize("form", ["add", "zero", "subtract", "both", "scaled", "fused", "largest", "least", "read"])
def test_along_an_axis(target, form, axis, m, n, warps):
    g = torch.Generator().manual_seed(1)
    x, y = torch.randn(ROWS, COLUMNS, generator=g), torch.randn(ROWS, COLUMNS, generator=g)
    out = torch.full((max(m, n),), float("nan"))
    along_kernel[(1,)](x, y, out, COLUMNS, FORM=form, AXIS=axis, M=m, N=n, num_warps=warps)
    expected = along(x, y, form, axis, m, n)
    torch.testing.assert_close(out[:len(expected)].double(), expected, rtol=2e-5, atol=2e-5)


@triton.jit
def whole_kernel(x, out, n, N: tl.constexpr):
    """Integers of all ops, and the largest float where some are NaN; the sum over an inner and an outer loop."""
    total, product, largest, least, bits, common, odd = 7, 1, -5, 5, 0, -1, 0
    best, mean = float("nan"), 0.25
    for outer in range(0, 2):
        for start in range(0, n, N):
            at = start + tl.arange(0, N)
            v = tl.load(x + at, mask=at < n, other=1)
            total += tl.sum(v)
            product *= tl.reduce(v | 1, 0, _times)
            largest = tl.maximum(largest, tl.max(v))
            least = tl.minimum(least, tl.min(v))
            bits |= tl.reduce(v, 0, _either)
            common &= tl.reduce(v, 0, _both)
            odd ^= tl.xor_sum(v)
            f = v.to(tl.float32)
            mean += tl.sum(f)
            best = tl.maximum(best, tl.max(tl.where(v > 0, float("nan"), f)))
    for i in tl.static_range(7):
        tl.store(out + i, (total, product, largest, least, bits, common, odd)[i])
    tl.store(out + 7, mean.to(tl.int32))
    tl.store(out + 8, best.to(tl.int32))


@triton.jit
def _times(a, b):
    return a * b


@triton.jit
def _either(a, b):
    return a | b


@triton.jit
def _both(a, b):
    return b & a


@pytest.mark.parametrize("warps", [1, 8])
def test_of_whole_tiles(target, warps):
    x = torch.randint(-1000, 1000, (300,), generator=torch.Generator().manual_seed(2), dtype=torch.int32)
    out = torch.full((9,), -7, dtype=torch.int32)
    whole_kernel[(1,)](x, out, 300, N=128, num_warps=warps)
    twice = torch.cat([x, torch.ones(84, dtype=torch.int32)] * 2).tolist()
    product, bits, common, odd = 1, 0, -1, 0
    for v in twice:
        product, bits, common, odd = product * (v | 1) % 2**32, bits | v, common & v, odd ^ v
    expected = [7 + sum(twice), product - 2**32 if product >= 2**31 else product, max(*twice, -5), min(*twice, 5), bits, common, odd, None,
                max(v for v in twice if v <= 0)]
    expected[7] = int(0.25 + sum(twice))
    assert out.tolist() == expected


@triton.jit
def in_order_kernel(x, out, n, N: tl.constexpr):
    """f16 rounds behind each trip, and 48 columns are no power of two: both are combined in their trips."""
    small = tl.full((), 0.0, tl.float16)
    odd = 0.0
    for start in range(0, n, N):
        v = tl.load(x + start + tl.arange(0, N))
        small += tl.sum(v.to(tl.float16))
        odd += tl.sum(v)
    tl.store(out, small.to(tl.float32))
    tl.store(out + 1, odd)


def test_combined_in_their_trips(target):
    x = torch.randn(480, generator=torch.Generator().manual_seed(3))
    out = torch.full((2,), float("nan"))
    in_order_kernel[(1,)](x, out, 480, N=48)
    small = torch.zeros((), dtype=torch.float16)
    for start in range(0, 480, 48):
        small += x[start:start + 48].half().float().sum().half()
    torch.testing.assert_close(out[0], small.float(), rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(out[1].double(), x.double().sum(), rtol=1e-5, atol=1e-5)


@triton.jit
def two_loops_kernel(x, out, between, n, first, N: tl.constexpr, READ: tl.constexpr):
    """A scaled sum that a second loop takes over from the first one; what lies between the two may be read."""
    rows, at = tl.arange(0, 16), tl.arange(0, N)
    acc = tl.full((16,), 3.0, tl.float32)
    for start in range(0, first, N):
        acc = acc * 0.5 + tl.sum(tl.load(x + rows[:, None] * n + (start + at)[None, :]), 1)
    if READ:
        tl.store(between + rows, acc)
    for start in range(first, n, N):
        acc = acc * 0.25 + tl.sum(tl.load(x + rows[:, None] * n + (start + at)[None, :]), 1)
    tl.store(out + rows, acc)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("first, count", [(0, 64), (64, 64), (64, 192), (128, 128), (0, 0)])
@pytest.mark.parametrize("read", [False, True])
def test_a_second_loop_goes_on(target, first, count, read, warps):
    x = torch.randint(-3, 4, (16, max(count, 1)), generator=torch.Generator().manual_seed(8)).float()
    out, between = torch.full((16,), float("nan")), torch.full((16,), float("nan"))
    two_loops_kernel[(1,)](x, out, between, count, first, N=64, READ=read, num_warps=warps)
    acc = torch.full((16,), 3.0)
    for start in range(0, first, 64):
        acc = acc * 0.5 + x[:, start:start + 64].sum(1)
    assert not read or torch.equal(between, acc)
    for start in range(first, count, 64):
        acc = acc * 0.25 + x[:, start:start + 64].sum(1)
    assert torch.equal(out, acc)


@triton.jit
def weighted_kernel(q, k, v, out, n, D: tl.constexpr, B: tl.constexpr):
    """A sum beside products: the loop carries nothing else on account of it, and its loads become copies."""
    m, d, j = tl.arange(0, 16), tl.arange(0, D), tl.arange(0, B)
    x = tl.load(q + m[:, None] * D + d[None, :])
    acc, total = tl.zeros([16, D], tl.float32), tl.zeros([16], tl.float32) + 0.5
    for start in range(0, n, B):
        p = tl.dot(x, tl.load(k + (start + j)[None, :] * D + d[:, None]))
        total += tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + (start + j)[:, None] * D + d[None, :]), acc)
    tl.store(out + m[:, None] * D + d[None, :], acc + total[:, None])


def test_beside_products(target):
    generator = torch.Generator().manual_seed(4)
    q, k, v = (torch.randint(-1, 2, (rows, 32), generator=generator).half() for rows in (16, 96, 96))
    out = torch.full((16, 32), float("nan"))
    weighted_kernel[(1,)](q, k, v, out, 96, D=32, B=32, num_stages=3)
    p = q.float() @ k.float().T
    assert torch.equal(out, p @ v.float() + p.sum(1, keepdim=True) + 0.5)


@pytest.mark.sim
def test_loads_beside_a_sum_become_copies(build_dir):
    done = subprocess.run([build_dir / "bin" / "tegula", "explain", f"{__file__}::weighted_kernel", "--target", "sm_90a", "--num-stages", "3",
                           "--signature", "q=*f16:16,k=*f16:16,v=*f16:16,out=*f32:16,n=i32,D=32,B=32"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "all threads once behind it" in done.stdout and "loads stay where they are" not in done.stdout, done.stdout
    assert re.search(r"pipeline: \d+ loads? runs? 2 trips ahead", done.stdout), done.stdout
