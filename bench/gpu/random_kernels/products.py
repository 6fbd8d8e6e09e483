"""Products of matrices: a block of the result over a loop along K, in the spellings that people use, with what they do to
factors before (casts, scales, gathered rows, a second product as a gate) and to sums behind (bias, residual, activation, ...).

A matrix is stored with K innermost or not. Sizes are powers of two, as are blocks.
"""
from dataclasses import dataclass

from .kernel import BYTES, LANES, Draft

MOST_SUMS, MOST_SUMS_OF_A_THREAD, LEAST_SUMS_OF_A_THREAD = 32768, 160, 8
MOST_SUMS_BESIDE_A_GATE = 64    # of a thread
MOST_SHARED = 190000            # bytes
MOST_WORK = 1 << 36             # operations
SPELLINGS = {"moved pointers": 3, "computed pointers": 3, "block pointers": 1.5, "wrapped": 2, "masked": 2,
             "descriptors": 1}
BEFORE = {"plain": 6, "cast": 1.2, "scaled left": 0.8, "scaled right": 0.8, "relu": 0.6, "added": 0.8, "gate": 0.8,
          "gathered rows": 0.8, "scaled sums": 0.5}
OF_FLOATS = {"cast", "scaled left", "scaled right", "relu", "scaled sums"}
MOVED = {"moved pointers", "wrapped"}


@dataclass
class Factor:
    """One of the matrices that are multiplied; `down` and `across` are the distances of its rows and columns."""
    name: str
    tile: str               # the variable of a trip
    dtype: str
    down: str
    across: str
    cast: str = ""

    def address(self, row, column):
        return f"{self.name} + {scaled(f'{row}[:, None]', self.down)} + {scaled(f'{column}[None, :]', self.across)}"


def scaled(index, distance):
    return f"{index}" if distance == "1" else f"{index} * {distance}"


@dataclass
class Product:
    draft: Draft
    m: int                  # of a block
    n: int
    k: int
    dtype: str              # of both factors where neither is cast
    rows: int
    columns: int
    depth: int
    spelling: str
    before: str
    left: Factor
    right: list             # one factor, or two: of a gate
    trip: str               # the first k of a trip

    @property
    def sums_dtype(self):
        return "tl.int32" if self.is_of_integers else "tl.float32"

    @property
    def is_of_integers(self):
        return self.dtype == "i8" and self.before != "cast"

    @property
    def wide_dtype(self):
        """The type in which factors meet; 8-bit floats that are scaled become f16."""
        return "tl.float16" if self.dtype == "f8" else None


def write(draft):
    dtype = draft.weighted({"f16": 3, "bf16": 4, "f32": 1.5, "f8": 1, "i8": 0.7})
    m, n, k, warps, stages = choose_blocks(draft, dtype)
    rows, columns, depth = choose_sizes(draft, m, n, k)
    product = choose(draft, dtype, (m, n, k), (rows, columns, depth), warps)
    add_tensors(product)
    grid = write_programs(product)
    write_start(product)
    write_loop(product)
    behind, result_dtype, is_transposed = write_end(product)
    left, right = product.left, product.right[0]
    order = f"{'mk' if left.across == '1' else 'km'}*{'kn' if right.across == '1' else 'nk'}"
    steps = f"{product.before} {' + '.join(behind)} {'stored transposed' if is_transposed else ''}"
    return draft.kernel(f"{left.dtype}*{right.dtype}->{result_dtype} {m}x{n}x{k} {order} {product.spelling}, {steps} "
                        f"{rows}x{columns}x{depth}", grid, warps, stages, M=rows, N=columns, K=depth)


# --- choices ----------------------------------------------------------------------------------------


def choose_blocks(draft, dtype):
    """(m, n, k, warps, stages)"""
    def is_good(m, n, k, warps, stages):
        sums = m * n / LANES / warps
        return (m * n <= MOST_SUMS and LEAST_SUMS_OF_A_THREAD <= sums <= MOST_SUMS_OF_A_THREAD
                and (m + n) * k * max(BYTES[dtype], 2) * stages <= MOST_SHARED and (BYTES[dtype] > 1 or k >= 32))

    extents = [16, 32, 64, 64, 128, 128, 256]
    return draft.until(is_good, lambda: (draft.one_of(*extents), draft.one_of(*extents),
                                         draft.one_of(16, 32, 32, 64, 64, 128), draft.one_of(1, 2, 4, 4, 4, 8, 8),
                                         draft.one_of(1, 2, 2, 3, 3, 4, 5)))


def choose_sizes(draft, m, n, k):
    rows, columns = (max(block * 4, draft.one_of(512, 1024, 2048, 4096)) for block in (m, n))
    depth = max(draft.one_of(64, 128, 256, 512, 1024, 2048, 4096), k * 2)
    while 2 * rows * columns * depth > MOST_WORK and depth > k:
        depth //= 2
    return draft.size(rows, 2 * m), draft.size(columns, n), draft.size(depth, 3 * k)


def choose(draft, dtype, blocks, sizes, warps):
    left_order, right_order = draft.one_of("mk", "mk", "km"), draft.one_of("kn", "kn", "nk")
    spelling, before = draft.weighted(SPELLINGS), draft.weighted(BEFORE)
    sums_of_a_thread = blocks[0] * blocks[1] / LANES / warps
    if (dtype == "i8" and before in OF_FLOATS or before == "gate" and sums_of_a_thread > MOST_SUMS_BESIDE_A_GATE
            or before == "gathered rows" and spelling in ("block pointers", "descriptors")):
        before = "plain"
    if spelling == "descriptors":
        left_order = "mk"
    left = Factor("a", "x", dtype, *(("K", "1") if left_order == "mk" else ("1", "M")))
    right = [Factor(name, tile, dtype, *(("N", "1") if right_order == "kn" else ("1", "K")))
             for name, tile in ([("b", "y"), ("b2", "y2")] if before == "gate" else [("b", "y")])]
    if before == "cast":
        cast, other = (left, right[0]) if draft.chance(0.5) else (right[0], left)
        cast.dtype, cast.cast, other.dtype = draft.one_of("f32", "i8", "f16"), ".to(tl.bfloat16)", "bf16"
    return Product(draft, *blocks, dtype, *sizes, spelling, before, left, right, trip="")


def add_tensors(product):
    draft, rows, columns, depth = product.draft, product.rows, product.columns, product.depth
    left = product.left
    draft.tensor(left.name, (rows, depth) if left.across == "1" else (depth, rows), left.dtype)
    for factor in product.right:
        draft.tensor(factor.name, (depth, columns) if factor.across == "1" else (columns, depth), factor.dtype)
    if product.before == "gathered rows":
        draft.tensor("places", (rows,), "i32", "places", below=rows)
    elif product.before == "scaled left":
        draft.tensor("scale", (depth,), "f16" if left.dtype == "f8" else left.dtype)
    elif product.before == "scaled right":
        draft.tensor("scale", (depth,), "f32")
    elif product.before == "scaled sums":
        draft.tensor("scale", (rows, max(1, depth // product.k)), "f32")


# --- in front of the loop -----------------------------------------------------------------------------


def write_programs(product):
    """The program's block: in groups of eight rows of blocks, or in two dimensions. Returns the grid."""
    draft, m, n = product.draft, product.m, product.n
    grid = product.rows // m, product.columns // n
    if draft.chance(0.5):
        draft.add("pid = tl.program_id(0)", f"blocks_m = tl.cdiv(M, {m})", f"blocks_n = tl.cdiv(N, {n})",
                  "group = 8 * blocks_n", "first = pid // group * 8", "count = tl.minimum(blocks_m - first, 8)",
                  "pm = first + (pid % group) % count", "pn = (pid % group) // count")
        return grid[0] * grid[1],
    draft.add("pm = tl.program_id(0)", "pn = tl.program_id(1)")
    return grid


def write_start(product):
    draft, m, n = product.draft, product.m, product.n
    around = {"row": " % M", "column": " % N"} if product.spelling == "wrapped" else {"row": "", "column": ""}
    draft.add(f"row = pm * {m} + tl.arange(0, {m})", f"column = pn * {n} + tl.arange(0, {n})",
              f"loaded_row = row{around['row']}", f"loaded_column = column{around['column']}")
    if product.before == "gathered rows":
        draft.add("loaded_row = tl.load(places + row)")
    draft.add(f"depth = tl.arange(0, {product.k})", f"acc = tl.zeros(({m}, {n}), {product.sums_dtype})")
    if product.before == "gate":
        draft.add(f"acc2 = tl.zeros(({m}, {n}), {product.sums_dtype})")
    if product.spelling in MOVED:
        draft.add(f"at_a = {product.left.address('loaded_row', 'depth')}")
        draft.add(*(f"at_{factor.name} = {factor.address('depth', 'loaded_column')}" for factor in product.right))
    elif product.spelling == "block pointers":
        write_block_pointers(product)
    elif product.spelling == "descriptors":
        write_descriptors(product)


def write_block_pointers(product):
    for factor, shape, offsets, block in (
            (product.left, "(M, K)", f"(pm * {product.m}, 0)", (product.m, product.k)),
            *((factor, "(K, N)", f"(0, pn * {product.n})", (product.k, product.n)) for factor in product.right)):
        order = "(1, 0)" if factor.across == "1" else "(0, 1)"
        product.draft.add(f"at_{factor.name} = tl.make_block_ptr({factor.name}, shape={shape}, "
                          f"strides=({factor.down}, {factor.across}), offsets={offsets}, block_shape={block}, order={order})")


def write_descriptors(product):
    """Of what lies in memory: rows of K for a right factor with K innermost, which is then loaded transposed."""
    m, n, k = product.m, product.n, product.k
    for factor in [product.left, *product.right]:
        shape, inner, block = ("[M, K]", "K", [m, k]) if factor is product.left else (
            ("[K, N]", "N", [k, n]) if factor.across == "1" else ("[N, K]", "K", [n, k]))
        product.draft.add(f"at_{factor.name} = tl.make_tensor_descriptor({factor.name}, shape={shape}, "
                          f"strides=[{inner}, 1], block_shape={block})")


# --- the loop -----------------------------------------------------------------------------------------


def write_loop(product):
    draft, k = product.draft, product.k
    by_depth = (f"for k0 in range(0, K, {k}):", "k0")
    heads = [by_depth, *((f"for j in {of}(0, tl.cdiv(K, {k})):", f"j * {k}") for of in ("range", "tl.range"))]
    head, product.trip = by_depth if product.spelling == "block pointers" else draft.one_of(*heads)
    with draft.block(head):
        write_loads(product)
        write_changes(product)
        write_product(product)
        write_moves(product)


def write_loads(product):
    checked = product.draft.one_of("", ", boundary_check=(0, 1)", ", boundary_check=(0, 1), padding_option='zero'")
    if "i8" in (product.left.dtype, product.right[0].dtype):
        checked = ""
    for factor in [product.left, *product.right]:
        product.draft.add(f"{factor.tile} = {load(product, factor, checked)}{factor.cast}")


def load(product, factor, checked):
    is_left, trip = factor is product.left, product.trip
    if product.spelling == "block pointers":
        return f"tl.load(at_{factor.name}{checked})"
    if product.spelling == "descriptors":
        return load_of_descriptor(product, factor)
    depth = "depth[None, :]" if is_left else "depth[:, None]"
    if product.spelling in MOVED:
        mask = f", mask={depth} < K - {trip}, other=0.0" if product.spelling == "wrapped" else ""
        return f"tl.load(at_{factor.name}{mask})"
    at = f"({trip} + depth)"
    address = factor.address("loaded_row", at) if is_left else factor.address(at, "loaded_column")
    if product.spelling == "computed pointers":
        return f"tl.load({address})"
    inside = "row[:, None] < M" if is_left else "column[None, :] < N"
    return f"tl.load({address}, mask=({inside}) & ({trip} + {depth} < K), other=0.0)"


def load_of_descriptor(product, factor):
    if factor is product.left:
        return f"at_{factor.name}.load([pm * {product.m}, {product.trip}])"
    if factor.across == "1":
        return f"at_{factor.name}.load([{product.trip}, pn * {product.n}])"
    return f"at_{factor.name}.load([pn * {product.n}, {product.trip}]).T"


def write_changes(product):
    """To factors, before they are multiplied."""
    draft, at = product.draft, f"scale + {product.trip} + depth"
    if product.before == "scaled left":
        draft.add(f"x = (x.to(tl.float32) * tl.load({at})[None, :].to(tl.float32)).to({product.wide_dtype or 'y.dtype'})")
        if product.wide_dtype:
            draft.add(f"y = y.to({product.wide_dtype})")
    elif product.before == "scaled right":
        draft.add(f"y = (y.to(tl.float32) * tl.load({at})[:, None]).to({product.wide_dtype or 'x.dtype'})")
        if product.wide_dtype:
            draft.add(f"x = x.to({product.wide_dtype})")
    elif product.before == "relu" and product.dtype != "f8":
        draft.add("x = tl.where(x > 0, x, 0.0).to(y.dtype)")


def write_product(product):
    draft = product.draft
    if product.before == "scaled sums":
        blocks = f"K // {product.k}"
        draft.add(f"acc += tl.dot(x, y) * tl.load(scale + row * ({blocks}) + {product.trip} // {product.k})[:, None]")
    elif product.before == "added":
        typed = ", out_dtype=tl.int32" if product.is_of_integers else ""
        draft.add(draft.one_of(f"acc += tl.dot(x, y{typed})", "acc = acc + tl.dot(x, y)"))
    else:
        draft.add(draft.one_of("acc = tl.dot(x, y, acc)", "acc += tl.dot(x, y)"))
    if product.before == "gate":
        draft.add("acc2 = tl.dot(x, y2, acc2)")


def write_moves(product):
    draft, k = product.draft, product.k
    if product.spelling in MOVED:
        draft.add(f"at_a += {scaled(k, product.left.across)}")
        draft.add(*(f"at_{factor.name} += {scaled(k, factor.down)}" for factor in product.right))
    elif product.spelling == "block pointers":
        draft.add(f"at_a = tl.advance(at_a, (0, {k}))")
        draft.add(*(f"at_{factor.name} = tl.advance(at_{factor.name}, ({k}, 0))" for factor in product.right))


# --- behind the loop ----------------------------------------------------------------------------------


def write_end(product):
    """(names of the steps, type of the result, whether it is stored transposed)"""
    draft, rows, columns = product.draft, product.rows, product.columns
    is_quantized = "i8" in (product.left.dtype, product.right[0].dtype)
    scale = " * 0.001" if is_quantized else ""  # f16 then holds the result
    draft.add(f"v = acc.to(tl.float32){scale}")
    if product.before == "gate":
        draft.add(f"v = v * tl.sigmoid(acc2.to(tl.float32){scale})")
    behind = [name for name in BEHIND if draft.chance(0.25)]
    for name in behind:
        BEHIND[name](product)
    dtype, is_transposed = draft.one_of("f16", "bf16", "f32"), draft.chance(0.1)
    draft.result("o", (columns, rows) if is_transposed else (rows, columns), dtype)
    at = "column[None, :] * M + row[:, None]" if is_transposed else "row[:, None] * N + column[None, :]"
    draft.add(f"tl.store(o + {at}, v.to(o.dtype.element_ty), mask=(row[:, None] < M) & (column[None, :] < N))")
    return behind, dtype, is_transposed


def add_bias_of_columns(product):
    product.draft.tensor("bias", (product.columns,), product.draft.one_of("f32", "bf16"))
    product.draft.add("v += tl.load(bias + column)[None, :].to(tl.float32)")


def add_bias_of_rows(product):
    product.draft.tensor("bias_of_rows", (product.rows,), "f32")
    product.draft.add("v += tl.load(bias_of_rows + row)[:, None]")


def add_residual(product):
    product.draft.tensor("residual", (product.rows, product.columns), product.draft.one_of("bf16", "f32"))
    product.draft.add("v += tl.load(residual + row[:, None] * N + column[None, :]).to(tl.float32)")


def activate(product):
    product.draft.add(product.draft.one_of("v = tl.maximum(v, 0.0)", "v = v * tl.sigmoid(v)",
                                           "v = tl.where(v > 0, v, 0.01 * v)"))


def reduce_rows(product):
    draft = product.draft
    draft.result("reduced", (product.rows, product.columns // product.n), "f32")
    value = draft.one_of("tl.max(v, 1)", "tl.sum(v, 1)", "tl.sum(v * v, 1)")
    draft.add(f"tl.store(reduced + row * (N // {product.n}) + pn, {value})")


def scale_by_rows_and_columns(product):
    product.draft.tensor("scale_of_rows", (product.rows,), "f32")
    product.draft.tensor("scale_of_columns", (product.columns,), "f32")
    product.draft.add("v = v * tl.load(scale_of_rows + row)[:, None] * tl.load(scale_of_columns + column)[None, :]")


BEHIND = {"bias": add_bias_of_columns, "bias of rows": add_bias_of_rows, "residual": add_residual, "activation": activate,
          "reduced rows": reduce_rows, "scales": scale_by_rows_and_columns}
