"""Kernels over whole rows: a tile of rows is loaded and goes through one to five steps in f32, some of which store a result.

Ragged ones have fewer columns than the tile, under a mask.
"""
from dataclasses import dataclass

from .kernel import BYTES, LANES, Draft

MOST, LEAST = 16384, 256    # elements of a tile
MOST_OF_A_THREAD = 128
BYTES_IN_ALL = 32 << 20
PROGRAMS = 132 * 4          # at least: four on each multiprocessor


@dataclass
class Rows:
    draft: Draft
    block_rows: int
    block_columns: int
    rows: int
    columns: int
    dtype: str
    result_dtype: str
    is_ragged: bool
    elements_a_thread: int
    at: str = "rows[:, None] * C + cols[None, :]"

    def mask(self, other="", index="cols[None, :]"):
        """The rest of the arguments of a load or store."""
        return f", mask={index} < C" + (f", other={other}" if other else "") if self.is_ragged else ""

    def load(self, name, at=None):
        return f"tl.load({name} + {at or self.at}{self.mask('0.0')}).to(tl.float32)"


def write(draft):
    tile = choose_tile(draft)
    block_rows, block_columns, warps = tile
    dtype = draft.one_of("f32", "f32", "bf16", "f16", "bf16")
    result_dtype = draft.one_of(dtype, dtype, "f32", "bf16")
    is_ragged = draft.chance(0.4)
    left_out = draft.one_of(1, 3, 8, block_columns // 4)
    columns = block_columns - left_out if is_ragged else block_columns
    large = max(block_rows * PROGRAMS, BYTES_IN_ALL // block_columns // BYTES[dtype]) // block_rows * block_rows
    count = draft.size(large, 2 * block_rows)
    rows = Rows(draft, block_rows, block_columns, count, columns, dtype, result_dtype, is_ragged,
                block_rows * block_columns // (LANES * warps))
    names = write_steps(rows)
    description = (f"{block_rows}x{block_columns} {dtype}->{result_dtype} {'ragged' if is_ragged else ''} "
                   f"{' '.join(names)}")
    return draft.kernel(description, (count // block_rows,), warps, draft.one_of(1, 3), C=columns)


def choose_tile(draft):
    """(rows, columns, warps)"""
    block_rows, block_columns = draft.until(
        lambda m, n: LEAST <= m * n <= MOST,
        lambda: (draft.one_of(1, 1, 2, 4, 8, 16, 32, 64, 128), draft.one_of(16, 32, 64, 128, 256, 512, 1024, 2048, 4096)))
    elements = block_rows * block_columns
    warps, = draft.until(lambda warps: 1 <= elements / (LANES * warps) <= MOST_OF_A_THREAD,
                         lambda: (draft.one_of(1, 2, 4, 4, 8),))
    return block_rows, block_columns, warps


def write_steps(rows):
    draft = rows.draft
    draft.tensor("x", (rows.rows, rows.columns), rows.dtype)
    draft.add(f"rows = tl.program_id(0) * {rows.block_rows} + tl.arange(0, {rows.block_rows})",
              f"cols = tl.arange(0, {rows.block_columns})", f"a = {rows.load('x')}")
    names = []
    for number in range(draft.choices.randint(1, 5)):
        name = draft.weighted({name: weight for name, (_, weight) in STEPS.items()})
        STEPS[name][0](rows, number)
        names.append(name)
    is_stored = any(tensor.is_output for tensor in draft.tensors)
    if draft.chance(0.85) or not is_stored:
        draft.result("o", (rows.rows, rows.columns), rows.result_dtype)
        draft.add(f"tl.store(o + {rows.at}, a{rows.mask()})")
    return names


# --- steps: (rows, number of the step, for names) -----------------------------------------------

SMOOTH = ["tl.exp(tl.minimum(a * 0.1, 10.0))", "tl.sigmoid(a)", "a * tl.sigmoid(a)", "tl.maximum(a, 0.0)", "a * a", "tl.abs(a)",
          "tl.log(tl.abs(a) + 1.0)", "tl.sqrt(tl.abs(a))", "tl.where(a > 0, a, 0.01 * a)", "tl.clamp(a, -1.0, 1.0)",
          "tl.math.erf(a)", "2.0 * tl.sigmoid(2.0 * a) - 1.0", "tl.cos(a)", "tl.math.rsqrt(a * a + 1.0)"]
WITH_JUMPS = ["a.to(tl.bfloat16).to(tl.float32)", "tl.floor(a * 4.0) * 0.25"]


def apply_function(rows, number):
    chosen = rows.draft.one_of(*SMOOTH, *WITH_JUMPS)
    rows.draft.has_jumps |= chosen in WITH_JUMPS
    rows.draft.add(f"a = {chosen}")


def reduce_rows(rows, number):
    draft = rows.draft
    reduction = draft.one_of("tl.sum(a, axis=1)", "tl.max(a, axis=1)", "tl.sum(a * a, axis=1)", "tl.min(a, axis=1)",
                             "tl.sum(tl.abs(a), 1)")
    draft.add(f"r{number} = {reduction}")
    use = draft.weighted({"subtracted": 5, "stored": 3, "divided by": 2})
    if use == "subtracted":
        draft.add(f"a = a - r{number}[:, None] * {1.0 / rows.block_columns}")
    elif use == "stored":
        draft.result(f"q{number}", (rows.rows,), "f32")
        draft.add(f"tl.store(q{number} + rows, r{number})")
    else:
        draft.add(f"a = a / (tl.abs(r{number})[:, None] + 1e-3)")


def reduce_columns(rows, number):
    rows.draft.result(f"q{number}", (rows.rows // rows.block_rows, rows.columns), "f32")
    rows.draft.add(f"tl.store(q{number} + tl.program_id(0) * C + cols, tl.sum(a, axis=0){rows.mask(index='cols')})")


def combine_with_vector_of_columns(rows, number):
    draft = rows.draft
    draft.tensor(f"v{number}", (rows.columns,), draft.one_of(rows.dtype, "f32"))
    draft.add(f"column{number} = tl.load(v{number} + cols{rows.mask('0.0', index='cols')}).to(tl.float32)",
              f"a = a {draft.one_of('*', '+')} column{number}[None, :]")


def combine_with_vector_of_rows(rows, number):
    draft = rows.draft
    draft.tensor(f"u{number}", (rows.rows,), draft.one_of(rows.dtype, "f32"))
    draft.add(f"row{number} = tl.load(u{number} + rows).to(tl.float32)",
              f"a = a {draft.one_of('*', '+')} row{number}[:, None]")


def combine_with_tile(rows, number):
    draft = rows.draft
    draft.tensor(f"y{number}", (rows.rows, rows.columns), draft.one_of(rows.dtype, "f32", "bf16"))
    draft.add(f"a = a {draft.one_of('*', '+', '-')} {rows.load(f'y{number}')}")


def scan(rows, number):
    axis = rows.draft.one_of(0, 1, 1)
    reverse = "" if rows.draft.chance(0.7) else ", reverse=True"
    rows.draft.add(f"a = tl.cumsum(a, axis={axis}{reverse}) * 0.1")


def sort(rows, number):
    if rows.block_columns <= 1024 and rows.elements_a_thread <= 32:
        rows.draft.add("a = tl.sort(a, dim=1)")


def normalize(rows, number):
    rows.draft.one_of(softmax, layer_norm, rms_norm, l2_norm)(rows)


def softmax(rows):
    if rows.is_ragged:
        rows.draft.add("a = tl.where(cols[None, :] < C, a, float('-inf'))")
    rows.draft.add("a = a - tl.max(a, axis=1)[:, None]", "e = tl.exp(a)", "a = e / tl.sum(e, axis=1)[:, None]")


def layer_norm(rows):
    centered = "a - mean[:, None]"
    if rows.is_ragged:
        centered = f"tl.where(cols[None, :] < C, {centered}, 0.0)"
    rows.draft.add("mean = tl.sum(a, axis=1) / C", f"d = {centered}",
                   "a = d * tl.rsqrt(tl.sum(d * d, axis=1) / C + 1e-5)[:, None]")


def rms_norm(rows):
    rows.draft.add("a = a * tl.rsqrt(tl.sum(a * a, axis=1) / C + 1e-5)[:, None]")


def l2_norm(rows):
    rows.draft.add("a = a / tl.sqrt(tl.sum(a * a, axis=1, keep_dims=True) + 1e-6)")


def choose_elements(rows, number):
    draft = rows.draft
    condition = draft.one_of("(rows[:, None] + cols[None, :]) % 2 == 0",
                             f"cols[None, :] >= rows[:, None] % {rows.block_columns}", "a > 0.5", "cols[None, :] % 3 == 0")
    draft.has_jumps |= condition == "a > 0.5"
    draft.add(f"a = tl.where({condition}, a, {draft.one_of('0.0', '-a', 'a * 0.5')})")


def place_of_extremum(rows, number):
    draft = rows.draft
    draft.has_jumps = True
    draft.result(f"q{number}", (rows.rows,), "i32")
    draft.add(f"tl.store(q{number} + rows, {draft.one_of('tl.argmax(a, axis=1)', 'tl.argmin(a, axis=1)')})")


def quantize(rows, number):
    """Rows of bytes, and their scales."""
    draft = rows.draft
    draft.has_jumps = True
    draft.result(f"q{number}", (rows.rows,), "f32")
    draft.result(f"bytes{number}", (rows.rows, rows.columns), "i8")
    draft.add("scale = tl.max(tl.abs(a), axis=1) / 127.0 + 1e-9", f"tl.store(q{number} + rows, scale)",
              f"tl.store(bytes{number} + {rows.at}, tl.floor(a / scale[:, None] + 0.5).to(tl.int8){rows.mask()})")


def turn_pairs(rows, number):
    if rows.block_columns >= 32:
        m, n = rows.block_rows, rows.block_columns
        turned = rows.draft.one_of("right, left", "left + right, left - right",
                                   "left * 0.6 - right * 0.8, left * 0.8 + right * 0.6")
        rows.draft.add(f"left, right = tl.split(tl.reshape(a, ({m}, {n // 2}, 2)))", f"left, right = {turned}",
                       f"a = tl.reshape(tl.join(left, right), ({m}, {n}))")


def scale_groups(rows, number):
    m, n = rows.block_rows, rows.block_columns
    if n >= 64:
        group = rows.draft.one_of(16, 32, n // 2) if n > 64 else 16
        rows.draft.add(f"g = tl.reshape(a, ({m}, {n // group}, {group}))",
                       f"g = g {rows.draft.one_of('/', '-')} (tl.max(tl.abs(g), axis=2, keep_dims=True) + 1e-6)",
                       f"a = tl.reshape(g, ({m}, {n}))")


def rotate_halves(rows, number):
    """As rotary embeddings do."""
    n = rows.block_columns
    if n >= 32:
        rows.draft.tensor(f"y{number}", (rows.rows, rows.columns), rows.dtype)
        mask = rows.mask("0.0", index="turned[None, :]")
        rows.draft.add(f"turned = (cols + {n // 2}) % {n}",
                       f"y = tl.load(y{number} + rows[:, None] * C + turned[None, :]{mask}).to(tl.float32)",
                       f"a = a + tl.where(cols[None, :] < {n // 2}, -y, y)")


def store_transposed(rows, number):
    rows.draft.result(f"q{number}", (rows.columns, rows.rows), rows.result_dtype)
    rows.draft.add(f"tl.store(q{number} + cols[None, :] * {rows.rows} + rows[:, None], a{rows.mask()})")


def gather(rows, number):
    m, n = rows.block_rows, rows.block_columns
    rows.draft.add(f"a = tl.gather(a, tl.broadcast_to(((cols * 7 + 3) % {n})[None, :], ({m}, {n})), axis=1)")


STEPS = {"function": (apply_function, 3), "reduced rows": (reduce_rows, 4), "reduced columns": (reduce_columns, 1.5),
         "vector of columns": (combine_with_vector_of_columns, 2), "vector of rows": (combine_with_vector_of_rows, 2),
         "second tile": (combine_with_tile, 2), "scan": (scan, 1), "sort": (sort, 0.5), "norm": (normalize, 2),
         "where": (choose_elements, 1), "place": (place_of_extremum, 1), "bytes": (quantize, 1), "pairs": (turn_pairs, 1),
         "groups": (scale_groups, 1), "rotary": (rotate_halves, 0.7), "transposed": (store_transposed, 0.5),
         "gather": (gather, 0.4)}
