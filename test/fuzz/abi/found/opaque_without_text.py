#fuzz args=pppiiiiiiii;grid=1
"""GELU (the exact one, by erf) and dropout in one pass."""
import math

import tegula as triton
import tegula.language as tl

SQRT_HALF: tl.constexpr = 0.7071067811865476


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * SQRT_HALF))


@triton.jit
def gelu_dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(1048576) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, gelu(x) / (1 - p), 0.0), mask=mask)


def gelu_dropout(x, out, p, seed, block=512):
    n = math.prod(x.shape)
    gelu_dropout_kernel[(triton.cdiv(n, block),)](x, out, n, p, seed, BLOCK=block)
    return out
