"""Complex tensors viewed as pairs: products, a discrete Fourier transform, and a Mandelbrot set."""
import math

import torch
import triton
import triton.language as tl

from beside import close, normal, same, wide

TWO_PI: tl.constexpr = tl.constexpr(2 * math.pi)


@triton.jit
def cmul(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


@triton.jit
def complex_mul_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pair = tl.program_id(0) * BLOCK * 2 + tl.arange(0, BLOCK * 2)
    xr, xi = tl.split(tl.load(x_ptr + pair, mask=pair < 2 * n, other=0.0).reshape(BLOCK, 2))
    yr = tl.load(y_ptr + 2 * i, mask=i < n, other=0.0)
    yi = tl.load(y_ptr + 2 * i + 1, mask=i < n, other=0.0)
    tl.store(out_ptr + pair, tl.interleave(*cmul(xr, xi, yr, yi)), mask=pair < 2 * n)


@triton.jit
def dft_kernel(x_ptr, re_ptr, im_ptr, n, INVERSE: tl.constexpr, N: tl.constexpr):
    k = tl.arange(0, N)[:, None]
    t = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + t, mask=t < n, other=0.0)
    angle = ((k * t) % n).to(tl.float32) * (TWO_PI / n)
    sign: tl.constexpr = 1 if INVERSE else -1
    re = tl.sum(x * tl.cos(angle), axis=1)
    im = tl.sum(x * tl.sin(angle) * sign, axis=1)
    kk = tl.arange(0, N)
    tl.store(re_ptr + kk, re, mask=kk < n)
    tl.store(im_ptr + kk, im, mask=kk < n)


@triton.jit
def mandelbrot_kernel(out_ptr, width, height, most, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cx = (i % width).to(tl.float32) / width * 3.0 - 2.0
    cy = (i // width).to(tl.float32) / height * 2.0 - 1.0
    zx = tl.zeros_like(cx)
    zy = tl.zeros_like(cx)
    count = tl.zeros((BLOCK,), tl.int32)
    trip = 0
    alive = zx * zx + zy * zy <= 4.0
    while (trip < most) & (tl.sum(alive.to(tl.int32), axis=0) > 0):
        zx, zy = tl.where(alive, zx * zx - zy * zy + cx, zx), tl.where(alive, 2 * zx * zy + cy, zy)
        count += alive
        alive = zx * zx + zy * zy <= 4.0
        trip += 1
    tl.store(out_ptr + i, count, mask=i < width * height)


def check_products(device):
    x, y = (torch.view_as_complex(normal(77, 2, device=device, seed=s)) for s in (0, 1))
    out = torch.empty_like(x)
    complex_mul_kernel[(3,)](torch.view_as_real(x), torch.view_as_real(y), torch.view_as_real(out), 77, BLOCK=32)
    close(torch.view_as_real(out), torch.view_as_real(x.cpu().to(torch.complex128) * y.cpu().to(torch.complex128)), error=1e-6)


def check_fourier(device):
    x = normal(24, device=device)
    for inverse in (False, True):
        re, im = torch.empty_like(x), torch.empty_like(x)
        dft_kernel[(1,)](x, re, im, 24, INVERSE=inverse, N=32)
        f = torch.fft.fft(wide(x))
        close(re, f.real, error=2e-6)
        close(im, -f.imag if inverse else f.imag, error=2e-6)


def check_mandelbrot(device):
    w, h, most = 24, 16, 30
    out = torch.zeros(h, w, dtype=torch.int32, device=device)
    mandelbrot_kernel[(4,)](out, w, h, most, BLOCK=128)
    i = torch.arange(w * h)
    c = torch.complex((i % w).double() / w * 3 - 2, (i // w).double() / h * 2 - 1)
    z, count = torch.zeros_like(c), torch.zeros(w * h)
    for _ in range(most):
        alive = z.abs()**2 <= 4
        z, count = torch.where(alive, z * z + c, z), count + alive
    assert (out.cpu().flatten() - count).ne(0).sum() <= 2  # points on the border round either way
