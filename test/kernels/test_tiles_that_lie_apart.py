"""Blocks, rows and halves that one program updates one after the other: nobody waits where they lie apart, and where they
overlap each sees what the one before has left."""
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def update(at, mask, step):
    tl.store(at, tl.load(at, mask=mask, other=0.0) * 2 + step, mask=mask)


@triton.jit
def apart_kernel(out, n, many, other, FORM: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    """D is how far blocks are apart; masks keep rows of n below `limit`."""
    pid = tl.program_id(0)
    o = tl.arange(0, B)
    limit = n if D == B else other
    if FORM == "blocks":
        for j in tl.static_range(3):
            at = pid * 3 * B + j * D + o
            update(out + at, at < many, j + 1)
    elif FORM == "blocks behind a pointer":
        begin = out + pid.to(tl.int64) * 3 * B
        for j in range(3):
            update(begin + j * D + o, o >= 0, j + 1)
    elif FORM == "rows":
        for j in tl.static_range(3):
            update(out + (pid * 3 + j) * n + o, o < limit, j + 1)
    elif FORM == "a loop over rows":
        for row in range(pid, many, tl.num_programs(0)):
            update(out + row * n + o, o < limit, row)
    elif FORM == "a loop that waits for rows":
        row = pid
        while row < many:
            update(out + row * n + o, o <= limit - 1, row)
            row += tl.num_programs(0)
    elif FORM == "columns of rows":
        for row in range(pid, many, tl.num_programs(0)):
            for i in range(0, n, D):
                update(out + row * n + i + o, i + o < limit, row + i)
    elif FORM == "blocks of rows":
        R: tl.constexpr = 4 if D == B else 2  # by how many rows a block moves on
        for k in range(pid, many, tl.num_programs(0)):
            row = k * R + tl.arange(0, 4)
            update(out + row[:, None] * n + o[None, :], o[None, :] < n, k)
    elif FORM == "heads":
        for h in range(many):
            update(out + (pid * many + h) * D + o, o >= 0, h)
    elif FORM == "two in one":
        for i in range(0, n, B):
            update(out + i + o, i + o < n, 1)
            update(out + limit + i + o, i + o < n, 2)
    elif FORM == "carried":
        for k in range(tl.cdiv(n, D)):
            update(out + o, o < n, k)
            o += D
    elif FORM == "from an index below zero":
        for j in tl.static_range(3):
            update(out + (pid * 3 + j + 1) * n + o - 8 * (1 - D // B), o - 8 * (1 - D // B) < n, j + 1)
    elif FORM == "from a range below zero":
        FROM: tl.constexpr = 0 if D == B else -8
        for j in tl.static_range(3):
            c = tl.arange(FROM, FROM + B)
            update(out + (pid * 3 + j + 1) * n + c, c < n, j + 1)


def steps(form, n, many, other, D, B, programs):
    """The offsets that each step updates, and its number."""
    o = torch.arange(B)
    limit = n if D == B else other
    for pid in range(programs):
        if form == "blocks":
            for j in range(3):
                at = pid * 3 * B + j * D + o
                yield at[at < many], j + 1
        elif form == "blocks behind a pointer":
            for j in range(3):
                yield pid * 3 * B + j * D + o, j + 1
        elif form == "rows":
            for j in range(3):
                yield (pid * 3 + j) * n + o[o < limit], j + 1
        elif form in ("a loop over rows", "a loop that waits for rows"):
            for row in range(pid, many, programs):
                yield row * n + o[o < limit], row
        elif form == "columns of rows":
            for row in range(pid, many, programs):
                for i in range(0, n, D):
                    yield row * n + (i + o)[i + o < limit], row + i
        elif form == "blocks of rows":
            for k in range(pid, many, programs):
                row = k * (4 if D == B else 2) + torch.arange(4)
                yield (row[:, None] * n + o[o < n][None, :]).flatten(), k
        elif form == "heads":
            for h in range(many):
                yield (pid * many + h) * D + o, h
        elif form == "two in one":
            for i in range(0, n, B):
                at = (i + o)[i + o < n]
                yield at, 1
                yield limit + at, 2
        elif form == "carried":
            for k in range(-(-n // D)):
                yield (k * D + o)[k * D + o < n], k
        else:
            for j in range(3):
                shifted = o - 8 * (1 - D // B)
                yield (pid * 3 + j + 1) * n + shifted[shifted < n], j + 1


FORMS = ["blocks", "blocks behind a pointer", "rows", "a loop over rows", "a loop that waits for rows", "columns of rows", "blocks of rows", "heads",
         "two in one", "carried", "from an index below zero", "from a range below zero"]


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_each_step_sees_the_ones_before(target, form, overlap):
    B = 512
    D = B // 2 if overlap else B
    n, many, programs = (500, 5, 1 if overlap or form in ("two in one", "carried") else 2)
    if form in ("two in one", "carried", "columns of rows"):
        n = 1100
    if form == "blocks":
        many = 5 * B + 77
    other = n - 70 if form == "two in one" else n + 70
    out = torch.arange(16384, dtype=torch.float32) % 7
    right = out.clone()
    for at, step in steps(form, n, many, other, D, B, programs):
        right[at] = right[at] * 2 + step
    apart_kernel[(programs,)](out, n, many, other, FORM=form, D=D, B=B)
    assert torch.equal(out, right)


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_only_tiles_that_may_overlap_have_a_barrier(build_dir, form, overlap):
    done = subprocess.run([build_dir / "bin" / "tegula", "compile", f"{__file__}::apart_kernel", "--target", "sm_90a", "--emit", "ptx", "--signature",
                           f"out=*f32:16,n=i32,many=i32,other=i32,FORM='{form}',D={256 if overlap else 512},B=512"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "ld.global" in done.stdout, done.stderr
    assert ("bar.sync" in done.stdout) == overlap


@triton.jit
def turned_kernel(x, B: tl.constexpr):
    """Blocks that lie apart, each of them transposed in its place: elements of one block meet."""
    r, c = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    for i in range(0, B, 1024):
        tl.store(x + i + c * 32 + r, tl.load(x + i + r * 32 + c))


@triton.jit
def moved_kernel(x, B: tl.constexpr):
    """Each block becomes what the next one is, which the trip behind writes."""
    o = tl.arange(0, 1024)
    for i in range(0, B, 1024):
        tl.store(x + i + o, tl.load(x + i + 1024 + o) + 1)


def test_blocks_that_are_transposed_in_place(target):
    x = torch.arange(4096, dtype=torch.float32)
    right = x.view(4, 32, 32).transpose(1, 2).reshape(-1).contiguous()
    turned_kernel[(1,)](x, B=4096)
    assert torch.equal(x, right)


def test_blocks_that_move_on(target):
    x = torch.arange(5120, dtype=torch.float32)
    right = torch.cat([x[1024:] + 1, x[4096:]])
    moved_kernel[(1,)](x, B=4096)
    assert torch.equal(x, right)


@triton.jit
def rows_below_zero(y, n, rows, B: tl.constexpr):
    """Columns begin below zero, so that each row reaches into the one before, which the trip before has written."""
    o = tl.arange(-8, B - 8)
    for row in range(1, rows):
        value = tl.load(y + row * n + o, mask=o < n, other=0.0)
        tl.store(y + (row - 1) * n + o + 5, value + 1, mask=o < n - 5)


@pytest.mark.parametrize("warps", [1, 2, 4])
def test_rows_whose_columns_begin_below_zero_overlap(target, warps):
    n, rows, block = 24, 5, 64
    y = torch.arange(n * (rows + 1), dtype=torch.float32)
    expected = y.clone()
    rows_below_zero[(1,)](y[n:], n, rows, block, num_warps=warps)
    o = torch.arange(-8, block - 8)
    for row in range(1, rows):
        at = n + row * n + o
        value = torch.where(o < n, expected[at.clamp(max=len(expected) - 1)], torch.zeros(()))
        inside = o < n - 5
        expected[(at - n + 5)[inside]] = value[inside] + 1
    assert torch.equal(y, expected)
