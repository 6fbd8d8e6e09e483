"""Products with block-sparse operands: one whose blocks are listed by row (CSR of blocks), and one that computes the
listed blocks of a dense product."""
import torch
import triton
import triton.language as tl

from beside import close, normal, wide


@triton.jit
def _bsr_dense_kernel(values_ptr, crow_ptr, col_ptr, dense_ptr, out_ptr, N, stride_dk, stride_dn, stride_om, stride_on,
                      alpha, beta, BLOCK: tl.constexpr, TILE_N: tl.constexpr, allow_tf32: tl.constexpr, acc_dtype: tl.constexpr):
    row_block_pid = tl.program_id(0)
    col_block_pid = tl.program_id(1)
    crow_indices_offset_ptr = crow_ptr + row_block_pid
    row_start = tl.load(crow_indices_offset_ptr)
    row_nnz = tl.load(crow_indices_offset_ptr + 1) - row_start

    inner = tl.arange(0, BLOCK)
    cols = col_block_pid * TILE_N + tl.arange(0, TILE_N)
    values_block_ptrs = values_ptr + row_start * BLOCK * BLOCK + inner[:, None] * BLOCK + inner[None, :]
    col_index_nnz_ptr = col_ptr + row_start

    output_acc_block = tl.zeros((BLOCK, TILE_N), dtype=acc_dtype)
    for _ in range(row_nnz):
        values_block = tl.load(values_block_ptrs)
        dense_row_idx = tl.load(col_index_nnz_ptr)
        dense_block = tl.load(dense_ptr + (dense_row_idx * BLOCK + inner)[:, None] * stride_dk + cols[None, :] * stride_dn,
                              mask=cols[None, :] < N)
        output_acc_block += tl.dot(values_block, dense_block, allow_tf32=allow_tf32, out_dtype=acc_dtype)
        values_block_ptrs += BLOCK * BLOCK
        col_index_nnz_ptr += 1

    out_ptrs = out_ptr + (row_block_pid * BLOCK + inner)[:, None] * stride_om + cols[None, :] * stride_on
    output_acc_block *= alpha
    if beta != 0.0:
        output_acc_block += beta * tl.load(out_ptrs, mask=cols[None, :] < N)
    tl.store(out_ptrs, output_acc_block.to(out_ptr.dtype.element_ty), mask=cols[None, :] < N)


def bsr_dense_mm(values, crow, col, dense, out, alpha=1.0, beta=0.0):
    block = values.shape[-1]
    grid = (crow.numel() - 1, triton.cdiv(dense.shape[1], 32))
    _bsr_dense_kernel[grid](values, crow, col, dense, out, dense.shape[1], dense.stride(0), dense.stride(1), out.stride(0),
                            out.stride(1), alpha, beta, BLOCK=block, TILE_N=32, allow_tf32=False, acc_dtype=tl.float32)
    return out


@triton.jit
def _sdd_kernel(A, B, C, stride_am, stride_bk, lut, K, TILE: tl.constexpr, TILE_K: tl.constexpr):
    pid = tl.program_id(0)
    entry = lut + pid * 2
    bm, bn = tl.load(entry), tl.load(entry + 1)
    rm = bm * TILE + tl.arange(0, TILE)
    rn = bn * TILE + tl.arange(0, TILE)
    rk = tl.arange(0, TILE_K)
    pa = A + rm[:, None] * stride_am + rk[None, :]
    pb = B + rk[:, None] * stride_bk + rn[None, :]
    acc = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(K, 0, -TILE_K):
        a = tl.load(pa, mask=rk[None, :] < k, other=0.)
        b = tl.load(pb, mask=rk[:, None] < k, other=0.)
        acc += tl.dot(a, b)
        pa += TILE_K
        pb += TILE_K * stride_bk
    r = tl.arange(0, TILE)
    tl.store(C + pid * TILE * TILE + r[:, None] * TILE + r[None, :], acc.to(C.dtype.element_ty))


def check_sparse_times_dense(device):
    block, rows, cols = 16, 4, 5
    kept = torch.rand(rows, cols, generator=torch.Generator().manual_seed(5)) < 0.4
    kept[1] = False
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), kept.sum(1).cumsum(0)])
    row, col = kept.nonzero(as_tuple=True)
    values = normal(len(col), block, block, device=device, dtype=torch.float16)
    dense = normal(cols * block, 50, device=device, dtype=torch.float16, seed=1)
    full = torch.zeros(rows, block, cols, block, dtype=torch.float64)
    for i, (r, c) in enumerate(zip(row, col)):
        full[r, :, c] = wide(values[i])
    start = normal(rows * block, 50, device=device, dtype=torch.float16, seed=2)
    for alpha, beta in ((1.0, 0.0), (0.5, 2.0)):
        out = bsr_dense_mm(values, crow.to(device), col.to(device), dense, start.clone(), alpha, beta)
        close(out, alpha * full.reshape(rows * block, -1) @ wide(dense) + beta * wide(start), error=1e-3)


def check_sparse_result(device):
    a, b = normal(64, 40, device=device, dtype=torch.float16), normal(40, 48, device=device, dtype=torch.float16, seed=1)
    lut = torch.tensor([[0, 0], [3, 1], [2, 2]], dtype=torch.int32)
    c = torch.empty(3, 16, 16, dtype=torch.float16, device=device)
    _sdd_kernel[(3,)](a, b, c, a.stride(0), b.stride(0), lut.to(device), 40, TILE=16, TILE_K=16)
    full = (wide(a) @ wide(b)).reshape(4, 16, 3, 16)
    close(c, torch.stack([full[m, :, n] for m, n in lut.tolist()]), error=1e-3)
