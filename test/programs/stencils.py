"""Neighbours on grids: the game of life, a Jacobi step, a separable blur, distances of a dynamic program."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, same, wide


@triton.jit
def life_kernel(board, out, H, W, BH: tl.constexpr, BW: tl.constexpr):
    y = (tl.program_id(1) * BH + tl.arange(0, BH))[:, None]
    x = (tl.program_id(0) * BW + tl.arange(0, BW))[None, :]
    mask = (y < H) & (x < W)
    around = tl.zeros((BH, BW), tl.int32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            if dy != 0 or dx != 0:
                at = (y + dy + H) % H * W + (x + dx + W) % W
                around += tl.load(board + at, mask=mask, other=0)
    alive = tl.load(board + y * W + x, mask=mask, other=0)
    tl.store(out + y * W + x, (around == 3) | ((around == 2) & (alive != 0)), mask=mask)


@triton.jit
def jacobi_kernel(u, f, out, residual, N, h2, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < N
    here = u + row * N + i
    up = tl.load(here - N, mask=mask & (row > 0), other=0.0)
    down = tl.load(here + N, mask=mask & (row < N - 1), other=0.0)
    left = tl.load(here - 1, mask=mask & (i > 0), other=0.0)
    right = tl.load(here + 1, mask=mask & (i < N - 1), other=0.0)
    new = 0.25 * (up + down + left + right - h2 * tl.load(f + row * N + i, mask=mask, other=0.0))
    change = tl.abs(new - tl.load(here, mask=mask, other=0.0))
    tl.atomic_max(residual, tl.max(tl.where(mask, change, 0.0), axis=0))
    tl.store(out + row * N + i, new, mask=mask)


@triton.jit
def blur_kernel(x_ptr, taps_ptr, out_ptr, H, W, TAPS: tl.constexpr, ALONG_X: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y, x = i // W, i % W
    acc = tl.zeros((BLOCK,), tl.float32)
    HALF: tl.constexpr = TAPS // 2
    for t in tl.static_range(TAPS):
        if ALONG_X:
            at = y * W + tl.minimum(tl.maximum(x + (t - HALF), 0), W - 1)
        else:
            at = tl.minimum(tl.maximum(y + (t - HALF), 0), H - 1) * W + x
        acc += tl.load(x_ptr + at, mask=i < H * W, other=0.0) * tl.load(taps_ptr + t)
    tl.store(out_ptr + i, acc, mask=i < H * W)


@triton.jit
def edit_distance_kernel(a_ptr, b_ptr, out_ptr, n, m, M: tl.constexpr):
    """Rows of the table one after another; along a row, insertions are a running minimum."""
    pair = tl.program_id(0)
    j = tl.arange(0, M)
    b = tl.load(b_ptr + pair * m + j - 1, mask=(j > 0) & (j <= m), other=-1)
    row = j
    for i in range(n):
        a = tl.load(a_ptr + pair * n + i)
        left = tl.gather(row, tl.maximum(j - 1, 0), axis=0)
        best = tl.where(j == 0, i + 1, tl.minimum(row + 1, left + (a != b).to(tl.int32)))
        row = tl.associative_scan(best - j, 0, smaller) + j
    tl.store(out_ptr + pair, tl.sum(tl.where(j == m, row, 0), axis=0))


@triton.jit
def smaller(a, b):
    return tl.minimum(a, b)


def check_life(device):
    board = integers(0, 2, (13, 21), device=device, dtype=torch.uint8)
    out = torch.empty_like(board)
    life_kernel[(2, 2)](board, out, 13, 21, BH=8, BW=16)
    b = board.cpu().int()
    around = sum(torch.roll(b, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - b
    same(out, (around == 3) | ((around == 2) & (b == 1)))


def check_jacobi(device):
    n = 20
    u, f = normal(n, n, device=device), normal(n, n, device=device, seed=1)
    out, residual = torch.empty_like(u), torch.zeros(1, device=device)
    jacobi_kernel[(n,)](u, f, out, residual, n, 0.25, BLOCK=32)
    p = torch.nn.functional.pad(wide(u), (1, 1, 1, 1))
    new = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 0.25 * wide(f))
    close(out, new, error=1e-6)
    close(residual, (new - wide(u)).abs().max().reshape(1), error=1e-6)


def check_blur(device):
    x, taps = normal(9, 14, device=device), normal(5, device=device, seed=1)
    for along_x in (True, False):
        out = torch.empty_like(x)
        blur_kernel[(2,)](x, taps, out, 9, 14, TAPS=5, ALONG_X=along_x, BLOCK=64)
        v = wide(x) if along_x else wide(x).T
        v = torch.cat([v[:, :1]] * 2 + [v] + [v[:, -1:]] * 2, 1).unfold(1, 5, 1) @ wide(taps)
        close(out, v if along_x else v.T, error=1e-6)


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(b):
            new.append(min(row[j + 1] + 1, new[j] + 1, row[j] + (x != y)))
        row = new
    return row[-1]


def check_edit_distance(device):
    a, b = integers(0, 4, (5, 12), device=device), integers(0, 4, (5, 15), device=device, seed=1)
    out = torch.zeros(5, dtype=torch.int32, device=device)
    edit_distance_kernel[(5,)](a, b, out, 12, 15, M=16)
    assert out.tolist() == [distance(x, y) for x, y in zip(a.tolist(), b.tolist())]
