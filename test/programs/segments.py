"""Sums over segments: by sorted ids with a keyed scan, by offsets, and a softmax over edges of a graph."""
import torch
import triton
import triton.language as tl

from beside import close, integers, normal, same, wide


@triton.jit
def keyed_add(key_a, sum_a, key_b, sum_b):
    return key_b, tl.where(key_a == key_b, sum_a, 0.0) + sum_b


@triton.jit
def segment_sum_kernel(keys_ptr, values_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys_ptr + i, mask=i < n, other=-1)
    value = tl.load(values_ptr + i, mask=i < n, other=0.0)
    _, running = tl.associative_scan((key, value), 0, keyed_add)
    following = tl.load(keys_ptr + i + 1, mask=i + 1 < n, other=-2)
    ends = (key != following) | (tl.arange(0, BLOCK) == BLOCK - 1)
    tl.atomic_add(out_ptr + key, running, mask=ends & (i < n))


@triton.jit
def edge_softmax_kernel(offsets_ptr, score_ptr, alpha_ptr, BLOCK: tl.constexpr):
    node = tl.program_id(0)
    begin, end = tl.load(offsets_ptr + node), tl.load(offsets_ptr + node + 1)
    if begin == end:
        return
    top = tl.full((), float("-inf"), tl.float32)
    for s in range(begin, end, BLOCK):
        e = s + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.max(tl.load(score_ptr + e, e < end, float("-inf"))))
    total = 0.0
    for s in range(begin, end, BLOCK):
        e = s + tl.arange(0, BLOCK)
        p = tl.exp(tl.load(score_ptr + e, e < end, float("-inf")) - top)
        tl.store(alpha_ptr + e, p, e < end)
        total += tl.sum(p)
    tl.debug_barrier()
    for s in range(begin, end, BLOCK):
        e = s + tl.arange(0, BLOCK)
        tl.store(alpha_ptr + e, tl.load(alpha_ptr + e, e < end) / total, e < end)


@triton.jit
def spmm_kernel(offsets_ptr, columns_ptr, values_ptr, x_ptr, out_ptr, D, BLOCK_D: tl.constexpr):
    row = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    acc = tl.zeros([BLOCK_D], tl.float32)
    for e in range(tl.load(offsets_ptr + row), tl.load(offsets_ptr + row + 1)):
        acc += tl.load(values_ptr + e) * tl.load(x_ptr + tl.load(columns_ptr + e) * D + d, mask=d < D, other=0.0)
    tl.store(out_ptr + row * D + d, acc, mask=d < D)


def graph(device):
    degrees = torch.tensor([3, 0, 9, 1, 20])
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), degrees.cumsum(0)]).to(torch.int32)
    return degrees, offsets.to(device), integers(0, 6, (33,), device=device), normal(33, device=device)


def check_sorted_keys(device):
    keys = torch.sort(integers(0, 7, (200,), device=device)).values
    values, out = normal(200, device=device), torch.zeros(7, device=device)
    segment_sum_kernel[(4,)](keys, values, out, 200, BLOCK=64)
    close(out, torch.zeros(7, dtype=torch.float64).index_add(0, keys.cpu().long(), wide(values)), error=1e-6)


def check_edge_softmax(device):
    degrees, offsets, _, score = graph(device)
    alpha = torch.empty_like(score)
    edge_softmax_kernel[(5,)](offsets, score, alpha, BLOCK=8)
    close(alpha, torch.cat([torch.softmax(part, 0) for part in wide(score).split(degrees.tolist())]), error=1e-6)


def check_sparse_product(device):
    degrees, offsets, columns, values = graph(device)
    x, out = normal(6, 20, device=device, seed=3), torch.empty(5, 20, device=device)
    spmm_kernel[(5, 2)](offsets, columns, values, x, out, 20, BLOCK_D=16)
    dense = torch.zeros(5, 6, dtype=torch.float64)
    dense.index_put_((torch.repeat_interleave(torch.arange(5), degrees), columns.cpu().long()), wide(values), accumulate=True)
    close(out, dense @ wide(x), error=1e-6)
