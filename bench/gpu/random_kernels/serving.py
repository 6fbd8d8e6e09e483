"""Steps of a server: attention of one token over pages of keys, products with the weights of chosen experts, weights of a few bits.

Tables say where pages and experts lie. A sequence has any length, so that its last page is read under a mask.
"""
from .attention import online_softmax
from .kernel import LANES

SEQUENCES, MOST_SHARED = 32, 150000


def write(draft):
    write_sort = draft.weighted({write_paged: 4, write_experts: 3, write_packed: 4})
    return write_sort(draft)


# --- attention over pages ---------------------------------------------------------------------------


def write_paged(draft):
    group, page, pages, head, warps = draft.until(
        lambda group, page, pages, head, warps: (group == 1 or page * pages >= 16) and 8 <= page * pages * head / LANES / warps <= 128,
        lambda: (draft.one_of(1, 4, 8, 16), draft.one_of(16, 16, 32, 64, 128), draft.one_of(1, 1, 2, 4), draft.one_of(64, 128, 128, 256),
                 draft.one_of(1, 2, 4, 4, 8)))
    step, dtype = page * pages, draft.one_of("bf16", "f16", "f8")
    most = draft.size(draft.one_of(512, 2048), 2 * step) // step * step
    sequences, heads, parts = draft.size(SEQUENCES, 2), draft.size(8, 1), draft.size(draft.one_of(1, 2, 4), 2)
    is_by_heads, q_dtype, stages = draft.chance(0.4), "bf16" if dtype == "f8" else dtype, draft.one_of(1, 2, 3)
    count = sequences * most // page
    cache = (count, heads, page, head) if is_by_heads else (count, page, heads, head)
    draft.tensor("q", (sequences, heads, group, head), q_dtype)
    draft.tensor("k", cache, dtype)
    draft.tensor("v", cache, dtype)
    draft.tensor("table", (sequences, most // page), "i32", "places", below=count)
    draft.tensor("lengths", (sequences,), "i32", "places", below=most)
    draft.result("o", (sequences, heads, parts, group, head), "f32")
    draft.result("logs", (sequences, heads, parts, group), "f32")
    rows = max(group, 16) if group > 1 else 1
    write_query(draft, rows, group, head, step)
    place = f"(number * {heads} + h) * {page} + inside" if is_by_heads else f"(number * {page} + inside) * {heads} + h"
    is_64, first = draft.chance(0.5), f"part * tl.cdiv(tl.cdiv(length, {step}), {parts}) * {step}"
    draft.add(f"first = {first}", f"last = tl.minimum(first + tl.cdiv(tl.cdiv(length, {step}), {parts}) * {step}, length)")
    with draft.block(f"for s in range(first, last, {step}):"):
        draft.add("token = s + step", f"page = token // {page}", f"inside = token % {page}",
                  f"number = tl.load(table + b * {most // page} + page, mask=token < length, other=0)" + (".to(tl.int64)" if is_64 else ""),
                  f"at = ({place}) * {head}")
        write_scores_of_page(draft, rows)
    write_one_result(draft, head, parts) if rows == 1 else write_results(draft, group, head, parts)
    return draft.kernel(f"paged {dtype} {group} queries, {pages} pages of {page}, head {head}, {'heads first' if is_by_heads else 'pages first'}, "
                        f"{parts} parts, up to {most}", (sequences, heads, parts), warps, stages, H=heads)


def write_query(draft, rows, group, head, step):
    draft.add("b = tl.program_id(0)", "h = tl.program_id(1)", "part = tl.program_id(2)", "length = tl.load(lengths + b) + 1",
              f"step = tl.arange(0, {step})", f"place = tl.arange(0, {head})")
    if rows == 1:
        draft.add(f"qq = tl.load(q + (b * H + h) * {head} + place).to(tl.float32)", "most = float('-inf')", "total = 0.0",
                  f"acc = tl.zeros(({head},), tl.float32)")
    else:
        draft.add(f"g = tl.arange(0, {rows})",
                  f"qq = tl.load(q + ((b * H + h) * {group} + g[:, None]) * {head} + place[None, :], mask=g[:, None] < {group}, other=0.0)",
                  f"most = tl.full(({rows},), float('-inf'), tl.float32)", f"total = tl.zeros(({rows},), tl.float32)",
                  f"acc = tl.zeros(({rows}, {head}), tl.float32)")
    draft.add(f"qq = (qq * {head**-0.5:.4g}).to({'tl.float32' if rows == 1 else 'q.dtype.element_ty'})")


def write_scores_of_page(draft, rows):
    known = "mask=(token < length)[:, None], other=0.0"
    if rows == 1:
        draft.add(f"kk = tl.load(k + at[:, None] + place[None, :], {known}).to(tl.float32)",
                  f"vv = tl.load(v + at[:, None] + place[None, :], {known}).to(tl.float32)", "p = tl.sum(qq[None, :] * kk, 1)",
                  "p = tl.where(token < length, p, float('-inf'))", "new = tl.maximum(most, tl.max(p, 0))", "p = tl.exp(p - new)",
                  "scale = tl.exp(most - new)", "total = total * scale + tl.sum(p, 0)", "acc = acc * scale + tl.sum(p[:, None] * vv, 0)",
                  "most = new")
        return
    if draft.chance(0.5):
        draft.add("kk = tl.load(k + at[None, :] + place[:, None], mask=(token < length)[None, :], other=0.0).to(qq.dtype)", "p = tl.dot(qq, kk)")
    else:
        draft.add(f"kk = tl.load(k + at[:, None] + place[None, :], {known}).to(qq.dtype)", "p = tl.dot(qq, tl.trans(kk))")
    draft.add(f"vv = tl.load(v + at[:, None] + place[None, :], {known}).to(qq.dtype)", "p = tl.where((token < length)[None, :], p, float('-inf'))",
              *online_softmax("tl.exp"))


def write_one_result(draft, head, parts):
    draft.add(f"to = (b * H + h) * {parts} + part", "is_empty = first >= last", f"tl.store(o + to * {head} + place, tl.where(is_empty, 0.0, acc / total))",
              "tl.store(logs + to, tl.where(is_empty, -1e30, most + tl.log(total)))")


def write_results(draft, group, head, parts):
    draft.add(f"to = ((b * H + h) * {parts} + part) * {group} + g", "is_empty = first >= last",
              f"tl.store(o + to[:, None] * {head} + place[None, :], tl.where(is_empty, 0.0, acc / total[:, None]), mask=g[:, None] < {group})",
              f"tl.store(logs + to, tl.where(is_empty, -1e30, most + tl.log(total)), mask=g < {group})")


# --- products ---------------------------------------------------------------------------------------


def choose_blocks(draft, shared_of_k):
    """(m, n, k, warps, stages)"""
    def is_good(m, n, k, warps, stages):
        return 8 <= m * n / LANES / warps <= 128 and (m + n) * k * shared_of_k * stages <= MOST_SHARED

    return draft.until(is_good, lambda: (draft.one_of(16, 16, 32, 64, 128), draft.one_of(32, 64, 64, 128, 256),
                                         draft.one_of(32, 64, 64, 128), draft.one_of(2, 4, 4, 8), draft.one_of(1, 2, 3, 4)))


def write_experts(draft):
    m, n, k, warps, stages = choose_blocks(draft, 2)
    dtype, chosen = draft.one_of("bf16", "f16", "f8"), draft.one_of(1, 2, 4)
    experts, tokens = draft.size(16, 3), draft.size(draft.one_of(256, 2048), 2 * m)
    columns, depth, out = n * draft.size(8, 1), k * draft.size(draft.one_of(8, 16, 32), 3), draft.one_of("bf16", "f32")
    rows = tokens * chosen
    draft.tensor("a", (tokens, depth), dtype)
    draft.tensor("b", (experts, columns, depth), dtype)
    draft.tensor("order", (rows,), "i32", "permutation")
    draft.tensor("expert", (rows // m,), "i32", "places", below=experts)
    draft.result("o", (rows, columns), out)
    has_weights, is_masked, has_scale = draft.chance(0.5), draft.chance(0.5), dtype == "f8" or draft.chance(0.2)
    draft.add("pid = tl.program_id(0)", f"blocks = N // {n}", "pm = pid // blocks", "pn = pid % blocks",
              f"place = tl.load(order + pm * {m} + tl.arange(0, {m})){draft.one_of('', '.to(tl.int64)')}", f"is_real = place < {rows - 1}",
              f"column = {draft.one_of('(pn * {n} + tl.arange(0, {n})) % N', 'pn * {n} + tl.arange(0, {n})').format(n=n)}",
              f"depth = tl.arange(0, {k})", "e = tl.load(expert + pm)", f"acc = tl.zeros(({m}, {n}), tl.float32)",
              f"at_a = a + (place[:, None] // {chosen} * K + depth[None, :])",
              "at_b = b + e.to(tl.int64) * N * K + (depth[:, None] + column[None, :] * K)")
    if has_scale:
        draft.tensor("scale", (experts,), "f32")
    with draft.block(f"for j in range(0, tl.cdiv(K, {k})):"):
        left = f"is_real[:, None] & (depth[None, :] < K - j * {k})" if is_masked else "is_real[:, None]"
        right = f", mask=depth[:, None] < K - j * {k}, other=0.0" if is_masked else ""
        draft.add(f"x = tl.load(at_a, mask={left}, other=0.0)", f"y = tl.load(at_b{right})", "acc += tl.dot(x, y)", f"at_a += {k}", f"at_b += {k}")
    if has_scale:
        draft.add("acc = acc * tl.load(scale + e)")
    if has_weights:
        draft.tensor("weights", (rows,), "f32")
        draft.add("acc = acc * tl.load(weights + place, mask=is_real, other=0.0)[:, None]")
    draft.add("tl.store(o + place[:, None].to(tl.int64) * N + column[None, :], acc.to(o.dtype.element_ty))")
    return draft.kernel(f"experts {dtype}->{out} {m}x{n}x{k}, {chosen} of {experts}, {'masked' if is_masked else ''} {rows}x{columns}x{depth}",
                        (rows // m * (columns // n),), warps, stages, N=columns, K=depth)


def write_packed(draft):
    """Weights of 4 bits, eight in a word or two in a byte, along K or along N; scales of groups of K, of each column."""
    m, n, k, warps, stages = choose_blocks(draft, 2)
    dtype, group = draft.one_of("f16", "bf16"), draft.one_of(32, 64, 128)
    spelling = draft.weighted({"words along k": 3, "words along n": 2, "bytes joined": 2, "bytes": 1})
    rows, columns = m * draft.size(draft.one_of(1, 4), 1), n * draft.size(64, 2)
    depth, has_zeros = max(k, group) * draft.size(16, 2), draft.chance(0.5)
    draft.tensor("a", (rows, depth), dtype)
    packed = {"words along k": ((depth // 8, columns), "i32"), "words along n": ((depth, columns // 8), "i32"),
              "bytes joined": ((depth, columns // 2), "i8"), "bytes": ((depth, columns), "i8")}[spelling]
    draft.tensor("b", *packed, "bits" if packed[1] == "i32" else "normal")
    draft.tensor("scale", (depth // group, columns), dtype)
    if has_zeros:
        draft.tensor("zeros", (depth // group, columns), draft.one_of(dtype, "i8"))
    draft.result("o", (rows, columns), dtype)
    draft.add("pm = tl.program_id(0)", "pn = tl.program_id(1)", f"row = pm * {m} + tl.arange(0, {m})", f"column = pn * {n} + tl.arange(0, {n})",
              f"depth = tl.arange(0, {k})", f"acc = tl.zeros(({m}, {n}), tl.float32)")
    with draft.block(f"for k0 in range(0, K, {k}):"):
        draft.add("at = k0 + depth", "x = tl.load(a + row[:, None] * K + at[None, :])")
        write_unpacked(draft, spelling, n)
        write_scales(draft, k, group, has_zeros)
        draft.add("y = ((y.to(tl.float32)" + (" - z.to(tl.float32)" if has_zeros else " - 8.0") + ") * s.to(tl.float32)).to(x.dtype)"
                  if draft.chance(0.6) else "y = (y.to(x.dtype)" + (" - z.to(x.dtype)" if has_zeros else " - 8") + ") * s",
                  draft.one_of("acc += tl.dot(x, y)", "acc = tl.dot(x, y, acc)"))
    draft.add("tl.store(o + row[:, None] * N + column[None, :], (acc * 0.01).to(o.dtype.element_ty))")
    return draft.kernel(f"4 bits, {spelling}, {dtype} {m}x{n}x{k} groups of {group} {'zeros' if has_zeros else ''} {rows}x{columns}x{depth}",
                        (rows // m, columns // n), warps, stages, N=columns, K=depth)


def write_unpacked(draft, spelling, n):
    if spelling == "words along k":
        draft.add("word = tl.load(b + (at // 8)[:, None] * N + column[None, :])", "y = (word >> ((at % 8) * 4)[:, None]) & 15")
    elif spelling == "words along n":
        draft.add("word = tl.load(b + at[:, None] * (N // 8) + (column // 8)[None, :])", "y = (word >> ((column % 8) * 4)[None, :]) & 15")
    elif spelling == "bytes joined":
        half = f"pn * {n // 2} + tl.arange(0, {n // 2})"
        draft.add(f"word = tl.load(b + at[:, None] * (N // 2) + ({half})[None, :])",
                  draft.one_of("y = tl.interleave(word & 15, (word >> 4) & 15)",
                               f"y = tl.join(word & 15, (word >> 4) & 15).reshape(word.shape[0], {n})"))
    else:
        draft.add("y = tl.load(b + at[:, None] * N + column[None, :])")


def write_scales(draft, k, group, has_zeros):
    """Of a row of groups where a trip lies in one, else of each k."""
    if k <= group and draft.chance(0.7):
        for name, tensor in (("s", "scale"), ("z", "zeros"))[:1 + has_zeros]:
            draft.add(f"{name} = tl.load({tensor} + k0 // {group} * N + column)[None, :]")
    else:
        for name, tensor in (("s", "scale"), ("z", "zeros"))[:1 + has_zeros]:
            draft.add(f"{name} = tl.load({tensor} + (at // {group})[:, None] * N + column[None, :])")
