"""Two-of-four sparsity: the two largest of each four kept with their places in four bits, and expanded again."""
import torch
import triton
import triton.language as tl

from beside import normal, same


@triton.jit
def compress_kernel(x_ptr, values_ptr, meta_ptr, quads, BLOCK: tl.constexpr):
    q = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = q < quads
    at = q[:, None] * 4 + tl.arange(0, 4)[None, :]
    x = tl.load(x_ptr + at, mask=ok[:, None], other=0.0)
    even, odd = tl.split(x.reshape(BLOCK, 2, 2))
    x0, x2 = tl.split(even)
    x1, x3 = tl.split(odd)
    a0, a1, a2, a3 = tl.abs(x0), tl.abs(x1), tl.abs(x2), tl.abs(x3)
    # how many are larger (or equal and further left) says the rank of each
    r0 = (a1 > a0).to(tl.int32) + (a2 > a0) + (a3 > a0)
    r1 = (a0 >= a1).to(tl.int32) + (a2 > a1) + (a3 > a1)
    r2 = (a0 >= a2).to(tl.int32) + (a1 >= a2) + (a3 > a2)
    k0, k1, k2 = r0 < 2, r1 < 2, r2 < 2
    first = tl.where(k0, 0, tl.where(k1, 1, 2))
    second = tl.where(k0 & k1, 1, tl.where((k0 | k1) & k2, 2, 3))
    v0 = tl.where(first == 0, x0, tl.where(first == 1, x1, x2))
    v1 = tl.where(second == 1, x1, tl.where(second == 2, x2, x3))
    tl.store(values_ptr + q[:, None] * 2 + tl.arange(0, 2)[None, :], tl.join(v0, v1), mask=ok[:, None])
    tl.store(meta_ptr + q, (first | (second << 2)).to(tl.uint8), mask=ok)


@triton.jit
def expand_kernel(values_ptr, meta_ptr, out_ptr, quads, BLOCK: tl.constexpr):
    q = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = q < quads
    meta = tl.load(meta_ptr + q, ok, 0)
    lane = tl.arange(0, 4)[None, :]
    v0, v1 = tl.load(values_ptr + 2 * q, ok, 0.0), tl.load(values_ptr + 2 * q + 1, ok, 0.0)
    x = tl.where(lane == (meta & 3)[:, None], v0[:, None], tl.where(lane == ((meta >> 2) & 3)[:, None], v1[:, None], 0.0))
    tl.store(out_ptr + q[:, None] * 4 + lane, x, ok[:, None])


def check_round_trip(device):
    for dtype in (torch.float32, torch.float16):
        x = normal(50, 4, device=device, dtype=dtype)
        values, meta = torch.empty(50, 2, dtype=dtype, device=device), torch.empty(50, dtype=torch.uint8, device=device)
        compress_kernel[(2,)](x, values, meta, 50, BLOCK=32)
        out = torch.empty_like(x)
        expand_kernel[(2,)](values, meta, out, 50, BLOCK=32)
        c = x.cpu()
        kept = torch.zeros(50, 4, dtype=torch.bool).scatter_(1, c.abs().topk(2, 1).indices, True)
        same(out, torch.where(kept, c, torch.zeros_like(c)))
