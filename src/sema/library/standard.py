"""The standard library of the language, written in the language: what needs no op of its own."""
import triton
import triton.language as tl


@triton.jit
def is_narrow(x):
    # Functions of narrow floats compute in f32, and round once (docs/language/numerical-contract.md, N25).
    return tl.constexpr(x.dtype.is_floating() and x.dtype.primitive_bitwidth < 32)


@triton.jit
def sigmoid(x: real):
    if is_narrow(x):
        return (1 / (1 + tl.exp(-x.to(tl.float32)))).to(x.dtype)
    return 1 / (1 + tl.exp(-x))


@triton.jit
def softmax(x: real_tile, dim: axis = None, keep_dims: flag = False, ieee_rounding: flag = False):
    if is_narrow(x):
        return softmax(x.to(tl.float32), dim, keep_dims, ieee_rounding).to(x.dtype)
    axis: tl.constexpr = 0 if dim is None else dim
    if len(x.shape) == 1:
        row = tl.exp(x - tl.max(x, axis))
        return tl.fdiv(row, tl.sum(row, axis), ieee_rounding)
    else:
        # The extent of `axis` stays, as 1, so that any axis broadcasts.
        exponentials = tl.exp(x - tl.max(x, axis, keep_dims=True))
        return tl.fdiv(exponentials, tl.sum(exponentials, axis, keep_dims=True), ieee_rounding)


@triton.jit
def swizzle2d(i: integer, j: integer, size_i: integer, size_j: integer, size_g: integer):
    # Rows in groups of size_g, the last group may be smaller; within a group column by column.
    linear = i * size_j + j
    group_elements = size_g * size_j
    first_row = (linear // group_elements) * size_g
    rows = tl.minimum(size_i - first_row, size_g)
    within = linear % group_elements
    return first_row + within % rows, within // rows


@triton.jit
def flip(x: tile, dim: axis = None):
    rank: tl.constexpr = len(x.shape)
    tl.static_assert(dim is None or (dim >= -rank and dim < rank), "dim must be a dimension of the tile")
    axis: tl.constexpr = rank - 1 if dim is None else (dim + rank if dim < 0 else dim)
    extent: tl.constexpr = x.shape[axis]
    index = extent - 1 - tl.arange(0, extent)
    for d in tl.static_range(rank):
        if d != axis:
            index = tl.expand_dims(index, d)
    return tl.gather(x, tl.broadcast_to(index, x.shape), axis)
