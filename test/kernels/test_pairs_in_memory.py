"""Tiles whose elements take turns in memory: gates beside values, pairs that are turned, points of four numbers.

Whether accesses are joined or not, each element is what the program's order of loads and stores says; they are joined where a pair is
one access, and nowhere else."""
import re
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8, "i32": torch.int32}


def numbers(shape, dtype, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(-9, 10, shape, generator=g).to(DTYPES[dtype])


@triton.jit
def halves_kernel(x, out, N, BLOCK: tl.constexpr, ODD_FIRST: tl.constexpr, OTHERS: tl.constexpr):
    """Even elements less twice the odd ones."""
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = c < N
    row = x + tl.program_id(0) * 2 * N
    if ODD_FIRST:
        odd = tl.load(row + 2 * c + 1, mask=inside, other=OTHERS)
        even = tl.load(row + 2 * c, mask=inside, other=0)
    else:
        even = tl.load(row + 2 * c, mask=inside, other=0)
        odd = tl.load(row + 2 * c + 1, mask=inside, other=OTHERS)
    tl.store(out + (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * BLOCK + tl.arange(0, BLOCK), even - 2 * odd)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n, block, warps", [(256, 128, 4), (200, 128, 1), (77, 64, 4), (1024, 1024, 4), (1000, 1024, 1)])
@pytest.mark.parametrize("odd_first", [False, True])
def test_loads(target, dtype, n, block, warps, odd_first):
    x, blocks = numbers((2, n, 2), dtype), -(-n // block)
    out = torch.full((2, blocks * block), 99, dtype=DTYPES[dtype])
    halves_kernel[(2, blocks)](x, out, n, block, odd_first, 3, num_warps=warps)
    right = torch.full_like(out, -6)  # 0 - 2 * 3 behind the end
    right[:, :n] = x[:, :, 0] - 2 * x[:, :, 1]
    assert torch.equal(out, right)


@triton.jit
def turn_kernel(x, angles, stride, D: tl.constexpr, ROWS: tl.constexpr, ODD_FIRST: tl.constexpr):
    """Turns pairs of a row in place."""
    rows, i = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D // 2)
    at = x + rows[:, None] * stride + 2 * i[None, :]
    a, b = tl.load(at).to(tl.float32), tl.load(at + 1).to(tl.float32)
    angle = tl.load(angles + rows[:, None] * (D // 2) + i[None, :])
    first, second = a * tl.cos(angle) - b * tl.sin(angle), a * tl.sin(angle) + b * tl.cos(angle)
    if ODD_FIRST:
        tl.store(at + 1, second.to(x.dtype.element_ty))
        tl.store(at, first.to(x.dtype.element_ty))
    else:
        tl.store(at, first.to(x.dtype.element_ty))
        tl.store(at + 1, second.to(x.dtype.element_ty))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("d, rows, warps", [(64, 4, 4), (256, 1, 4), (32, 16, 1), (2, 32, 1)])
@pytest.mark.parametrize("odd_first", [False, True])
def test_pairs_that_are_turned_in_place(target, dtype, d, rows, warps, odd_first):
    x = numbers((2 * rows, d), dtype)
    angles = torch.rand(2 * rows, d // 2, generator=torch.Generator().manual_seed(1))
    a, b, right = x[:, 0::2].float(), x[:, 1::2].float(), torch.empty_like(x)
    right[:, 0::2], right[:, 1::2] = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    turn_kernel[(2,)](x, angles, d, d, rows, odd_first, num_warps=warps)
    torch.testing.assert_close(x, right, rtol=2e-2 if dtype == "bf16" else 1e-5, atol=1e-5)


@triton.jit
def between_kernel(x, out, BLOCK: tl.constexpr):
    """Each load sees the store ahead of it, and each store comes behind the load ahead of it."""
    c = tl.arange(0, BLOCK)
    even = tl.load(x + 2 * c)
    tl.store(x + 2 * c + 1, even + 1)
    odd = tl.load(x + 2 * c + 1)
    tl.store(out + 2 * c, odd)
    before = tl.load(out + 2 * c + 1)
    tl.store(out + 2 * c + 1, before + even)
    tl.store(x + 2 * c, before)
    tl.store(x + 2 * c + 2, before + 1)  # also the next element's: the last store of a place stays, save that of its own store
    tl.store(x + 2 * c + 1, odd)


def test_accesses_between(target):
    x, out = numbers((258,), "i32"), numbers((256,), "i32", 1)
    even, odd = x[0:256:2].clone(), x[0:256:2] + 1
    before = out[1::2].clone()
    right, stored = torch.stack([odd, before + even], 1).flatten(), x.clone()
    stored[0:256:2], stored[1:256:2] = before, odd
    stored[2:258:2] = before + 1
    between_kernel[(1,)](x, out, 128)
    assert torch.equal(out, right) and torch.equal(x, stored)


@triton.jit
def two_masks_kernel(x, out, n, m, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    even = tl.load(x + 2 * c, mask=c < n, other=-1.0)
    odd = tl.load(x + 2 * c + 1, mask=c < m, other=-2.0)
    tl.store(out + 2 * c, odd, mask=c < m)
    tl.store(out + 2 * c + 1, even, mask=c < n)


@pytest.mark.parametrize("n, m", [(128, 128), (100, 99), (0, 5)])
def test_masks_of_their_own(target, n, m):
    x, out = numbers((256,), "f32"), torch.zeros(256)
    two_masks_kernel[(1,)](x, out, n, m, 128)
    right = torch.zeros(128, 2)
    right[:m, 0], right[:n, 1] = x[1::2][:m], x[0::2][:n]
    assert torch.equal(out, right.flatten())


@triton.jit
def points_kernel(points, out, n, BLOCK: tl.constexpr, TRIPS: tl.constexpr):
    """Sums of points of four numbers, by program and trip."""
    total = tl.zeros((BLOCK,), tl.float32)
    for trip in range(TRIPS):
        i = ((tl.program_id(0) * TRIPS + trip) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
        inside = i < n
        x, y = tl.load(points + i * 4, inside, 0.0), tl.load(points + i * 4 + 1, inside, 0.0)
        z, w = tl.load(points + i * 4 + 2, inside, 0.0), tl.load(points + i * 4 + 3, inside, 0.0)
        total += (x - y) * (z - w)
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), total)


@pytest.mark.parametrize("n", [1024, 1000])
def test_points_of_four(target, n):
    points, out = numbers((1024, 4), "f32"), torch.full((2, 128), float("nan"))
    points_kernel[(2,)](points, out, n, 128, 4)
    values = ((points[:, 0] - points[:, 1]) * (points[:, 2] - points[:, 3])) * (torch.arange(1024) < n)
    assert torch.equal(out, values.view(2, 4, 128).sum(1))


@triton.jit
def neighbours_kernel(x, out, BLOCK: tl.constexpr):
    """Sums of pairs from an odd place on: no pair begins where an access of two may."""
    c = tl.arange(0, BLOCK)
    tl.store(out + c, tl.load(x + 2 * c + 1) + tl.load(x + 2 * c + 2))


@pytest.mark.parametrize("shift", [0, 1])
def test_pairs_from_odd_places(target, shift):
    x, out = numbers((260,), "f16"), torch.zeros(128, dtype=torch.float16)
    neighbours_kernel[(1,)](x[shift:], out, 128)
    assert torch.equal(out, x[shift + 1:][:256:2] + x[shift + 2:][:256:2])
    halves_out = torch.zeros(1, 128, dtype=torch.float16)
    halves_kernel[(1, 1)](x[shift:], halves_out, 128, 128, False, 0)
    assert torch.equal(halves_out[0], x[shift:][:256:2] - 2 * x[shift + 1:][:256:2])


@pytest.mark.parametrize("kernel, signature, loads, stores", [
    ("halves_kernel", "x=*bf16:16,out=*bf16:16,N=i32:16,BLOCK=1024,ODD_FIRST=False,OTHERS=0", ["v4.b32"] * 2, ["v4.b32"]),
    ("halves_kernel", "x=*bf16:16,out=*bf16:16,N=i32,BLOCK=1024,ODD_FIRST=True,OTHERS=0", ["b32"] * 8, ["v4.b32"]),
    ("halves_kernel", "x=*bf16,out=*bf16:16,N=i32:16,BLOCK=128,ODD_FIRST=False,OTHERS=0", ["b16"] * 2, ["b16"]),
    ("turn_kernel", "x=*bf16:16,angles=*f32:16,stride=i32:16,D=1024,ROWS=1,ODD_FIRST=True", ["v4.b32"] * 2, ["v4.b32"]),
    ("turn_kernel", "x=*bf16:16,angles=*f32:16,stride=i32:16,D=512,ROWS=2,ODD_FIRST=False", ["v4.b32"] * 2, ["v4.b32"]),
    ("points_kernel", "points=*f32:16,out=*f32:16,n=i32,BLOCK=128,TRIPS=1", ["v2.b32"] * 2, ["b32"]),
    ("neighbours_kernel", "x=*f16:16,out=*f16:16,BLOCK=128", ["b16"] * 2, ["b16"])])
def test_pairs_are_one_access(build_dir, kernel, signature, loads, stores):
    text = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::{kernel}", "--target", "sm_90a", "--signature", signature,
                           "--emit", "ptx"], capture_output=True, text=True, check=True, timeout=120).stdout
    assert re.findall(r"ld\.global\.((?:v\d\.)?b\d+)", text) == loads  # those of tables, of sines, are `.nc`
    assert re.findall(r"st\.global\.((?:v\d\.)?b\d+)", text) == stores
