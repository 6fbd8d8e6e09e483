"""Squared ReLU as an autograd function, as in several speed runs of small language models."""
import torch
import triton
import triton.language as tl

from beside import close, normal


@triton.jit
def _relu2_fwd(X, Y, numel, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < numel
    x = tl.load(X + offs, mask=mask)
    r = tl.maximum(x, 0.0)
    tl.store(Y + offs, r * r, mask=mask)


@triton.jit
def _relu2_bwd(X, DY, DX, numel, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < numel
    x = tl.load(X + offs, mask=mask)
    dy = tl.load(DY + offs, mask=mask)
    tl.store(DX + offs, tl.where(x > 0, 2 * x * dy, 0.0), mask=mask)


class SquaredReLU(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)
        _relu2_fwd[grid](x, y, x.numel(), BLOCK_SIZE=128)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensors
        dx = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)
        _relu2_bwd[grid](x, dy.contiguous(), dx, x.numel(), BLOCK_SIZE=128)
        return dx


squared_relu = SquaredReLU.apply


def check_forward_and_backward(device):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = normal(7, 43, device=device, dtype=dtype).requires_grad_()
        y = squared_relu(x)
        dy = normal(7, 43, device=device, dtype=dtype, seed=1)
        y.backward(dy)
        r = x.detach().double().clamp(min=0)
        close(y, r * r, ulps=2)
        close(x.grad, 2 * r * dy.double(), ulps=3)


def check_gradcheck(device):
    x = normal(3, 11, device=device, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(squared_relu, (x,))
