"""Lookup of rows of a table; the backward pass adds rows that occur several times with atomics."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, same, wide


@triton.jit
def embedding_forward_kernel(embeddings_ptr, indices_ptr, output_ptr, n_elements, embedding_dim: tl.constexpr,
                             BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    start_m = pid_m * BLOCK_SIZE_M
    start_n = pid_n * BLOCK_SIZE_N
    offsets_m = start_m + tl.arange(0, BLOCK_SIZE_M)
    mask_m = offsets_m < n_elements
    indices = tl.load(indices_ptr + offsets_m, mask=mask_m, other=0)
    offsets_n = start_n + tl.arange(0, BLOCK_SIZE_N)
    mask_n = offsets_n < embedding_dim
    block_mask = mask_m[:, None] & mask_n[None, :]
    embeddings = tl.load(embeddings_ptr + indices[:, None] * embedding_dim + offsets_n[None, :], mask=block_mask, other=0.0)
    tl.store(output_ptr + offsets_m[:, None] * embedding_dim + offsets_n[None, :], embeddings, mask=block_mask)


@triton.jit
def embedding_backward_kernel(grad_output_ptr, grad_weight_ptr, indices_ptr, n_elements, embedding_dim: tl.constexpr, padding_idx,
                              HAS_PADDING: tl.constexpr, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    offsets_m = tl.program_id(0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offsets_n = tl.program_id(1) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    mask_m = offsets_m < n_elements
    indices = tl.load(indices_ptr + offsets_m, mask=mask_m, other=0)
    if HAS_PADDING:
        mask_m = mask_m and indices != padding_idx
    block_mask = mask_m[:, None] & (offsets_n < embedding_dim)[None, :]
    grad_output = tl.load(grad_output_ptr + offsets_m[:, None] * embedding_dim + offsets_n[None, :], mask=block_mask, other=0.0)
    tl.atomic_add(grad_weight_ptr + indices[:, None] * embedding_dim + offsets_n[None, :], grad_output, mask=block_mask)


class Embedding(torch.autograd.Function):

    @staticmethod
    def forward(ctx, embeddings, indices, padding_idx=None):
        ori_shape = indices.shape
        indices = indices.view(-1)
        output = torch.empty(indices.shape[0], embeddings.shape[1], device=indices.device, dtype=embeddings.dtype)
        dim = embeddings.shape[1]
        ctx.blocks = {"BLOCK_SIZE_M": 8, "BLOCK_SIZE_N": min(32, triton.next_power_of_2(dim))}
        ctx.grid = (triton.cdiv(indices.numel(), 8), triton.cdiv(dim, ctx.blocks["BLOCK_SIZE_N"]))
        embedding_forward_kernel[ctx.grid](embeddings, indices, output, indices.numel(), embedding_dim=dim, **ctx.blocks)
        ctx.save_for_backward(indices, embeddings)
        ctx.padding_idx = padding_idx
        return output.view(*ori_shape, -1)

    @staticmethod
    def backward(ctx, grad_output):
        indices, table = ctx.saved_tensors
        grad_weight = torch.zeros_like(table)
        embedding_backward_kernel[ctx.grid](grad_output.contiguous(), grad_weight, indices, indices.numel(), table.shape[1], ctx.padding_idx,
                                            ctx.padding_idx is not None, **ctx.blocks)
        return grad_weight, None, None


def check_forward_and_backward(device):
    table = normal(13, 45, device=device).requires_grad_()
    indices = integers(0, 13, (3, 7), device=device, dtype=torch.int64)
    dy = normal(3, 7, 45, device=device, seed=1)
    for padding in (None, 4):
        table.grad = None
        y = Embedding.apply(table, indices, padding)
        y.backward(dy)
        wd = wide(table).requires_grad_()
        expected = torch.nn.functional.embedding(indices.cpu(), wd, padding_idx=padding)
        expected.backward(wide(dy))
        same(y, expected)
        close(table.grad, wd.grad, error=1e-6)
