"""Bitonic sorting networks (Batcher 1968): every step compares elements whose indices differ in one bit.

What is sorted are keys: integers in the order of the elements, from which the elements come back. Equal keys are
equal bits, so an extent that is no power of two is filled up with the greatest key (the least, where the order falls),
and the first elements of the result are those that were there, whatever values they have."""
import triton
import triton.language as tl

DIMENSIONS: tl.constexpr = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)


@triton.jit
def across(x, bit: tl.constexpr):
    # x[i ^ (1 << bit)] along the last dimension: exclusive or with both of a pair leaves the other.
    pairs = tl.reshape(x, (x.numel // (2 << bit), 2, 1 << bit))
    others = pairs ^ tl.xor_sum(pairs, 1, keep_dims=True)
    return tl.reshape(others, x.shape)


@triton.jit
def merge_stage(x, stage: tl.constexpr, descending: tl.constexpr):
    # Runs of 1 << stage elements that rise, then fall, become sorted: up and down in turn.
    index = tl.broadcast_to(tl.arange(0, x.shape[1])[None, :], x.shape)
    falls: tl.constexpr = 1 if descending else 0
    for step in tl.static_range(stage):
        bit: tl.constexpr = stage - 1 - step
        other = across(x, bit)
        takes_smaller = (((index >> bit) ^ (index >> stage)) & 1) == falls
        x = tl.where(takes_smaller, tl.minimum(x, other), tl.maximum(x, other))
    return x


@triton.jit
def keys_of(x):
    # Of floats the bits, those behind the sign turned where it is set; NaN is above all numbers and loses its sign.
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    if x.dtype.is_floating():
        as_bits: tl.constexpr = tl.core.get_int_dtype(bits, signed=True)
        behind_sign: tl.constexpr = 2 ** (bits - 1) - 1
        word = x.to(as_bits, bitcast=True)
        key = tl.where(word < 0, word ^ behind_sign, word)
        return tl.where(x != x, word & behind_sign, key)
    elif bits == 1:
        return x.to(tl.uint8)
    else:
        return x


@triton.jit
def of_keys(key, dtype: tl.constexpr):
    if dtype.is_floating():
        behind_sign: tl.constexpr = 2 ** (dtype.primitive_bitwidth - 1) - 1
        return tl.where(key < 0, key ^ behind_sign, key).to(dtype, bitcast=True)
    else:
        return key.to(dtype)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def first_keys(x, count: tl.constexpr, descending: tl.constexpr):
    # Of rows of keys the first `count` in order, both powers of two: runs of so many are sorted, up and down in
    # turn; of two neighbours the larger ones, element by element, are the largest of both, and rise, then fall.
    stages: tl.constexpr = tl.core._log2(count)
    for stage in tl.static_range(1, stages + 1):
        x = merge_stage(x, stage, descending)
    for halving in tl.static_range(tl.core._log2(x.shape[1]) - stages):
        pairs = tl.reshape(x, (x.shape[0], x.shape[1] // (2 * count), 2, count))
        x = tl.reshape(tl.reduce(pairs, 2, larger if descending else smaller), (x.shape[0], x.shape[1] // 2))
        x = merge_stage(x, stages, descending)
    return x


@triton.jit
def sorted_keys(x, kept: tl.constexpr, descending: tl.constexpr, is_bitonic: tl.constexpr):
    # Rows of keys in order, at least the first `kept` of them; what fills them up to a power of two comes last.
    extent: tl.constexpr = x.shape[1]
    padded: tl.constexpr = tl.next_power_of_2(extent)
    stages: tl.constexpr = tl.core._log2(padded)
    if padded != extent:
        is_signed: tl.constexpr = x.dtype.is_int_signed()
        bits: tl.constexpr = x.dtype.primitive_bitwidth - (1 if is_signed else 0)
        least: tl.constexpr = -(2**bits) if is_signed else 0
        fill: tl.constexpr = least if descending else 2**bits - 1
        x = tl.cat(x, tl.full((x.shape[0], padded - extent), fill, x.dtype), dim=1)
    if is_bitonic and padded == extent:
        return merge_stage(x, stages, descending)
    return first_keys(x, tl.next_power_of_2(kept), descending)


@triton.jit
def first_in_order(x, k: tl.constexpr, dim: tl.constexpr, descending: tl.constexpr, is_bitonic: tl.constexpr):
    # The first k, or all, along `dim`, which for the time is the last one of two.
    rank: tl.constexpr = len(x.shape)
    tl.static_assert(dim is None or (dim >= -rank and dim < rank), "dim must be a dimension of the tile")
    axis: tl.constexpr = rank - 1 if dim is None else (dim + rank if dim < 0 else dim)
    extent: tl.constexpr = x.shape[axis]
    kept: tl.constexpr = extent if k is None else k
    tl.static_assert(kept > 0 and kept <= extent, "k must be from 1 to the extent of the dimension")
    rows: tl.constexpr = x.numel // extent
    others: tl.constexpr = x.shape[:axis] + x.shape[axis + 1:]
    key = keys_of(x)
    if axis != rank - 1:
        key = tl.permute(key, DIMENSIONS[:axis] + DIMENSIONS[axis + 1:rank] + (axis,))
    key = sorted_keys(tl.reshape(key, (rows, extent)), kept, descending, is_bitonic)
    if kept != key.shape[1]:
        key = tl.gather(key, tl.broadcast_to(tl.arange(0, kept)[None, :], (rows, kept)), 1)
    key = tl.reshape(key, others + (kept,))
    if axis != rank - 1:
        key = tl.permute(key, DIMENSIONS[:axis] + (rank - 1,) + DIMENSIONS[axis:rank - 1])
    return of_keys(key, x.dtype)


@triton.jit
def sort(x: tile, dim: axis = None, descending: flag = False):
    return first_in_order(x, None, dim, descending, False)


@triton.jit
def bitonic_merge(x: tile, dim: axis = None, descending: flag = False):
    return first_in_order(x, None, dim, descending, True)


@triton.jit
def topk(x: tile, k: count, dim: axis = None, descending: flag = True):
    # Some of 8 or 16 bits come in 32, as from upstream, which finds them by tl.max; all of them do not.
    first = first_in_order(x, k, dim, descending, False)
    if k is None or first.numel == x.numel or x.dtype.primitive_bitwidth >= 32:
        return first
    return first.to(tl.float32 if x.dtype.is_floating() else tl.int32)
