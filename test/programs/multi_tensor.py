"""Kernels over lists of tensors, as optimizers have them: tuples of pointers and of sizes as arguments, a NamedTuple of
hyperparameters, one launch for all."""
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from beside import close, normal, wide


class Decay(NamedTuple):
    rate: object
    momentum: object
    nesterov: object


@triton.jit
def scale_and_norm_kernel(sources, targets, sizes, scale, norms, BLOCK: tl.constexpr):
    """Program (i, j) has block j of tensor i; norms[i] gets the sum of squares."""
    which, block = tl.program_id(0), tl.program_id(1)
    i = block * BLOCK + tl.arange(0, BLOCK)
    for k in tl.static_range(len(sources)):
        if which == k:
            if block * BLOCK >= sizes[k]:
                return
            x = tl.load(sources[k] + i, mask=i < sizes[k], other=0.0).to(tl.float32) * scale
            tl.store(targets[k] + i, x, mask=i < sizes[k])
            tl.atomic_add(norms + k, tl.sum(x * x))


@triton.jit
def step(parameter, gradient, velocity, mask, decay):
    g = tl.load(gradient, mask=mask)
    v = tl.load(velocity, mask=mask) * decay.momentum + g
    tl.store(velocity, v, mask=mask)
    if decay.nesterov:
        v = g + decay.momentum * v
    tl.store(parameter, tl.load(parameter, mask=mask) - decay.rate * v, mask=mask)


@triton.jit
def momentum_kernel(states, sizes, decay, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for k in tl.static_range(len(states)):
        parameter, gradient, velocity = states[k]
        step(parameter + i, gradient + i, velocity + i, i < sizes[k], decay)


SIZES = (100, 1, 257)


def check_scale_and_norm(device):
    sources = [normal(n, device=device, seed=n).to(torch.float16 if n == 100 else torch.float32) for n in SIZES]
    targets = [torch.empty_like(x) for x in sources]
    norms = torch.zeros(3, device=device)
    scale_and_norm_kernel[(3, triton.cdiv(max(SIZES), 64))](sources, targets, SIZES, 0.5, norms, BLOCK=64)
    for k, (x, y) in enumerate(zip(sources, targets)):
        close(y, wide(x) * 0.5, error=1e-3)
        close(norms[k], (wide(x) * 0.5).square().sum(), error=1e-5)


def check_momentum(device):
    for nesterov in (False, True):
        states = [tuple(normal(n, device=device, seed=s) for s in range(3)) for n in SIZES]
        before = [tuple(map(wide, state)) for state in states]
        momentum_kernel[(triton.cdiv(max(SIZES), 128),)](tuple(states), SIZES, Decay(0.1, 0.9, triton.language.constexpr(nesterov)),
                                                         BLOCK=128)
        for (parameter, _, velocity), (p, g, v) in zip(states, before):
            v = 0.9 * v + g
            close(velocity, v, error=1e-6)
            close(parameter, p - 0.1 * (g + 0.9 * v if nesterov else v), error=1e-6)
