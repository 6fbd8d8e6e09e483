"""SiLU(a)·b and GELU(a)·b forward and backward over rows, gradients written over the inputs."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def _swiglu_forward_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    program_id = tl.program_id(0).to(tl.int64)
    a_ptr += program_id * stride
    b_ptr += program_id * stride
    c_ptr += program_id * stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    a_row = tl.load(a_ptr + col_offsets, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b_ptr + col_offsets, mask=mask, other=0)
    c_row = silu(a_row).cast(b_row.dtype) * b_row
    tl.store(c_ptr + col_offsets, c_row, mask=mask)


@triton.jit
def _swiglu_backward_kernel(dc_ptr, a_ptr, b_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    program_id = tl.program_id(0).to(tl.int64)
    dc_ptr += program_id * stride
    a_ptr += program_id * stride
    b_ptr += program_id * stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    dc_row = tl.load(dc_ptr + col_offsets, mask=mask, other=0)
    a_row = tl.load(a_ptr + col_offsets, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b_ptr + col_offsets, mask=mask, other=0)
    sig_a = tl.sigmoid(a_row)
    silu_a = a_row * sig_a
    db_row = dc_row * silu_a
    da_row = dc_row * (silu_a * (1 - sig_a) + sig_a) * b_row
    tl.store(a_ptr + col_offsets, da_row, mask=mask)
    tl.store(b_ptr + col_offsets, db_row, mask=mask)


@triton.jit
def _geglu_tanh_kernel(gate, up, out, n_elements, BLOCK_SIZE: tl.constexpr):
    block_idx = tl.program_id(0)
    offsets = block_idx * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    e_row = tl.load(gate + offsets, mask=mask, other=0).to(tl.float32)
    g_row = tl.load(up + offsets, mask=mask, other=0)
    s = 0.7978845608028654
    inner = s * e_row * (1.0 + 0.044715 * e_row * e_row)
    f_row = 0.5 * e_row * (2 * tl.sigmoid(2 * inner))
    tl.store(out + offsets, f_row.to(g_row.dtype) * g_row, mask=mask)


class SiLUMul(torch.autograd.Function):

    @staticmethod
    def forward(ctx, a, b):
        n_cols = a.shape[-1]
        c = torch.empty_like(a)
        _swiglu_forward_kernel[(a.numel() // n_cols,)](a, b, c, c.stride(-2), n_cols=n_cols,
                                                       BLOCK_SIZE=triton.next_power_of_2(n_cols), num_warps=4)
        ctx.save_for_backward(a, b)
        return c

    @staticmethod
    def backward(ctx, dc):
        a, b = (t.clone() for t in ctx.saved_tensors)
        n_cols = a.shape[-1]
        _swiglu_backward_kernel[(a.numel() // n_cols,)](dc.contiguous(), a, b, dc.stride(-2), n_cols=n_cols,
                                                        BLOCK_SIZE=triton.next_power_of_2(n_cols), num_warps=4)
        return a, b


def check_swiglu(device):
    for dtype in (torch.float32, torch.bfloat16):
        a = normal(6, 77, device=device, dtype=dtype, scale=2).requires_grad_()
        b = normal(6, 77, device=device, dtype=dtype, seed=1).requires_grad_()
        dc = normal(6, 77, device=device, dtype=dtype, seed=2)
        c = SiLUMul.apply(a, b)
        c.backward(dc)
        ad, bd = wide(a).requires_grad_(), wide(b).requires_grad_()
        expected = torch.nn.functional.silu(ad) * bd
        expected.backward(wide(dc))
        error = 1e-6 if dtype == torch.float32 else 1e-2
        close(c, expected, error)
        close(a.grad, ad.grad, error)
        close(b.grad, bd.grad, error)


def check_geglu(device):
    gate, up = (normal(501, device=device, dtype=torch.float16, seed=s, scale=2) for s in (0, 1))
    out = torch.empty_like(gate)
    _geglu_tanh_kernel[(triton.cdiv(501, 128),)](gate, up, out, 501, BLOCK_SIZE=128)
    close(out, torch.nn.functional.gelu(wide(gate), approximate="tanh") * wide(up), error=2e-3)
