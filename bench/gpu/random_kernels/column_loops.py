"""Kernels that go over wide rows block by block: norms, softmax, losses and running sums in loops over columns; and sums of
columns, which go over rows.

A tile of one row is a vector in most spellings, as people write it. The number of columns need not be a multiple of a block's.
"""
from dataclasses import dataclass

from .kernel import LANES, Draft

MOST, LEAST = 8192, 128     # elements of a tile
MOST_OF_A_THREAD = 64
ELEMENTS = 1 << 24          # of a tensor
PROGRAMS = 132 * 2
MINUS_INFINITY, VERY_SMALL = "float('-inf')", "-1e30"


@dataclass
class Loops:
    draft: Draft
    block_rows: int
    block_columns: int
    warps: int
    rows: int
    columns: int
    dtype: str
    head: str               # of the loops
    first: str              # column of a trip
    has_row_pointers: bool

    @property
    def is_vector(self):
        return self.block_rows == 1

    @property
    def axis(self):
        return 0 if self.is_vector else 1

    def down(self, name):
        """A value of each row, beside a tile."""
        return name if self.is_vector else f"{name}[:, None]"

    def along(self, name):
        """A value of each column, beside a tile."""
        return name if self.is_vector else f"{name}[None, :]"

    def tile_of(self, value):
        shape = f"({self.block_columns},)" if self.is_vector else f"({self.block_rows}, {self.block_columns})"
        return f"tl.full({shape}, {value}, tl.float32)"

    def row_value(self, value, dtype="tl.float32"):
        return value if self.is_vector else f"tl.full(({self.block_rows},), {value}, {dtype})"

    def load(self, name, other="0.0"):
        base = f"{name}_row" if self.has_row_pointers else f"{name} + {self.down('rows')} * C"
        return f"tl.load({base} + {self.along('cols')}, mask={self.along('cols')} < C, other={other}).to(tl.float32)"

    def weights(self):
        return self.along("tl.load(w + cols, mask=cols < C, other=0.0).to(tl.float32)")

    def loop(self, *lines):
        with self.draft.block(self.head):
            self.draft.add(f"cols = {self.first} + tl.arange(0, {self.block_columns})", *lines)

    def loop_that_stores(self, lines, value):
        cols = self.along("cols")
        self.loop(*lines, f"tl.store(o + {self.down('rows')} * C + {cols}, {value}, mask={cols} < C)")

    # --- tensors ---

    def second_matrix(self, dtype):
        self.draft.tensor("y", (self.rows, self.columns), dtype)

    def vector_of_weights(self, dtype):
        self.draft.tensor("w", (self.columns,), dtype)

    def result_of_elements(self):
        self.draft.result("o", (self.rows, self.columns), self.dtype)

    def result_of_rows(self, name="o", dtype="f32"):
        self.draft.result(name, (self.rows,), dtype)


def write(draft):
    loops = choose(draft)
    sort = draft.weighted({name: weight for name, (_, weight) in SORTS.items()})
    if sort == "sums of columns":
        return write_sums_of_columns(draft, loops.warps, loops.dtype)
    block_rows = loops.block_rows
    draft.tensor("x", (loops.rows, loops.columns), loops.dtype)
    draft.add("rows = tl.program_id(0)" if loops.is_vector else
              f"rows = tl.program_id(0) * {block_rows} + tl.arange(0, {block_rows})")
    if loops.has_row_pointers:
        draft.add(f"x_row = x + {loops.down('rows')} * C")
    SORTS[sort][0](loops)
    description = (f"{sort} {block_rows}x{loops.block_columns} {loops.dtype} {loops.columns} columns, "
                   f"{loops.head.partition(' in ')[2].rstrip(':')} {'row pointers' if loops.has_row_pointers else ''}")
    return draft.kernel(description, (loops.rows // block_rows,), loops.warps, draft.one_of(1, 2, 3), C=loops.columns)


def choose(draft):
    block_rows, block_columns = draft.until(
        lambda m, n: LEAST <= m * n <= MOST,
        lambda: (draft.one_of(1, 1, 1, 4, 8, 16, 32), draft.one_of(32, 64, 128, 256, 512, 1024, 2048)))
    elements = block_rows * block_columns
    warps, = draft.until(lambda warps: 1 <= elements / LANES / warps <= MOST_OF_A_THREAD,
                         lambda: (draft.one_of(1, 2, 4, 4, 8),))
    dtype = draft.one_of("f32", "bf16", "f16")
    trips, left_out = draft.one_of(2, 4, 7, 16), draft.one_of(0, 0, 5, 8)
    columns = block_columns * draft.size(trips, min(trips, 3)) - left_out
    large = max(block_rows * PROGRAMS, ELEMENTS // columns) // block_rows * block_rows
    head, first = choose_head(draft, block_columns)
    return Loops(draft, block_rows, block_columns, warps, draft.size(large, 2 * block_rows), columns, dtype, head, first,
                 draft.chance(0.5))


def choose_head(draft, block_columns):
    """(head of the loop, first column of a trip)"""
    stages = draft.one_of(1, 2, 3)
    return draft.one_of((f"for c in range(0, C, {block_columns}):", "c"),
                        (f"for c in tl.range(0, C, {block_columns}, num_stages={stages}):", "c"),
                        (f"for j in range(0, tl.cdiv(C, {block_columns})):", f"j * {block_columns}"))


# --- sorts ----------------------------------------------------------------------------------------


def softmax(loops):
    loops.result_of_elements()
    if loops.draft.chance(0.5):
        loops.draft.add(f"most = {loops.row_value(MINUS_INFINITY)}", f"total = {loops.row_value('0.0')}")
        loops.loop(f"a = {loops.load('x', MINUS_INFINITY)}", *online_softmax(loops))
    else:
        loops.draft.add(f"m = {loops.tile_of(MINUS_INFINITY)}")
        loops.loop(f"m = tl.maximum(m, {loops.load('x', MINUS_INFINITY)})")
        loops.draft.add(f"most = tl.max(m, {loops.axis})", f"s = {loops.tile_of('0.0')}")
        loops.loop(f"s += tl.exp({loops.load('x', MINUS_INFINITY)} - {loops.down('most')})")
        loops.draft.add(f"total = tl.sum(s, {loops.axis})")
    loops.loop_that_stores([f"a = {loops.load('x')}"], f"tl.exp(a - {loops.down('most')}) / {loops.down('total')}")


def online_softmax(loops):
    return [f"new = tl.maximum(most, tl.max(a, {loops.axis}))",
            f"total = total * tl.exp(most - new) + tl.sum(tl.exp(a - {loops.down('new')}), {loops.axis})", "most = new"]


def layer_norm(loops):
    draft = loops.draft
    loops.vector_of_weights(draft.one_of(loops.dtype, "f32"))
    loops.result_of_elements()
    (moments_in_one_loop if draft.chance(0.5) else moments_in_two_loops)(loops)
    loops.loop_that_stores([f"a = {loops.load('x')}"],
                           f"(a - {loops.down('mean')}) * {loops.down('scale')} * {loops.weights()}")


def moments_in_one_loop(loops):
    loops.draft.add(f"s = {loops.tile_of('0.0')}", f"q = {loops.tile_of('0.0')}")
    loops.loop(f"a = {loops.load('x')}", "s += a", "q += a * a")
    loops.draft.add(f"mean = tl.sum(s, {loops.axis}) / C",
                    f"scale = tl.rsqrt(tl.sum(q, {loops.axis}) / C - mean * mean + 1e-5)")


def moments_in_two_loops(loops):
    loops.draft.add(f"s = {loops.tile_of('0.0')}")
    loops.loop(f"s += {loops.load('x')}")
    loops.draft.add(f"mean = tl.sum(s, {loops.axis}) / C", f"q = {loops.tile_of('0.0')}")
    loops.loop(f"a = {loops.load('x')}",
               f"a = tl.where({loops.along('cols')} < C, a - {loops.down('mean')}, 0.0)", "q += a * a")
    loops.draft.add(f"scale = tl.rsqrt(tl.sum(q, {loops.axis}) / C + 1e-5)")


def reduction(loops):
    draft, axis = loops.draft, loops.axis
    loops.result_of_rows()
    if draft.chance(0.5):
        draft.add(f"s = {loops.tile_of('0.0')}")
        loops.loop(f"a = {loops.load('x')}",
                   draft.one_of("s += a * a", "s += tl.abs(a)", "s = tl.maximum(s, a)", "s += tl.exp(a)"))
        draft.add(f"tl.store(o + rows, tl.sum(s, {axis}))")
    else:
        draft.add(f"s = {loops.row_value('0.0')}")
        loops.loop(f"a = {loops.load('x')}",
                   draft.one_of(f"s += tl.sum(a * a, {axis})", f"s += tl.sum(a, {axis})",
                                f"s = tl.maximum(s, tl.max(a, {axis}))"))
        draft.add("tl.store(o + rows, s)")


def product_of_rows(loops):
    loops.second_matrix(loops.draft.one_of(loops.dtype, "f32"))
    loops.vector_of_weights(loops.dtype)
    loops.result_of_rows()
    if loops.has_row_pointers:
        loops.draft.add(f"y_row = y + {loops.down('rows')} * C")
    loops.draft.add(f"s = {loops.tile_of('0.0')}")
    loops.loop(f"a = {loops.load('x')}", f"b = {loops.load('y')}", f"s += a * b * {loops.weights()}")
    loops.draft.add(f"tl.store(o + rows, tl.sum(s, {loops.axis}))")


def running_sum(loops):
    loops.result_of_elements()
    loops.draft.add(f"before = {loops.row_value('0.0')}")
    loops.loop_that_stores([f"a = {loops.load('x')}", f"sums = tl.cumsum(a, {loops.axis}) + {loops.down('before')}",
                            f"before += tl.sum(a, {loops.axis})"], "sums")


def place_of_maximum(loops):
    loops.draft.has_jumps = True
    loops.result_of_rows("o", "i32")
    loops.result_of_rows("o2", "f32")
    loops.draft.add(f"best = {loops.row_value(VERY_SMALL)}", f"at = {loops.row_value('0', 'tl.int32')}")
    loops.loop(f"a = {loops.load('x', VERY_SMALL)}", f"value, index = tl.max(a, {loops.axis}, return_indices=True)",
               f"at = tl.where(value > best, index + {loops.first}, at)", "best = tl.maximum(best, value)")
    loops.draft.add("tl.store(o + rows, at)", "tl.store(o2 + rows, best)")


def cross_entropy(loops):
    loops.draft.tensor("t", (loops.rows,), "i64", "places", below=loops.columns)
    loops.result_of_rows()
    loops.draft.add("label = tl.load(t + rows)", f"most = {loops.row_value(VERY_SMALL)}",
                    f"total = {loops.row_value('0.0')}", f"chosen = {loops.row_value('0.0')}")
    is_label = f"{loops.along('cols')} == {loops.down('label')}"
    loops.loop(f"a = {loops.load('x', VERY_SMALL)}", *online_softmax(loops),
               f"chosen += tl.sum(tl.where({is_label}, a, 0.0), {loops.axis})")
    loops.draft.add("tl.store(o + rows, most + tl.log(total) - chosen)")


def each_element(loops):
    loops.vector_of_weights(loops.dtype)
    loops.result_of_elements()
    value = loops.draft.one_of("a * g", "a * tl.sigmoid(a) + g", "tl.exp(a) * g")
    loops.loop_that_stores([f"a = {loops.load('x')}", f"g = {loops.weights()}"], value)


def write_sums_of_columns(draft, warps, dtype):
    m, n = draft.until(lambda m, n: LANES * warps <= m * n <= MOST,
                       lambda: (draft.one_of(1, 4, 16, 32, 64), draft.one_of(32, 64, 128, 256, 512)))
    columns = n * draft.size(PROGRAMS, 2)
    rows = draft.size(max(m * 4, ELEMENTS // columns // m * m), 3 * m)
    draft.tensor("x", (rows, columns), dtype)
    draft.result("o", (columns,), "f32")
    is_tile, value = draft.chance(0.5), draft.weighted({"a": 2, "a * a": 1})
    shape = f"({m}, {n})" if is_tile else f"({n},)"
    draft.add(f"cols = tl.program_id(0) * {n} + tl.arange(0, {n})", f"s = tl.zeros({shape}, tl.float32)")
    with draft.block(f"for i in range(0, R, {m}):"):
        draft.add(f"rows = i + tl.arange(0, {m})",
                  f"a = tl.load(x + rows[:, None] * {columns} + cols[None, :]).to(tl.float32)",
                  f"s += {value}" if is_tile else f"s += tl.sum({value}, axis=0)")
    draft.add("tl.store(o + cols, tl.sum(s, axis=0))" if is_tile else "tl.store(o + cols, s)")
    how = "as a tile" if is_tile else "each trip"
    return draft.kernel(f"sums of columns {m}x{n} {dtype} of {value} {how} {rows}x{columns}",
                        (columns // n,), warps, 3, R=rows)


SORTS = {"softmax": (softmax, 2), "layer norm": (layer_norm, 3), "reduction": (reduction, 2),
         "product of rows": (product_of_rows, 2), "running sum": (running_sum, 1.5),
         "place of the maximum": (place_of_maximum, 1.5), "cross entropy": (cross_entropy, 1.5),
         "each element": (each_element, 1), "sums of columns": (None, 2)}
