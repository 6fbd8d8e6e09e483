"""Kernels of several products: layers in a row, factors of low rank, distances to centers, losses over a vocabulary, Gram matrices.

Results of a product go through functions and are factors of the next one, or are reduced and never stored.
"""
from .kernel import LANES

MOST_SHARED = 150000


def write(draft):
    write_sort = draft.weighted({write_layers: 3, write_low_rank: 3, write_nearest: 2, write_loss: 3, write_gram: 2, write_pair: 2})
    return write_sort(draft)


def choose_blocks(draft, inner, most=96):
    """(rows, columns, warps), of which a thread has some sums; `inner`: of the longest tile beside them."""
    return draft.until(lambda m, n, warps: 4 <= m * n / LANES / warps <= most and m * inner / LANES / warps <= 128 and (m + 2 * n) * inner * 2 <= MOST_SHARED,
                       lambda: (draft.one_of(16, 32, 64, 64, 128), draft.one_of(16, 32, 64, 128), draft.one_of(1, 2, 4, 4, 8)))


def activation(draft):
    return draft.one_of("tl.maximum(h, 0.0)", "h * tl.sigmoid(h)", "h * h", "h * 0.5 * (1.0 + tl.erf(h * 0.7071))")


def write_layers(draft):
    """o = f(x w1) w2 over blocks of hidden columns, x ahead of the loop."""
    width = draft.one_of(32, 64, 128)
    m, n, warps = choose_blocks(draft, width)
    dtype, hidden, rows = draft.one_of("f16", "bf16"), n * draft.size(draft.one_of(8, 16), 2), m * draft.size(256, 2)
    draft.tensor("x", (rows, width), dtype)
    draft.tensor("w1", (width, hidden) if (is_first := draft.chance(0.5)) else (hidden, width), dtype)
    draft.tensor("w2", (hidden, width), dtype)
    draft.result("o", (rows, width), draft.one_of(dtype, "f32"))
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", f"place = tl.arange(0, {width})", f"column = tl.arange(0, {n})",
              f"a = tl.load(x + row[:, None] * {width} + place[None, :])", f"acc = tl.zeros(({m}, {width}), tl.float32)")
    with draft.block(f"for s in range(0, H, {n}):"):
        draft.add(f"b = tl.load(w1 + place[:, None] * {hidden} + (s + column)[None, :])" if is_first
                  else f"b = tl.load(w1 + (s + column)[None, :] * {width} + place[:, None])",
                  f"c = tl.load(w2 + (s + column)[:, None] * {width} + place[None, :])", f"h = tl.dot(a, b) * {width ** -0.5:.4f}",
                  f"h = {activation(draft)}", draft.one_of("acc += tl.dot(h.to(c.dtype), c)", "acc = tl.dot(h.to(c.dtype), c, acc)"))
    draft.add(f"tl.store(o + row[:, None] * {width} + place[None, :], (acc * 0.1).to(o.dtype.element_ty))")
    return draft.kernel(f"layers {m}x{n} width {width} hidden {hidden} {dtype} {rows} rows", (rows // m,), warps, draft.one_of(1, 2, 3), H=hidden)


def write_low_rank(draft):
    """o = x w + (x a) b: both products in one loop, the second factor behind it."""
    rank, k = draft.one_of(16, 32, 64), draft.one_of(32, 64)
    m, n, warps = choose_blocks(draft, max(rank, k))
    dtype, depth = draft.one_of("f16", "bf16"), k * draft.size(draft.one_of(16, 32), 2)
    rows, columns = m * draft.size(1024 // m, 2), n * draft.size(2048 // n, 2)
    for name, shape in (("x", (rows, depth)), ("w", (columns, depth)), ("a", (depth, rank)), ("b", (rank, columns))):
        draft.tensor(name, shape, dtype)
    draft.result("o", (rows, columns), dtype)
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", f"column = tl.program_id(1) * {n} + tl.arange(0, {n})",
              f"r = tl.arange(0, {rank})", f"depth = tl.arange(0, {k})", f"acc = tl.zeros(({m}, {n}), tl.float32)",
              f"low = tl.zeros(({m}, {rank}), tl.float32)")
    with draft.block(f"for s in range(0, K, {k}):"):
        draft.add("xx = tl.load(x + row[:, None] * K + (s + depth)[None, :])", "ww = tl.load(w + column[None, :] * K + (s + depth)[:, None])",
                  f"aa = tl.load(a + (s + depth)[:, None] * {rank} + r[None, :])", "acc = tl.dot(xx, ww, acc)", "low = tl.dot(xx, aa, low)")
    draft.add(f"bb = tl.load(b + r[:, None] * {columns} + column[None, :])", f"acc = tl.dot((low * {depth ** -0.5:.4f}).to(bb.dtype), bb, acc)",
              f"tl.store(o + row[:, None] * {columns} + column[None, :], (acc * 0.1).to(o.dtype.element_ty))")
    return draft.kernel(f"low rank {m}x{n}x{k} rank {rank} {dtype} {rows}x{columns}x{depth}", (rows // m, columns // n), warps,
                        draft.one_of(1, 2, 3, 4), K=depth)


def write_nearest(draft):
    """The nearest of many centers: a product, squares, and a running minimum with its place."""
    width = draft.one_of(16, 32, 64, 128)
    m, n, warps = choose_blocks(draft, width)
    dtype, centers, rows = draft.one_of("f16", "bf16", "f32"), n * draft.size(16, 2), m * draft.size(256, 2)
    precise = ", input_precision=\"ieee\"" if dtype == "f32" and draft.chance(0.3) else ""
    draft.tensor("x", (rows, width), dtype)
    draft.tensor("centers", (centers, width), dtype)
    draft.result("distance", (rows,), "f32")
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", f"place = tl.arange(0, {width})", f"center = tl.arange(0, {n})",
              f"a = tl.load(x + row[:, None] * {width} + place[None, :])", "size = tl.sum(a.to(tl.float32) * a.to(tl.float32), 1)",
              f"least = tl.full(({m},), float('inf'), tl.float32)")
    has_place = draft.chance(0.5)
    if has_place:
        draft.has_jumps = True
        draft.result("nearest", (rows,), "i32")
        draft.add(f"at = tl.zeros(({m},), tl.int32)")
    with draft.block(f"for s in range(0, N, {n}):"):
        draft.add(f"c = tl.load(centers + (s + center)[:, None] * {width} + place[None, :])", "squares = tl.sum(c.to(tl.float32) * c.to(tl.float32), 1)",
                  f"d = size[:, None] - 2.0 * tl.dot(a, tl.trans(c){precise}) + squares[None, :]", "here = tl.min(d, 1)")
        if has_place:
            draft.add("at = tl.where(here < least, s + tl.argmin(d, 1), at)")
        draft.add("least = tl.minimum(least, here)")
    draft.add("tl.store(distance + row, least)", *(["tl.store(nearest + row, at)"] if has_place else []))
    return draft.kernel(f"nearest {m}x{n} width {width} {dtype} {rows} rows {centers} centers", (rows // m,), warps, draft.one_of(1, 2, 3), N=centers)


def write_loss(draft):
    """The logarithm of a sum over a vocabulary, of products that are never stored."""
    k = draft.one_of(32, 64)
    m, n, warps = choose_blocks(draft, k)
    dtype, depth = draft.one_of("f16", "bf16"), k * draft.size(draft.one_of(2, 8), 2)
    rows, words, parts = m * draft.size(2048 // m, 2), n * draft.size(4096 // n, 2), draft.size(2, 1)
    draft.tensor("x", (rows, depth), dtype)
    draft.tensor("w", (words, depth), dtype)
    draft.tensor("label", (rows,), "i64", "places", below=words)
    draft.result("sums", (parts, rows), "f32")
    draft.result("picked", (parts, rows), "f32")
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", "part = tl.program_id(1)", f"depth = tl.arange(0, {k})", "wanted = tl.load(label + row)",
              f"most = tl.full(({m},), float('-inf'), tl.float32)", f"total = tl.zeros(({m},), tl.float32)", f"mine = tl.zeros(({m},), tl.float32)")
    with draft.block(f"for first in range(part * {words // parts}, (part + 1) * {words // parts}, {n}):"):
        draft.add(f"word = first + tl.arange(0, {n})", f"acc = tl.zeros(({m}, {n}), tl.float32)")
        with draft.block(f"for s in range(0, K, {k}):"):
            draft.add("xx = tl.load(x + row[:, None] * K + (s + depth)[None, :])", "ww = tl.load(w + word[:, None] * K + (s + depth)[None, :])",
                      "acc = tl.dot(xx, ww.T, acc)")
        draft.add(f"acc *= {depth ** -0.5:.4f}", "mine += tl.sum(tl.where(word[None, :] == wanted[:, None], acc, 0.0), 1)",
                  "now = tl.maximum(most, tl.max(acc, 1))", "total = total * tl.exp(most - now) + tl.sum(tl.exp(acc - now[:, None]), 1)", "most = now")
    draft.add(f"tl.store(sums + part * {rows} + row, most + tl.log(total))", f"tl.store(picked + part * {rows} + row, mine)")
    return draft.kernel(f"loss {m}x{n}x{k} {dtype} {rows} rows {words} words depth {depth}", (rows // m, parts), warps, draft.one_of(1, 2, 3), K=depth)


def write_gram(draft):
    """o = xᵀ x, or xᵀ (g x), over rows, by parts that are added up."""
    k = draft.one_of(16, 32, 64)
    m, n, warps = choose_blocks(draft, k)
    dtype, columns = draft.one_of("f16", "bf16", "f32"), max(m, n) * draft.size(8, 2)
    rows, parts, is_scaled = k * draft.size(128, 4), draft.one_of(1, 2, 4), draft.chance(0.4)
    draft.tensor("x", (rows, columns), dtype)
    if is_scaled:
        draft.tensor("g", (rows,), "f32")
    draft.tensor("o", (columns, columns), "f32", "sums")
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", f"column = tl.program_id(1) * {n} + tl.arange(0, {n})", "part = tl.program_id(2)",
              f"step = tl.arange(0, {k})", f"acc = tl.zeros(({m}, {n}), tl.float32)")
    with draft.block(f"for s in range(part * {k}, R, {k * parts}):"):
        draft.add(f"a = tl.load(x + (s + step)[:, None] * {columns} + row[None, :])", f"b = tl.load(x + (s + step)[:, None] * {columns} + column[None, :])")
        if is_scaled:
            draft.add("b = (b * tl.load(g + s + step)[:, None]).to(b.dtype)")
        draft.add("acc += tl.dot(tl.trans(a), b)")
    place = f"o + row[:, None] * {columns} + column[None, :]"
    draft.add(f"tl.store({place}, acc)" if parts == 1 else f"tl.atomic_add({place}, acc)")
    return draft.kernel(f"gram {m}x{n}x{k} {dtype} {'scaled' if is_scaled else ''} {rows}x{columns} {parts} parts", (columns // m, columns // n, parts), warps,
                        draft.one_of(1, 2, 3), R=rows)


def write_pair(draft):
    """Two products of one factor in one loop: stored apart, multiplied, or the second one a gate."""
    k = draft.one_of(32, 64)
    m, n, warps = choose_blocks(draft, k, most=64)
    dtype, depth, how = draft.one_of("f16", "bf16"), k * draft.size(32, 2), draft.one_of("apart", "multiplied", "gated")
    rows, columns = m * draft.size(1024 // m, 2), n * draft.size(1024 // n, 2)
    draft.tensor("x", (rows, depth), dtype)
    draft.tensor("w", (2 * columns, depth), dtype)
    draft.result("o", (rows, 2 * columns if how == "apart" else columns), dtype)
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", f"column = tl.program_id(1) * {n} + tl.arange(0, {n})", f"depth = tl.arange(0, {k})",
              f"u = tl.zeros(({m}, {n}), tl.float32)", f"v = tl.zeros(({m}, {n}), tl.float32)")
    with draft.block(f"for s in range(0, K, {k}):"):
        draft.add("xx = tl.load(x + row[:, None] * K + (s + depth)[None, :])", "w1 = tl.load(w + column[None, :] * K + (s + depth)[:, None])",
                  f"w2 = tl.load(w + ({columns} + column)[None, :] * K + (s + depth)[:, None])", "u = tl.dot(xx, w1, u)", "v += tl.dot(xx, w2)")
    width = 2 * columns if how == "apart" else columns
    place = f"o + row[:, None] * {width} + column[None, :]"
    draft.add(f"u *= {depth ** -0.5:.4f}", f"v *= {depth ** -0.5:.4f}")
    if how == "apart":
        draft.add(f"tl.store({place}, u.to(o.dtype.element_ty))", f"tl.store({place} + {columns}, v.to(o.dtype.element_ty))")
    else:
        draft.add(f"tl.store({place}, ({'u * v' if how == 'multiplied' else 'u * tl.sigmoid(u) * v'}).to(o.dtype.element_ty))")
    return draft.kernel(f"pair {how} {m}x{n}x{k} {dtype} {rows}x{columns}x{depth}", (rows // m, columns // n), warps, draft.one_of(1, 2, 3), K=depth)
