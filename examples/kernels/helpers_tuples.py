"""A row-normalising kernel built of helper functions: tuples returned, defaults, compile-time choices."""
import tegula as triton
import tegula.language as tl

EPSILON: tl.constexpr = 1e-6


@triton.jit
def tile_of(row, stride, n_columns, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    return row * stride + columns, columns < n_columns


@triton.jit
def moments(x, mask, n):
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    return centred, (mean, tl.sum(centred * centred, axis=0) / n)


@triton.jit
def activate(x, KIND: tl.constexpr = "none", slope=0.25):
    if KIND == "leaky":
        return tl.where(x > 0, x, x * slope)
    elif KIND == "square":
        return x * x
    else:
        return x


@triton.jit
def doubled(N: tl.constexpr):
    return 2 * N


@triton.jit
def normalise_kernel(x_ptr, out_ptr, stats_ptr, stride, n_columns,
                     BLOCK: tl.constexpr, KIND: tl.constexpr, slope=None):
    row = tl.program_id(0)
    offsets, mask = tile_of(row, stride, n_columns, BLOCK)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    centred, stats = moments(x, mask, n_columns)
    mean, variance = stats
    y = centred / tl.sqrt(variance + EPSILON)
    if slope is None:
        y = activate(y, KIND)
    else:
        y = activate(y, KIND=KIND, slope=slope)
    tl.store(out_ptr + offsets, y, mask=mask)
    PAIR: tl.constexpr = doubled(1)
    tl.store(stats_ptr + row * PAIR, mean)
    tl.store(stats_ptr + row * PAIR + 1, variance)


def normalise(x, out, stats, kind="none", slope=None):
    rows, columns = x.shape
    normalise_kernel[(rows,)](x, out, stats, x.stride(0), columns, BLOCK=triton.next_power_of_2(columns),
                              KIND=kind, slope=slope)
    return out
