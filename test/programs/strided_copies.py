"""Copies between strided tensors of four dimensions, transposes by tiles, rolls, triangles, repeats."""
import torch
import triton
import triton.language as tl

from beside import integers, normal, same


@triton.jit
def strided_copy_kernel(in_ptr, out_ptr, s0, s1, s2, s3, i0, i1, i2, i3, o0, o1, o2, o3, numel, BLOCK: tl.constexpr):
    tid = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = tid < numel
    n = tid
    d3 = n % s3
    n //= s3
    d2 = n % s2
    n //= s2
    d1 = n % s1
    d0 = n // s1
    x = tl.load(in_ptr + d0 * i0 + d1 * i1 + d2 * i2 + d3 * i3, mask=mask)
    tl.store(out_ptr + d0 * o0 + d1 * o1 + d2 * o2 + d3 * o3, x, mask=mask)


def contiguous(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    strided_copy_kernel[(triton.cdiv(x.numel(), 128),)](x, out, *x.shape, *x.stride(), *out.stride(), x.numel(), BLOCK=128)
    return out


@triton.jit
def transpose_kernel(x_ptr, y_ptr, M, N, xs, ys, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    gm, gn = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    pm, pn = tl.swizzle2d(pid // gn, pid % gn, gm, gn, GROUP)
    m = pm * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pn * BLOCK_N + tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + m[:, None] * xs + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N))
    tl.store(y_ptr + n[:, None] * ys + m[None, :], x.T, mask=(n[:, None] < N) & (m[None, :] < M))


@triton.jit
def triangle_kernel(x_ptr, out_ptr, M, N, diagonal, UPPER: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    x_ptr += tl.program_id(2) * M * N
    out_ptr += tl.program_id(2) * M * N
    r = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    c = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (r < M) & (c < N)
    if UPPER:
        keep = c >= r + diagonal
    else:
        keep = c <= r + diagonal
    y = tl.load(x_ptr + r * N + c, mask=inside & keep, other=0)
    tl.store(out_ptr + r * N + c, y, inside)


@triton.jit
def roll_flip_kernel(x_ptr, out_ptr, n, shift, FLIP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK) + tl.program_id(0) * BLOCK
    src = (i - shift) % n
    src = tl.where(src < 0, src + n, src)
    if FLIP:
        src = n - 1 - src
    tl.store(out_ptr + i, tl.load(x_ptr + src, mask=i < n), mask=i < n)


def check_layouts(device):
    x = normal(3, 4, 5, 6, device=device)
    for view in (x.permute(3, 1, 0, 2), x[:, ::2, 1:4, ::3], x[:, :1].expand(3, 7, 5, 6), x.transpose(0, 3)):
        same(contiguous(view), view)
    same(contiguous(integers(-9, 9, (2, 3, 4, 5), device=device, dtype=torch.int8).permute(2, 0, 3, 1)),
         integers(-9, 9, (2, 3, 4, 5), device=device, dtype=torch.int8).permute(2, 0, 3, 1))


def check_transposes(device):
    for M, N, dtype in ((50, 37, torch.float16), (16, 64, torch.float32), (1, 33, torch.uint8)):
        x = integers(0, 100, (M, N), device=device, dtype=torch.int32).to(dtype)
        y = torch.empty(N, M, dtype=dtype, device=device)
        transpose_kernel[(triton.cdiv(M, 16) * triton.cdiv(N, 32),)](x, y, M, N, x.stride(0), y.stride(0), BLOCK_M=16, BLOCK_N=32, GROUP=2)
        same(y, x.T)


def check_triangles(device):
    x = normal(2, 9, 14, device=device)
    for diagonal in (-3, 0, 4):
        for upper in (False, True):
            out = torch.empty_like(x)
            triangle_kernel[(2, 1, 2)](x, out, 9, 14, diagonal, UPPER=upper, BM=8, BN=16)
            same(out, (torch.triu if upper else torch.tril)(x.cpu(), diagonal))


def check_rolls(device):
    x = torch.arange(45, device=device)
    for shift in (0, 7, -50, 100):
        for flip in (False, True):
            out = torch.empty_like(x)
            roll_flip_kernel[(2,)](x, out, 45, shift, FLIP=flip, BLOCK=32)
            expected = torch.roll(x.cpu(), shift)
            same(out, 44 - expected if flip else expected)
