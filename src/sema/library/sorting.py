"""Bitonic sorting networks (Batcher 1968): every step compares elements whose indices differ in one bit."""
import triton
import triton.language as tl


@triton.jit
def across(x, bit: tl.constexpr):
    # x[i ^ (1 << bit)] along the last dimension: exclusive or with both of a pair leaves the other.
    as_bits: tl.constexpr = tl.core.get_int_dtype(x.dtype.primitive_bitwidth, signed=True)
    pairs = tl.reshape(x.to(as_bits, bitcast=True), (x.numel // (2 << bit), 2, 1 << bit))
    others = pairs ^ tl.xor_sum(pairs, 1, keep_dims=True)
    return tl.reshape(others, x.shape).to(x.dtype, bitcast=True)


@triton.jit
def merge_stage(x, stage: tl.constexpr, descending: tl.constexpr):
    # Runs of 1 << stage elements that rise, then fall, become sorted: up and down in turn.
    index = tl.broadcast_to(tl.arange(0, x.shape[len(x.shape) - 1]), x.shape)
    falls: tl.constexpr = 1 if descending else 0
    for step in tl.static_range(stage):
        bit: tl.constexpr = stage - 1 - step
        other = across(x, bit)
        takes_smaller = (((index >> bit) ^ (index >> stage)) & 1) == falls
        # Both of a pair decide alike, NaN included, so no element is lost.
        x = tl.where(tl.where(takes_smaller, x > other, x < other), other, x)
    return x


@triton.jit
def check_sortable(x, dim: tl.constexpr):
    last: tl.constexpr = len(x.shape) - 1
    extent: tl.constexpr = x.shape[last]
    tl.static_assert(dim is None or dim == last or dim == -1, "only the last dimension can be sorted")
    tl.static_assert(extent & (extent - 1) == 0, "the extent to sort must be a power of two")


@triton.jit
def sort(x: tile, dim: axis = None, descending: flag = False):
    check_sortable(x, dim)
    for stage in tl.static_range(1, tl.core._log2(x.shape[len(x.shape) - 1]) + 1):
        x = merge_stage(x, stage, descending)
    return x


@triton.jit
def bitonic_merge(x: tile, dim: axis = None, descending: flag = False):
    check_sortable(x, dim)
    return merge_stage(x, tl.core._log2(x.shape[len(x.shape) - 1]), descending)


@triton.jit
def topk(x: tile, k: count, dim: axis = None, descending: flag = True):
    rank: tl.constexpr = len(x.shape)
    extent: tl.constexpr = x.shape[rank - 1]
    tl.static_assert(k > 0 and k <= extent, "k must be from 1 to the extent of the last dimension")
    rows: tl.constexpr = x.numel // extent
    ordered = tl.reshape(sort(x, dim, descending), (rows, extent))
    first = tl.gather(ordered, tl.broadcast_to(tl.arange(0, k)[None, :], (rows, k)), 1)
    if rank == 1:
        return tl.reshape(first, (k,))
    elif rank == 2:
        return first
    else:
        tl.static_assert(rank == 3, "topk takes up to three dimensions")
        return tl.reshape(first, (x.shape[0], x.shape[1], k))
