"""Rows of segments, whose ends a table has: reductions, a softmax, attention over sequences in one tensor, sparse rows.

A segment may be empty. The loop over its rows has bounds that are loaded.
"""
from .attention import online_softmax
from .kernel import LANES

ROWS = 1 << 15
BYTES = 1 << 25


def write(draft):
    write_sort = draft.weighted({write_reduction: 3, write_softmax: 2, write_sparse: 3, write_attention: 3, write_products: 1.5})
    return write_sort(draft)


def choose_tile(draft, most=64):
    """(rows, columns, warps)"""
    return draft.until(lambda rows, columns, warps: 1 <= rows * columns / LANES / warps <= most,
                       lambda: (draft.one_of(1, 4, 8, 16, 32, 64, 128), draft.one_of(16, 32, 64, 128, 256), draft.one_of(1, 2, 4, 4, 8)))


def write_bounds(draft, segments, rows, index):
    draft.tensor("ends", (segments + 1,), index, "ends", below=rows)
    draft.add("segment = tl.program_id(0)", "first = tl.load(ends + segment)", "last = tl.load(ends + segment + 1)")


def write_reduction(draft):
    m, n, warps = choose_tile(draft)
    columns, segments = n * draft.one_of(1, 2, 4), draft.size(2048, 5)
    rows = draft.size(BYTES // columns // 4, 20 * m if m < 16 else 80)
    dtype, index = draft.one_of("f32", "bf16", "f16"), draft.one_of("i32", "i64")
    sort, is_tile = draft.one_of("sum", "mean", "max", "weighted sum", "norm"), draft.chance(0.5)
    draft.tensor("x", (rows, columns), dtype)
    write_bounds(draft, segments, rows, index)
    if sort == "weighted sum":
        draft.tensor("w", (rows,), draft.one_of("f32", dtype))
    draft.result("o", (segments, columns), "f32")
    neutral, shape = ("-30000.0", f"({m}, {n})" if is_tile else f"({n},)") if sort == "max" else ("0.0", f"({m}, {n})" if is_tile else f"({n},)")
    draft.add(f"column = tl.program_id(1) * {n} + tl.arange(0, {n})", f"s = tl.full({shape}, {neutral}, tl.float32)")
    with draft.block(f"for i in range(first, last, {m}):"):
        draft.add(f"row = i + tl.arange(0, {m})", f"is_inside = (row < last)[:, None]{draft.one_of('', f' & (column < {columns})[None, :]')}",
                  f"a = tl.load(x + row[:, None] * {columns} + column[None, :], mask=is_inside, other={neutral}).to(tl.float32)")
        if sort == "weighted sum":
            draft.add("a = a * tl.load(w + row, mask=row < last, other=0.0)[:, None].to(tl.float32)")
        value = "a * a" if sort == "norm" else "a"
        if sort == "max":
            draft.add(f"s = tl.maximum(s, {'a' if is_tile else 'tl.max(a, 0)'})")
        else:
            draft.add(f"s += {value if is_tile else f'tl.sum({value}, 0)'}")
    end = "s" if not is_tile else "tl.max(s, 0)" if sort == "max" else "tl.sum(s, 0)"
    if sort == "mean":
        end = f"{end} / tl.maximum(last - first, 1)"
    elif sort == "norm":
        end = f"tl.sqrt({end})"
    draft.add(f"tl.store(o + segment * {columns} + column, {end})")
    return draft.kernel(f"{sort} {m}x{n} {dtype} {'as a tile' if is_tile else 'each trip'} {segments} segments of {rows}x{columns} {index}",
                        (segments, columns // n), warps, draft.one_of(1, 2, 3), R=rows)


def write_softmax(draft):
    m, n, warps = choose_tile(draft)
    columns, segments = n, draft.size(2048, 5)
    rows = draft.size(BYTES // columns // 4, 80)
    dtype = draft.one_of("f32", "bf16")
    draft.tensor("x", (rows, columns), dtype)
    write_bounds(draft, segments, rows, "i32")
    draft.result("o", (rows, columns), dtype)
    draft.add(f"column = tl.arange(0, {n})", f"most = tl.full(({n},), -1e30, tl.float32)", f"total = tl.zeros(({n},), tl.float32)")
    load = f"tl.load(x + row[:, None] * {columns} + column[None, :], mask=(row < last)[:, None], other=-1e30).to(tl.float32)"
    with draft.block(f"for i in range(first, last, {m}):"):
        draft.add(f"row = i + tl.arange(0, {m})", f"a = {load}", "new = tl.maximum(most, tl.max(a, 0))",
                  "total = total * tl.exp(most - new) + tl.sum(tl.exp(a - new[None, :]), 0)", "most = new")
    with draft.block(f"for i in range(first, last, {m}):"):
        draft.add(f"row = i + tl.arange(0, {m})", f"a = tl.exp({load} - most[None, :]) / total[None, :]",
                  f"tl.store(o + row[:, None] * {columns} + column[None, :], a.to(o.dtype.element_ty), mask=(row < last)[:, None])")
    return draft.kernel(f"softmax {m}x{n} {dtype} {segments} segments of {rows}", (segments,), warps, draft.one_of(1, 2, 3), R=rows)


def write_sparse(draft):
    """A sparse matrix times a dense one: of each row its places and values, one by one or some at once."""
    m, n, warps = choose_tile(draft)
    columns, segments = n * draft.one_of(1, 2), draft.size(8192, 6)
    rows, known = draft.size(1 << 17, 80), draft.size(20000, 50)
    dtype, index = draft.one_of("f32", "bf16", "f16"), draft.one_of("i32", "i64")
    draft.tensor("x", (known, columns), dtype)
    write_bounds(draft, segments, rows, index)
    draft.tensor("places", (rows,), index, "places", below=known)
    has_values = draft.chance(0.7)
    if has_values:
        draft.tensor("w", (rows,), dtype)
    draft.result("o", (segments, columns), dtype)
    is_single, is_tile = m == 1, m > 1 and draft.chance(0.3)
    shape = f"({m}, {n})" if is_tile else f"({n},)"
    draft.add(f"column = tl.program_id(1) * {n} + tl.arange(0, {n})", f"s = tl.zeros({shape}, tl.float32)")
    with draft.block(f"for i in range(first, last, {m}):" if not is_single else "for i in range(first, last):"):
        if is_single:
            draft.add(f"a = tl.load(x + tl.load(places + i) * {columns} + column).to(tl.float32)")
            draft.add("s += a * tl.load(w + i).to(tl.float32)" if has_values else "s += a")
        else:
            draft.add(f"row = i + tl.arange(0, {m})", "place = tl.load(places + row, mask=row < last, other=0)",
                      f"a = tl.load(x + place[:, None] * {columns} + column[None, :], mask=(row < last)[:, None], other=0.0).to(tl.float32)")
            if has_values:
                draft.add("a = a * tl.load(w + row, mask=row < last, other=0.0).to(tl.float32)[:, None]")
            draft.add("s += a" if is_tile else "s += tl.sum(a, 0)")
    draft.add(f"tl.store(o + segment * {columns} + column, {'tl.sum(s, 0)' if is_tile else 's'}.to(o.dtype.element_ty))")
    return draft.kernel(f"sparse rows {m}x{n} {dtype} {index} {'values' if has_values else ''} {segments} of {rows}x{columns}",
                        (segments, columns // n), warps, draft.one_of(1, 2, 3), R=rows)


def write_attention(draft):
    queries, keys, head, warps = draft.until(
        lambda m, n, head, warps: m * (head + n) / LANES / warps <= 200 and m >= 8 * warps,
        lambda: (draft.one_of(16, 32, 64, 128), draft.one_of(16, 32, 64, 64, 128), draft.one_of(32, 64, 64, 128), draft.one_of(2, 4, 4, 8)))
    segments, heads, dtype = draft.size(16, 3), draft.size(8, 2), draft.one_of("f16", "bf16")
    rows, is_causal = draft.size(ROWS // 2, 70), draft.chance(0.5)
    blocks = draft.size(-(-rows // 4 // queries), -(-rows // queries))
    for name in "qkv":
        draft.tensor(name, (rows, heads, head), dtype)
    draft.result("o", (rows, heads, head), dtype)
    write_bounds(draft, segments, rows, "i32")
    draft.add("block = tl.program_id(1)", "h = tl.program_id(2)", "length = last - first")
    with draft.block(f"if block * {queries} >= length:"):
        draft.add("return")
    at = f"(first + {{row}}) * {heads * head} + h * {head}"
    draft.add(f"row = block * {queries} + tl.arange(0, {queries})", f"step = tl.arange(0, {keys})", f"place = tl.arange(0, {head})",
              f"qq = tl.load(q + {at.format(row='row[:, None]')} + place[None, :], mask=(row < length)[:, None], other=0.0)",
              f"most = tl.full(({queries},), -1e30, tl.float32)", f"total = tl.zeros(({queries},), tl.float32)",
              f"acc = tl.zeros(({queries}, {head}), tl.float32)")
    end = f"tl.minimum((block + 1) * {queries}, length)" if is_causal else "length"
    with draft.block(f"for s in range(0, {end}, {keys}):"):
        draft.add("key = s + step")
        if draft.chance(0.5):
            draft.add(f"kk = tl.load(k + {at.format(row='key[None, :]')} + place[:, None], mask=(key < length)[None, :], other=0.0)")
        else:
            draft.add(f"kk = tl.trans(tl.load(k + {at.format(row='key[:, None]')} + place[None, :], mask=(key < length)[:, None], other=0.0))")
        known = "(key < length)[None, :]" + (" & (row[:, None] >= key[None, :])" if is_causal else "")
        draft.add(f"vv = tl.load(v + {at.format(row='key[:, None]')} + place[None, :], mask=(key < length)[:, None], other=0.0)",
                  f"p = tl.where({known}, tl.dot(qq, kk) * {head**-0.5 * 1.4427:.4g}, -1e30)", *online_softmax("tl.exp2"))
    draft.add(f"tl.store(o + {at.format(row='row[:, None]')} + place[None, :], (acc / total[:, None]).to(o.dtype.element_ty), mask=(row < length)[:, None])")
    return draft.kernel(f"attention {'causal' if is_causal else ''} {dtype} {queries}x{keys} head {head} {segments} sequences of {rows} heads {heads}",
                        (segments, blocks, heads), warps, draft.one_of(1, 2, 3), R=rows)


def write_products(draft):
    """Products of the rows of a segment with a matrix of its own."""
    m, n, k, warps = draft.until(lambda m, n, k, warps: 4 <= m * n / LANES / warps <= 64,
                                 lambda: (draft.one_of(16, 32, 64), draft.one_of(16, 32, 64, 128), draft.one_of(16, 32, 64), draft.one_of(1, 2, 4)))
    segments, rows, depth = draft.size(256, 4), draft.size(ROWS, 70), k * draft.size(draft.one_of(1, 4), 2)
    columns, dtype = n * draft.one_of(1, 2), draft.one_of("f16", "bf16")
    draft.tensor("x", (rows, depth), dtype)
    draft.tensor("y", (segments, depth, columns), dtype)
    draft.result("o", (rows, columns), dtype)
    write_bounds(draft, segments, rows, "i64")
    draft.add(f"column = tl.program_id(1) * {n} + tl.arange(0, {n})", f"depth = tl.arange(0, {k})")
    with draft.block(f"for i in range(first, last, {m}):"):
        draft.add(f"row = i + tl.arange(0, {m})", f"acc = tl.zeros(({m}, {n}), tl.float32)")
        with draft.block(f"for k0 in range(0, {depth}, {k}):"):
            draft.add(f"a = tl.load(x + row[:, None] * {depth} + (k0 + depth)[None, :], mask=(row < last)[:, None], other=0.0)",
                      f"b = tl.load(y + segment * {depth * columns} + (k0 + depth)[:, None] * {columns} + column[None, :])", "acc += tl.dot(a, b)")
        draft.add(f"tl.store(o + row[:, None] * {columns} + column[None, :], acc.to(o.dtype.element_ty), mask=(row < last)[:, None])")
    return draft.kernel(f"products {m}x{n}x{k} {dtype} {segments} segments of {rows}x{columns}x{depth}", (segments, columns // n), warps,
                        draft.one_of(1, 2, 3), R=rows)
