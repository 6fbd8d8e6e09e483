"""Softmax of rows by a fixed number of programs, and its backward pass; log-softmax in one pass over long rows."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr, num_stages: tl.constexpr):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row_start_ptr = input_ptr + row_idx * input_row_stride
        col_offsets = tl.arange(0, BLOCK_SIZE)
        input_ptrs = row_start_ptr + col_offsets
        mask = col_offsets < n_cols
        row = tl.load(input_ptrs, mask=mask, other=-float('inf'))
        row_minus_max = row - tl.max(row, axis=0)
        numerator = tl.exp(row_minus_max)
        denominator = tl.sum(numerator, axis=0)
        softmax_output = numerator / denominator
        output_row_start_ptr = output_ptr + row_idx * output_row_stride
        tl.store(output_row_start_ptr + col_offsets, softmax_output, mask=mask)


@triton.jit
def softmax_backward_kernel(y_ptr, dy_ptr, dx_ptr, M, N, LOG: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr):
    m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    acc = tl.zeros((TILE_M, TILE_N), tl.float32)
    n = tl.arange(0, TILE_N)
    at = m[:, None] * N + n[None, :]
    for _ in range(0, N, TILE_N):
        mask = (m < M)[:, None] & (n < N)[None, :]
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
        if LOG:
            acc += dy
        else:
            acc += dy * tl.load(y_ptr + at, mask=mask, other=0.0)
        n += TILE_N
        at += TILE_N
    total = tl.sum(acc, axis=1)[:, None]
    for start in range(0, N, TILE_N):
        n = start + tl.arange(0, TILE_N)
        at = m[:, None] * N + n[None, :]
        mask = (m < M)[:, None] & (n < N)[None, :]
        y, dy = tl.load(y_ptr + at, mask=mask), tl.load(dy_ptr + at, mask=mask)
        dx = dy - tl.exp(y.to(tl.float32)) * total if LOG else y * (dy - total)
        tl.store(dx_ptr + at, dx, mask=mask)


@triton.jit
def log_softmax_online_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * N
    m = tl.full((BLOCK,), float("-inf"), tl.float32)
    z = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, N, BLOCK):
        n = s + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + n, mask=n < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, x)
        dead = new == float("-inf")
        z = tl.where(dead, z, z * tl.exp(m - new) + tl.exp(x - new))
        m = new
    top = tl.max(m, 0)
    lse = top + tl.log(tl.sum(z * tl.exp(m - top), 0))
    # backwards, since what was read last is still near
    for s in range((N - 1) // BLOCK * BLOCK, -1, -BLOCK):
        n = s + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + n, mask=n < N, eviction_policy="evict_first").to(tl.float32)
        tl.store(out_ptr + row * N + n, x - lse, mask=n < N)


def check_forward(device):
    x = normal(13, 100, device=device)[:, :77]
    y = torch.empty(13, 77, device=device)
    softmax_kernel[(4, 1, 1)](y, x, x.stride(0), y.stride(0), 13, 77, BLOCK_SIZE=128, num_stages=2)
    close(y, torch.softmax(wide(x), 1), error=1e-6)


def check_backward(device):
    for log in (False, True):
        x, dy = wide(normal(7, 70, device=device)).requires_grad_(), normal(7, 70, device=device, seed=1)
        y = torch.log_softmax(x, 1) if log else torch.softmax(x, 1)
        y.backward(wide(dy))
        dx = torch.empty_like(dy)
        softmax_backward_kernel[(2,)](y.detach().float().to(device), dy, dx, 7, 70, LOG=log, TILE_M=4, TILE_N=32)
        close(dx, x.grad, error=2e-6)


def check_long_rows(device):
    for n in (1, 32, 200):
        x = normal(3, n, device=device, dtype=torch.bfloat16, scale=5)
        out = torch.empty(3, n, device=device)
        log_softmax_online_kernel[(3,)](x, out, n, BLOCK=32)
        close(out, torch.log_softmax(wide(x), 1), error=1e-6)
