"""Kernels about order: the largest elements of rows, sorts, ranks, running sums and recurrences by scans, searches, counts of bins.

Elements that are equal may come in any order, so that places of them are compared with care (`has_jumps`).
"""
from .kernel import LANES

ELEMENTS = 1 << 22


def write(draft):
    write_sort = draft.weighted({write_largest: 3, write_sorted: 2, write_ranks: 1.5, write_running: 3, write_recurrence: 2, write_search: 2,
                                 write_bins: 1.5, write_marks: 1.5})
    return write_sort(draft)


def choose_tile(draft, most=32):
    """(rows, columns, warps)"""
    return draft.until(lambda rows, columns, warps: 1 <= rows * columns / LANES / warps <= most,
                       lambda: (draft.one_of(1, 1, 2, 4, 16), draft.one_of(32, 64, 128, 256, 512, 1024, 2048), draft.one_of(1, 2, 4, 4, 8)))


def add_matrix(draft, m, n):
    """Rows of a program; (rows in all, columns, the type)."""
    columns, dtype = n - draft.one_of(0, 0, 1, n // 4), draft.one_of("f32", "f32", "bf16", "f16")
    rows = m * draft.size(max(256, ELEMENTS // columns // m), 3)
    draft.tensor("x", (rows, columns), dtype)
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", f"column = tl.arange(0, {n})",
              "a = tl.load(x + row[:, None] * C + column[None, :], mask=column[None, :] < C, other=-60000.0).to(tl.float32)")  # which f16 has, too
    return rows, columns, dtype


def write_largest(draft):
    """Of each row the largest elements and their places, one behind the other, as routers of experts choose."""
    m, n, warps = choose_tile(draft, 16)
    rows, columns, dtype = add_matrix(draft, m, n)
    count, has_weights = draft.one_of(1, 2, 4, 8), draft.chance(0.5)
    draft.has_jumps = True
    draft.result("o", (rows, count), "f32")
    draft.result("places", (rows, count), "i32")
    if has_weights:
        draft.add("a = tl.exp(a - tl.max(a, 1)[:, None])", "a = a / tl.sum(a, 1)[:, None]")
    with draft.block(f"for i in {draft.one_of('range', 'tl.static_range')}({count}):"):
        draft.add(*draft.one_of(("value, place = tl.max(a, 1, return_indices=True)",), ("value = tl.max(a, 1)", "place = tl.argmax(a, 1)")),
                  f"tl.store(o + row * {count} + i, value)", f"tl.store(places + row * {count} + i, place)",
                  "a = tl.where(column[None, :] == place[:, None], -1e30, a)")
    return draft.kernel(f"largest {count} of {m}x{n} {dtype} {columns} columns {'weights' if has_weights else ''}", (rows // m,), warps, 2, C=columns)


def write_sorted(draft):
    m, n, warps = choose_tile(draft, 16)
    rows, columns, dtype = add_matrix(draft, m, n)
    if draft.chance(0.4):
        count = min(n, draft.one_of(4, 16, 32))
        draft.result("o", (rows, count), "f32")
        draft.add(f"tl.store(o + row[:, None] * {count} + tl.arange(0, {count})[None, :], tl.topk(a, {count}))")
        return draft.kernel(f"top {count} of {m}x{n} {dtype} {columns} columns", (rows // m,), warps, 2, C=columns)
    draft.result("o", (rows, n), "f32")
    draft.add(f"tl.store(o + row[:, None] * {n} + column[None, :], tl.sort(a, descending={draft.one_of(True, False)}))")
    return draft.kernel(f"sorted {m}x{n} {dtype} {columns} columns", (rows // m,), warps, 2, C=columns)


def write_ranks(draft):
    """The place of each element in its row's order, by comparing each with all."""
    n, block, warps = draft.until(lambda n, block, warps: block <= n and 1 <= n * block / LANES / warps <= 64,
                                  lambda: (draft.one_of(32, 64, 128, 256), draft.one_of(16, 32, 64, 128), draft.one_of(1, 2, 4, 8)))
    rows, dtype = draft.size(4096, 3), draft.one_of("f32", "f16")
    draft.tensor("x", (rows, n), dtype)
    draft.result("o", (rows, n), "i32")
    draft.add("row = tl.program_id(0)", f"i = tl.arange(0, {n})", "a = tl.load(x + row * C + i)", f"rank = tl.zeros(({n},), tl.int32)")
    with draft.block(f"for s in range(0, C, {block}):"):
        draft.add(f"j = s + tl.arange(0, {block})", "b = tl.load(x + row * C + j)",
                  "is_before = (b[None, :] < a[:, None]) | ((b[None, :] == a[:, None]) & (j[None, :] < i[:, None]))",
                  "rank += tl.sum(is_before.to(tl.int32), 1)")
    draft.add("tl.store(o + row * C + i, rank)")
    return draft.kernel(f"ranks {n} by {block} {dtype} {rows} rows", (rows,), warps, 2, C=n)


def write_running(draft):
    """Running sums, products or maxima along rows, chunk by chunk, or along columns of a tile."""
    m, n, warps = choose_tile(draft)
    chunks, dtype, sort = draft.one_of(1, 2, 5), draft.one_of("f32", "bf16", "i32"), draft.one_of("sum", "sum", "maximum")
    columns, reverse = n * chunks, draft.chance(0.25)
    rows = m * draft.size(max(128, ELEMENTS // columns // m), 3)
    draft.tensor("x", (rows, columns), dtype)
    draft.result("o", (rows, columns), "i32" if dtype == "i32" else "f32")
    kind, start = ("tl.int32", "-1000") if dtype == "i32" else ("tl.float32", "-1e30")
    draft.helper("def larger(a, b):", "    return tl.maximum(a, b)")
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})",
              f"carried = tl.full(({m},), {0 if sort == 'sum' else start}, {kind})")
    with draft.block(f"for s in range(0, C, {n}):"):
        first = f"(C - {n} - s)" if reverse else "s"
        draft.add(f"at = row[:, None] * C + ({first} + tl.arange(0, {n}))[None, :]", f"a = tl.load(x + at).to({kind})")
        if sort == "sum":
            draft.add(f"r = tl.cumsum(a, 1, reverse={reverse}) + carried[:, None]", "carried += tl.sum(a, 1)")
        else:
            draft.add(f"r = tl.maximum(tl.associative_scan(a, 1, larger, reverse={reverse}), carried[:, None])", "carried = tl.maximum(carried, tl.max(a, 1))")
        draft.add("tl.store(o + at, r)")
    return draft.kernel(f"running {sort} {m}x{n} {dtype} {columns} columns {'backwards' if reverse else ''}", (rows // m,), warps, draft.one_of(1, 2, 3), C=columns)


def write_recurrence(draft):
    """h = g h + x along time, by a scan of pairs in each chunk."""
    steps, n, warps = draft.until(lambda steps, n, warps: 1 <= steps * n / LANES / warps <= 32,
                                  lambda: (draft.one_of(16, 32, 64, 128, 256), draft.one_of(1, 4, 8, 16, 32, 64), draft.one_of(1, 2, 4, 8)))
    dtype, chunks, width = draft.one_of("f32", "bf16"), draft.size(draft.one_of(4, 8), 2), n * draft.size(max(1, 512 // n), 2)
    batches = draft.size(8, 1)
    for name in ("g", "x"):
        draft.tensor(name, (batches, steps * chunks, width), dtype)
    draft.result("o", (batches, steps * chunks, width), "f32")
    draft.helper("def follow(g, x, h, y):", "    return g * h, x * h + y")
    draft.add(f"column = tl.program_id(0) * {n} + tl.arange(0, {n})", f"step = tl.arange(0, {steps})", f"h = tl.zeros(({n},), tl.float32)")
    with draft.block("for c in range(chunks):"):
        draft.add(f"at = ((tl.program_id(1) * chunks + c) * {steps} + step)[:, None] * {width} + column[None, :]",
                  "gate = tl.sigmoid(tl.load(g + at).to(tl.float32))", "value = tl.load(x + at).to(tl.float32)",
                  "gates, values = tl.associative_scan((gate, value), 0, follow)", "values += gates * h[None, :]", "tl.store(o + at, values)",
                  f"h = tl.sum(tl.where((step == {steps - 1})[:, None], values, 0.0), 0)")
    return draft.kernel(f"recurrence {steps}x{n} {dtype} {chunks} chunks width {width}", (width // n, batches), warps, draft.one_of(1, 2, 3), chunks=chunks)


def write_search(draft):
    """Each element's place in a sorted table: halving, a fixed number of times or as long as needed."""
    block, warps = draft.until(lambda block, warps: 1 <= block / LANES / warps <= 16,
                               lambda: (draft.one_of(64, 128, 256, 512, 1024), draft.one_of(1, 2, 4, 8)))
    bits, count, index = draft.one_of(6, 10, 16), block * draft.size(4096, 3), draft.one_of("i32", "i64")
    table = 1 << bits
    draft.tensor("ends", (table,), index, "ends", below=1 << 20)
    draft.tensor("x", (count,), "i32", "places", below=1 << 20)
    draft.result("o", (count,), "i32")
    draft.add(f"i = tl.program_id(0) * {block} + tl.arange(0, {block})", "a = tl.load(x + i)", f"low = tl.zeros(({block},), tl.int32)",
              f"high = tl.full(({block},), {table}, tl.int32)")
    with draft.block(draft.one_of(f"for _ in range({bits + 1}):", f"for _ in tl.static_range({bits + 1}):", "while tl.max(high - low, 0) > 0:")):
        draft.add("middle = (low + high) // 2", "is_open = low < high", f"value = tl.load(ends + middle, mask=is_open, other={1 << 21})",
                  "is_right = is_open & (value <= a)", "low = tl.where(is_right, middle + 1, low)", "high = tl.where(is_open & (value > a), middle, high)")
    draft.add("tl.store(o + i, low)")
    return draft.kernel(f"search {block} in {table} {index}", (count // block,), warps, 2)


def write_bins(draft):
    block, warps = draft.until(lambda block, warps: 1 <= block / LANES / warps <= 32,
                               lambda: (draft.one_of(128, 512, 1024, 4096), draft.one_of(1, 4, 8)))
    bins, trips = draft.one_of(16, 64, 256, 1024), draft.one_of(1, 4)
    count = block * trips * draft.size(1024, 2)
    draft.tensor("x", (count,), "i32", "places", below=bins)
    draft.tensor("o", (bins,), "i32", "sums")
    draft.add(f"total = tl.zeros(({bins},), tl.int32)")
    with draft.block(f"for s in range({trips}):"):
        draft.add(f"i = (tl.program_id(0) * {trips} + s) * {block} + tl.arange(0, {block})", f"total += tl.histogram(tl.load(x + i), {bins})")
    draft.add(f"tl.atomic_add(o + tl.arange(0, {bins}), total)")
    return draft.kernel(f"bins {bins} of {block} {trips} trips", (count // block // trips,), warps, 2)


def write_marks(draft):
    """Elements that a condition keeps, side by side: places by a running count; and how many of each block."""
    block, warps = draft.until(lambda block, warps: 1 <= block / LANES / warps <= 32,
                               lambda: (draft.one_of(128, 256, 1024, 2048), draft.one_of(1, 2, 4, 8)))
    count, dtype = block * draft.size(2048, 3), draft.one_of("f32", "bf16", "i32")
    draft.tensor("x", (count,), dtype)
    draft.tensor("o", (count,), dtype, "sums")
    draft.result("counts", (count // block,), "i32")
    draft.add("pid = tl.program_id(0)", f"i = pid * {block} + tl.arange(0, {block})", "a = tl.load(x + i)", "is_kept = a > 0",
              "place = tl.cumsum(is_kept.to(tl.int32), 0) - 1", f"tl.store(o + pid * {block} + place, a, mask=is_kept)",
              "tl.store(counts + pid, tl.sum(is_kept.to(tl.int32), 0))")
    return draft.kernel(f"marks {block} {dtype}", (count // block,), warps, 2)
