"""y = dequantised(w) @ x with weights of three bits, in four forms of unpacking.

Eight values share three bytes, the first value in the lowest bits, so that values 2 and 5 of the eight straddle
bytes. A row of K values is 3/8·K bytes. Every 128 values of a row, 48 bytes, share a scale: a weight is
(value - 4) · scale. K is a multiple of GROUPS·128, and a program makes BLOCK_N of the N results.
"""
import tegula as triton
import tegula.language as tl


@triton.jit
def dot_of_groups(values, x, scales, BLOCK_N: tl.constexpr, GROUPS: tl.constexpr):
    """Sums of (value - 4) · x over each group, times the group's scale: [BLOCK_N]."""
    products = (values.to(tl.float32) - 4.0) * x[None, :]
    sums = tl.sum(tl.reshape(products, [BLOCK_N, GROUPS, 128]), axis=2)
    return tl.sum(sums * scales.to(tl.float32), axis=1)


@triton.jit
def gemv_int3_scatter_kernel(packed_ptr, scale_ptr, x_ptr, y_ptr, N, K, BLOCK_N: tl.constexpr, GROUPS: tl.constexpr):
    """Loads for each value its byte and the byte in which it may go on."""
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = rows[:, None] < N
    group = tl.arange(0, GROUPS)
    k = tl.arange(0, GROUPS * 128)
    bit = (k % 8) * 3
    first = (k // 8) * 3 + bit // 8
    shift = bit % 8
    second = first + tl.where(shift > 5, 1, 0)

    y = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, K, GROUPS * 128):
        bytes_ptr = packed_ptr + rows[:, None] * (K // 8 * 3) + start // 8 * 3
        low = tl.load(bytes_ptr + first[None, :], mask=inside, other=0).to(tl.int32)
        high = tl.load(bytes_ptr + second[None, :], mask=inside, other=0).to(tl.int32)
        values = ((low | (high << 8)) >> shift[None, :]) & 7
        scales = tl.load(scale_ptr + rows[:, None] * (K // 128) + start // 128 + group[None, :], mask=inside, other=0.0)
        x = tl.load(x_ptr + start + k).to(tl.float32)
        y += dot_of_groups(values, x, scales, BLOCK_N, GROUPS)
    tl.store(y_ptr + rows, y, mask=rows < N)


@triton.jit
def gemv_int3_gather_kernel(packed_ptr, scale_ptr, x_ptr, y_ptr, N, K, BLOCK_N: tl.constexpr, GROUPS: tl.constexpr):
    """Loads the bytes once, a power of two of them, and gathers from the tile that holds them."""
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = rows[:, None] < N
    group = tl.arange(0, GROUPS)
    at = tl.arange(0, GROUPS * 64)
    k = tl.arange(0, GROUPS * 128)
    bit = (k % 8) * 3
    first = (k // 8) * 3 + bit // 8
    shift = bit % 8
    second = first + tl.where(shift > 5, 1, 0)
    first = tl.broadcast_to(first[None, :], [BLOCK_N, GROUPS * 128])
    second = tl.broadcast_to(second[None, :], [BLOCK_N, GROUPS * 128])

    y = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, K, GROUPS * 128):
        bytes_ptr = packed_ptr + rows[:, None] * (K // 8 * 3) + start // 8 * 3
        packed = tl.load(bytes_ptr + at[None, :], mask=inside & (at[None, :] < GROUPS * 48), other=0)
        low = tl.gather(packed, first, axis=1).to(tl.int32)
        high = tl.gather(packed, second, axis=1).to(tl.int32)
        values = ((low | (high << 8)) >> shift[None, :]) & 7
        scales = tl.load(scale_ptr + rows[:, None] * (K // 128) + start // 128 + group[None, :], mask=inside, other=0.0)
        x = tl.load(x_ptr + start + k).to(tl.float32)
        y += dot_of_groups(values, x, scales, BLOCK_N, GROUPS)
    tl.store(y_ptr + rows, y, mask=rows < N)


@triton.jit
def gemv_int3_join_kernel(packed_ptr, scale_ptr, x_ptr, y_ptr, N, K, BLOCK_N: tl.constexpr, GROUPS: tl.constexpr):
    """Loads first, second and third bytes apart, and joins the eight values of each three in order."""
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = rows[:, None] < N
    group = tl.arange(0, GROUPS)
    three = tl.arange(0, GROUPS * 16) * 3
    k = tl.arange(0, GROUPS * 128)

    y = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, K, GROUPS * 128):
        bytes_ptr = packed_ptr + rows[:, None] * (K // 8 * 3) + start // 8 * 3 + three[None, :]
        word = tl.load(bytes_ptr, mask=inside, other=0).to(tl.int32)
        word |= tl.load(bytes_ptr + 1, mask=inside, other=0).to(tl.int32) << 8
        word |= tl.load(bytes_ptr + 2, mask=inside, other=0).to(tl.int32) << 16
        # each join adds a dimension behind: the value's lowest bit comes first, and last after the transposition
        pairs01 = tl.join(word & 7, (word >> 3) & 7)
        pairs23 = tl.join((word >> 6) & 7, (word >> 9) & 7)
        pairs45 = tl.join((word >> 12) & 7, (word >> 15) & 7)
        pairs67 = tl.join((word >> 18) & 7, (word >> 21) & 7)
        eights = tl.join(tl.join(pairs01, pairs23), tl.join(pairs45, pairs67))
        values = tl.reshape(tl.trans(eights, 0, 1, 4, 3, 2), [BLOCK_N, GROUPS * 128])
        scales = tl.load(scale_ptr + rows[:, None] * (K // 128) + start // 128 + group[None, :], mask=inside, other=0.0)
        x = tl.load(x_ptr + start + k).to(tl.float32)
        y += dot_of_groups(values, x, scales, BLOCK_N, GROUPS)
    tl.store(y_ptr + rows, y, mask=rows < N)


@triton.jit
def gemv_int3_typed_kernel(packed_ptr, scale_ptr, x_ptr, y_ptr, N, K, BLOCK_N: tl.constexpr, GROUPS: tl.constexpr):
    """Loads elements of three bits; the compiler unpacks."""
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = rows[:, None] < N
    k, group = tl.arange(0, GROUPS * 128), tl.arange(0, GROUPS)
    weights = packed_ptr.to(tl.pointer_type(tl.uint3)) + rows[:, None] * K
    y = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, K, GROUPS * 128):
        values = tl.load(weights + (start + k)[None, :], mask=inside, other=0)
        scales = tl.load(scale_ptr + rows[:, None] * (K // 128) + start // 128 + group[None, :], mask=inside, other=0.0)
        x = tl.load(x_ptr + start + k).to(tl.float32)
        y += dot_of_groups(values, x, scales, BLOCK_N, GROUPS)
    tl.store(y_ptr + rows, y, mask=rows < N)


KERNELS = {"scatter": gemv_int3_scatter_kernel, "gather": gemv_int3_gather_kernel, "join": gemv_int3_join_kernel,
           "typed": gemv_int3_typed_kernel}


def gemv_int3(form, packed, scales, x, y, block_n=4, groups=1, **options):
    """`packed` is uint8 [N, 3/8·K], `scales` [N, K/128], both contiguous."""
    N, K = y.shape[0], x.shape[0]
    KERNELS[form][(triton.cdiv(N, block_n),)](packed, scales, x, y, N, K, BLOCK_N=block_n, GROUPS=groups, **options)
    return y
