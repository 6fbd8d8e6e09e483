"""RMSNorm with Llama's, Gemma's and no casting; the weight's gradient through partial sums of blocks of rows."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide

_CASTING_NONE: tl.constexpr = tl.constexpr(-1)
_CASTING_LLAMA: tl.constexpr = tl.constexpr(0)
_CASTING_GEMMA: tl.constexpr = tl.constexpr(1)
CASTING = {"none": -1, "llama": 0, "gemma": 1}


def calculate_settings(n):
    BLOCK_SIZE = triton.next_power_of_2(n)
    if BLOCK_SIZE > 65536:
        raise RuntimeError(f"rows of {n} are too long")
    num_warps = 4
    if BLOCK_SIZE >= 2048:
        num_warps = 8
    return BLOCK_SIZE, num_warps


@triton.jit
def _rms_norm_forward_kernel(Y_ptr, Y_row_stride, X_ptr, X_row_stride, W_ptr, W_row_stride, RSTD_ptr, RSTD_row_stride,
                             n_cols, eps, offset, casting_mode: tl.constexpr, elementwise_affine: tl.constexpr,
                             BLOCK_SIZE: tl.constexpr):
    row_idx = tl.program_id(0).to(tl.int64)
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols

    y_base = Y_ptr + row_idx * Y_row_stride
    x_base = X_ptr + row_idx * X_row_stride
    rstd_base = RSTD_ptr + row_idx * RSTD_row_stride

    X_row = tl.load(x_base + col_offsets, mask=mask, other=0)
    X_row_dtype = X_row.dtype
    if elementwise_affine:
        W_row = tl.load(W_ptr + col_offsets, mask=mask, other=0)

    if casting_mode == _CASTING_LLAMA:
        X_row = X_row.to(tl.float32)
    if casting_mode == _CASTING_GEMMA:
        if elementwise_affine:
            W_row = W_row.to(tl.float32)
        X_row = X_row.to(tl.float32)
    if casting_mode == _CASTING_NONE:
        eps = eps.to(X_row_dtype)
        offset = offset.to(X_row_dtype)

    mean_square = tl.sum(X_row * X_row, axis=0) / n_cols
    rstd = tl.rsqrt((mean_square + eps).to(tl.float32))
    tl.store(rstd_base, rstd)
    X_row = X_row * rstd

    if casting_mode == _CASTING_LLAMA:
        X_row = X_row.to(X_row_dtype)
    if elementwise_affine:
        Y_row = X_row * (offset + W_row)
    else:
        Y_row = X_row
    if casting_mode == _CASTING_GEMMA:
        Y_row = Y_row.to(X_row_dtype)
    tl.store(y_base + col_offsets, Y_row, mask=mask)


@triton.jit
def _rms_norm_backward_kernel(dY_ptr, dY_row_stride, dX_ptr, dX_row_stride, X_ptr, X_row_stride,
                              X_dtype: tl.constexpr, W_ptr, RSTD_ptr, dW_ptr, dW_row_stride, n_rows, n_cols, offset,
                              rows_per_program, BLOCK_SIZE: tl.constexpr):
    row_block_id = tl.program_id(0).to(tl.int64)
    row_start = row_block_id * rows_per_program
    row_end = min((row_block_id + 1) * rows_per_program, n_rows)
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols

    dW_row = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    W_row = tl.load(W_ptr + col_offsets, mask=mask, other=0.0) + offset

    for row_idx in range(row_start, row_end):
        dY_row = tl.load(dY_ptr + row_idx * dY_row_stride + col_offsets, mask=mask, other=0.0)
        X_row = tl.load(X_ptr + row_idx * X_row_stride + col_offsets, mask=mask, other=0.0).to(tl.float32)
        rstd_row = tl.load(RSTD_ptr + row_idx)
        m = (dY_row * W_row).to(tl.float32)
        dX_row = rstd_row * m
        dX_row += rstd_row * (-(1 / n_cols) * rstd_row * rstd_row * tl.sum(m * X_row, axis=0) * X_row)
        dW_row += dY_row * (X_row * rstd_row).to(X_dtype)
        tl.store(dX_ptr + row_idx * dX_row_stride + col_offsets, dX_row.to(X_dtype), mask=mask)

    tl.store(dW_ptr + row_block_id * dW_row_stride + col_offsets, dW_row, mask=mask)


torch_to_triton_dtype = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


class RMSNorm(torch.autograd.Function):

    @staticmethod
    def forward(ctx, X, W, eps, offset=0.0, casting_mode="llama"):
        shape = X.shape
        X = X.view(-1, shape[-1])
        n_rows, n_cols = X.shape
        BLOCK_SIZE, num_warps = calculate_settings(n_cols)
        Y = torch.empty_like(X)
        RSTD = torch.empty(n_rows, dtype=torch.float32, device=X.device)
        _rms_norm_forward_kernel[(n_rows,)](Y, Y.stride(0), X, X.stride(0), W, W.stride(0) if W is not None else 0, RSTD,
                                            RSTD.stride(0), n_cols, eps, offset, CASTING[casting_mode],
                                            elementwise_affine=W is not None, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps)
        ctx.save_for_backward(X, W, RSTD)
        ctx.offset, ctx.BLOCK_SIZE, ctx.num_warps = offset, BLOCK_SIZE, num_warps
        return Y.view(*shape)

    @staticmethod
    def backward(ctx, dY):
        X, W, RSTD = ctx.saved_tensors
        shape = dY.shape
        dY = dY.view(-1, shape[-1])
        n_rows, n_cols = dY.shape
        programs = 3
        rows_per_program = triton.cdiv(n_rows, programs)
        dX = torch.empty_like(dY)
        _dW = torch.empty((programs, n_cols), dtype=torch.float32, device=W.device)
        _rms_norm_backward_kernel[(programs,)](dY, dY.stride(0), dX, dX.stride(0), X, X.stride(0),
                                               torch_to_triton_dtype[X.dtype], W, RSTD, _dW, _dW.stride(0), n_rows, n_cols,
                                               ctx.offset, rows_per_program, BLOCK_SIZE=ctx.BLOCK_SIZE, num_warps=ctx.num_warps)
        return dX.view(*shape), _dW.sum(dim=0).to(W.dtype), None, None, None


def check_forward_and_backward(device):
    for dtype, casting, offset in ((torch.float32, "llama", 0.0), (torch.bfloat16, "llama", 0.0), (torch.bfloat16, "gemma", 1.0),
                                   (torch.float32, "none", 0.5)):
        x = normal(2, 5, 67, device=device, dtype=dtype).requires_grad_()
        w = normal(67, device=device, dtype=dtype, seed=1).requires_grad_()
        dy = normal(2, 5, 67, device=device, dtype=dtype, seed=2)
        y = RMSNorm.apply(x, w, 1e-6, offset, casting)
        y.backward(dy)

        xd, wd = wide(x).requires_grad_(), wide(w).requires_grad_()
        expected = xd * torch.rsqrt(xd.pow(2).mean(-1, keepdim=True) + 1e-6) * (wd + offset)
        expected.backward(wide(dy))
        close(y, expected, ulps=6)
        close(x.grad, xd.grad, error=2e-6 if dtype == torch.float32 else 8e-3, ulps=8)
        close(w.grad, wd.grad, error=2e-6 if dtype == torch.float32 else 8e-3, ulps=8)


def check_without_weight(device):
    x = normal(4, 33, device=device)
    y = RMSNorm.apply(x, None, 1e-5, 0.0, "llama")
    xd = wide(x)
    close(y, xd * torch.rsqrt(xd.pow(2).mean(-1, keepdim=True) + 1e-5))
