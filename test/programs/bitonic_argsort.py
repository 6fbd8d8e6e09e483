"""A sort of values with their indices by a bitonic network of reshapes and exclusive ors."""
import torch
import triton
import triton.language as tl

from beside import normal, same


@triton.jit
def _compare_and_swap(x, ids, flip, i: tl.constexpr, n_dims: tl.constexpr):
    n_outer: tl.constexpr = x.numel >> n_dims
    shape: tl.constexpr = [n_outer * 2**i, 2, 2**(n_dims - i - 1)]
    y = tl.reshape(x, shape)
    # slice left/right with 'stride' 2**(n_dims - i - 1)
    mask = tl.arange(0, 2)[None, :, None]
    left = tl.broadcast_to(tl.sum(y * (1 - mask), 1)[:, None, :], shape).to(x.dtype)
    right = tl.broadcast_to(tl.sum(y * mask, 1)[:, None, :], shape).to(x.dtype)
    left = tl.reshape(left, x.shape)
    right = tl.reshape(right, x.shape)
    # idx
    y_idx = tl.reshape(ids, shape)
    left_idx = tl.broadcast_to(tl.sum(y_idx * (1 - mask), 1)[:, None, :], shape)
    right_idx = tl.broadcast_to(tl.sum(y_idx * mask, 1)[:, None, :], shape)
    left_idx = tl.reshape(left_idx, x.shape).to(ids.dtype)
    right_idx = tl.reshape(right_idx, x.shape).to(ids.dtype)
    # actual compare-and-swap
    idtype = tl.core.get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
    ileft = left.to(idtype, bitcast=True)
    iright = right.to(idtype, bitcast=True)
    ix = x.to(idtype, bitcast=True)
    cond = (left > right) != flip
    ret = ix ^ tl.where(cond, ileft ^ iright, tl.zeros_like(ix))
    new_ids = ids ^ tl.where(cond, left_idx ^ right_idx, tl.zeros_like(ids))
    return ret.to(x.dtype, bitcast=True), new_ids


@triton.jit
def _bitonic_merge(x, ids, stage: tl.constexpr, order: tl.constexpr, n_dims: tl.constexpr):
    n_outer: tl.constexpr = x.numel >> n_dims
    tl.static_assert(stage <= n_dims)
    if order == 2:
        shape: tl.constexpr = [n_outer * 2**(n_dims - 1 - stage), 2, 2**stage]
        flip = tl.reshape(tl.broadcast_to(tl.arange(0, 2)[None, :, None], shape), x.shape)
    else:
        flip = order
    for i in tl.static_range(stage):
        x, ids = _compare_and_swap(x, ids, flip, i + (n_dims - stage), n_dims)
    return x, ids


@triton.jit
def argsort(x, ids, N_DIMS: tl.constexpr, descending: tl.constexpr = False):
    for i in tl.static_range(1, N_DIMS + 1):
        x, ids = _bitonic_merge(x, ids, i, 2 if i < N_DIMS else descending, N_DIMS)
    return x, ids


@triton.jit
def argsort_kernel(x_ptr, values_ptr, ids_ptr, n, ROWS: tl.constexpr, N: tl.constexpr, LOG_N: tl.constexpr, DESCENDING: tl.constexpr):
    r, c = tl.arange(0, ROWS)[:, None], tl.arange(0, N)[None, :]
    pad = -float("inf") if DESCENDING else float("inf")
    x = tl.load(x_ptr + r * n + c, mask=c < n, other=pad)
    # infinities times nought are no numbers: keep the padding finite
    x = tl.where(c < n, x, -3e38 if DESCENDING else 3e38)
    values, ids = argsort(x, tl.broadcast_to(c, (ROWS, N)), LOG_N, DESCENDING)
    tl.store(values_ptr + r * n + c, values, mask=c < n)
    tl.store(ids_ptr + r * n + c, ids, mask=c < n)


def check_rows(device):
    for n, descending in ((32, False), (19, True), (7, False)):
        x = normal(4, n, device=device)
        values, ids = torch.empty_like(x), torch.empty(4, n, dtype=torch.int32, device=device)
        N = triton.next_power_of_2(n)
        argsort_kernel[(1,)](x, values, ids, n, ROWS=4, N=N, LOG_N=N.bit_length() - 1, DESCENDING=descending)
        expected = torch.sort(x.cpu(), dim=1, descending=descending)
        same(values, expected.values)
        same(ids, expected.indices)
