"""Elementwise operators from one kernel: the function is a compile-time argument, made by factories and closures."""
import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from beside import close, normal, wide

try:
    from triton.language.extra.libdevice import tanh
except ImportError:
    from triton.language.math import tanh

SQRT_2_OVER_PI = tl.constexpr(math.sqrt(2 / math.pi))


@triton.jit
def relu(x):
    return tl.where(x >= 0, x, 0.0)


@triton.jit
def gelu_tanh(x):
    return 0.5 * x * (1 + tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)))


@triton.jit
def mish(x):
    return x * tanh(libdevice.log1p(tl.exp(x)))


@triton.jit
def hard_swish(x):
    return x * tl.clamp(x + 3.0, 0.0, 6.0) / 6


@triton.jit
def selu(x, alpha: tl.constexpr = 1.6732632423543772, scale: tl.constexpr = 1.0507009873554805):
    return scale * (tl.where(x > 0, x, 0.) + tl.where(x > 0, 0., alpha * (tl.exp(tl.minimum(x, 0.)) - 1)))


def make_power(exponent):
    n = tl.constexpr(exponent)

    @triton.jit
    def power(x):
        y = x
        for _ in tl.static_range(n - 1):
            y = y * x
        return y

    return power


def make_pointwise(function):
    """A kernel for one function, which it finds in its closure."""

    @triton.jit
    def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
        tl.store(out_ptr + i, function(x), mask=i < n)

    return kernel


@triton.jit
def apply_kernel(x_ptr, out_ptr, n, FN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
    tl.store(out_ptr + i, FN(x), mask=i < n)


@triton.jit
def by_name_kernel(x_ptr, out_ptr, n, ACT: tl.constexpr, param, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    if ACT == 'leaky_relu':
        x = tl.where(x > 0, x, x * param)
    elif ACT == 'elu':
        x = tl.where(x > 0, x, param * (tl.exp(x) - 1))
    elif ACT == 'silu':
        x = x * tl.sigmoid(x.to(tl.float32)).to(x.dtype)
    elif ACT is not None and ACT != '':
        tl.static_assert(False, f"unknown activation {ACT}")
    tl.store(out_ptr + i, x, mask=i < n)


REFERENCES = [(relu, torch.relu), (gelu_tanh, lambda x: torch.nn.functional.gelu(x, approximate="tanh")), (mish, torch.nn.functional.mish),
              (hard_swish, torch.nn.functional.hardswish), (selu, torch.selu)]


def check_functions_as_arguments(device):
    x = normal(300, device=device, scale=2)
    for function, right in REFERENCES:
        out = torch.empty_like(x)
        apply_kernel[(3,)](x, out, 300, FN=function, BLOCK=128)
        close(out, right(wide(x)), error=1e-6)


def check_closures(device):
    x = normal(200, device=device, dtype=torch.float16)
    for n in (1, 3):
        out = torch.empty(200, device=device)
        make_pointwise(make_power(n))[(2,)](x, out, 200, BLOCK=128)
        close(out, wide(x)**n, error=1e-6)


def check_names(device):
    x = normal(200, device=device)
    for name, right in (("leaky_relu", torch.nn.functional.leaky_relu), ("elu", lambda t: torch.nn.functional.elu(t, 0.01)),
                        ("silu", torch.nn.functional.silu), ("", lambda t: t), (None, lambda t: t)):
        out = torch.empty_like(x)
        by_name_kernel[(2,)](x, out, 200, ACT=name, param=0.01, BLOCK=128)
        close(out, right(wide(x)), error=1e-6)
