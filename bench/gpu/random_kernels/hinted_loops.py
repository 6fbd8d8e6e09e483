"""Loops with hints (`tl.range(..., loop_unroll_factor=2, num_stages=3, ...)`) over tiles, rows or steps, in which each trip also loads
something that is the same in all of them or in several.

A program walks over tiles or rows of a matrix, as persistent kernels and tuners write it.
"""
from .kernel import BYTES, LANES

PROGRAMS = 132
BYTES_IN_ALL = 1 << 25


def write(draft):
    write_sort = draft.weighted({write_products: 4, write_rows: 3, write_sums: 3})
    return write_sort(draft)


def hints(draft, pipelined):
    """The rest of the arguments of `tl.range`, as often none."""
    some = [f"loop_unroll_factor={draft.one_of(1, 2, 3, 4)}"] if draft.chance(0.5) else []
    some += [f"num_stages={draft.one_of(1, 2, 3, 4)}"] if draft.chance(0.5) else []
    if pipelined:
        some += [f"{name}={draft.one_of(True, False)}" for name in ("flatten", "disallow_acc_multi_buffer") if draft.chance(0.3)]
    return "".join(f", {each}" for each in some)


# --- products over tiles ----------------------------------------------------------------------------


def write_products(draft):
    def is_good(m, n, k, warps, stages):
        return 8 <= m * n / LANES / warps <= 128 and (m + n) * k * 2 * stages <= 150000

    m, n, k, warps, stages = draft.until(is_good, lambda: (
        draft.one_of(16, 32, 64, 128), draft.one_of(16, 32, 64, 128, 256), draft.one_of(16, 32, 64, 128), draft.one_of(1, 2, 4, 4, 8), draft.one_of(1, 2, 3, 4)))
    dtype, is_k_first, depth = draft.one_of("f16", "bf16"), draft.chance(0.5), k * draft.size(draft.one_of(8, 16, 30), 3)
    down, across = draft.size(max(4, 2048 // m), 2), draft.size(max(4, 2048 // n), 3)
    draft.tensor("a", (down * m, depth), dtype)
    draft.tensor("b", (depth, across * n) if is_k_first else (across * n, depth), dtype)
    bias = draft.one_of("", "rows", "columns")
    if bias:
        draft.tensor("bias", (down * m if bias == "rows" else across * n,), draft.one_of("f32", dtype))
    draft.result("o", (down * m, across * n), draft.one_of(dtype, "f32"))
    programs = min(draft.size(PROGRAMS * draft.one_of(1, 2, 4), 4), down * across)
    walk = draft.one_of(f"for tile in tl.range(tl.program_id(0), {down * across}, {programs}{hints(draft, True)}):",
                        f"for tile in tl.range(first, tl.minimum(first + {-(-down * across // programs)}, {down * across}){hints(draft, True)}):")
    draft.add(f"first = tl.program_id(0) * {-(-down * across // programs)}", f"depth = tl.arange(0, {k})")
    with draft.block(walk):
        write_place_of_tile(draft, down, across)
        draft.add(f"row = pm * {m} + tl.arange(0, {m})", f"column = pn * {n} + tl.arange(0, {n})", f"acc = tl.zeros(({m}, {n}), tl.float32)")
        head, at = draft.one_of((f"for s in tl.range(0, K, {k}{hints(draft, True)}):", "s + depth"),
                                (f"for s in tl.range(0, K // {k}{hints(draft, True)}):", f"s * {k} + depth"))
        with draft.block(head):
            draft.add(f"here = {at}", "x = tl.load(a + row[:, None] * K + here[None, :])",
                      f"y = tl.load(b + here[:, None] * {across * n} + column[None, :])" if is_k_first
                      else "y = tl.load(b + column[None, :] * K + here[:, None])",
                      draft.one_of("acc = tl.dot(x, y, acc)", "acc += tl.dot(x, y)"))
        if bias:
            draft.add("acc += tl.load(bias + row)[:, None]" if bias == "rows" else "acc += tl.load(bias + column)[None, :]")
        draft.add(f"tl.store(o + row[:, None] * {across * n} + column[None, :], acc.to(o.dtype.element_ty))")
    return draft.kernel(f"products {m}x{n}x{k} {dtype} {'kn' if is_k_first else 'nk'} {down * m}x{across * n}x{depth} {programs} programs",
                        (programs,), warps, stages, K=depth)


def write_place_of_tile(draft, down, across):
    sort = draft.one_of("rows first", "columns first", "groups")
    if sort == "rows first":
        draft.add(f"pm = tile // {across}", f"pn = tile % {across}")
    elif sort == "columns first":
        draft.add(f"pm = tile % {down}", f"pn = tile // {down}")
    else:
        group = draft.one_of(2, 4, 8)
        draft.add(f"group = tile // ({group} * {across})", f"most = tl.minimum({down} - group * {group}, {group})",
                  f"pm = group * {group} + tile % ({group} * {across}) % most", f"pn = tile % ({group} * {across}) // most")


# --- rows and steps ---------------------------------------------------------------------------------


def choose_tile(draft):
    """(rows, columns, warps)"""
    return draft.until(lambda rows, columns, warps: 1 <= rows * columns / LANES / warps <= 32,
                       lambda: (draft.one_of(1, 1, 4, 8, 16), draft.one_of(64, 128, 256, 512, 1024, 2048, 4096), draft.one_of(1, 2, 4, 4, 8)))


def write_rows(draft):
    """Norms of rows, which a program takes one behind the other; their weights are loaded in each trip."""
    m, n, warps = choose_tile(draft)
    dtype, of_weights = draft.one_of("f16", "bf16", "f32"), draft.one_of("f32", "bf16")
    columns = n - draft.one_of(0, 0, 8, n // 4)
    blocks = draft.size(max(512, BYTES_IN_ALL // columns // BYTES[dtype] // m), 7)
    programs = min(draft.size(PROGRAMS * draft.one_of(1, 4, 8), 3), blocks)
    draft.tensor("x", (blocks * m, columns), dtype)
    draft.tensor("w", (columns,), of_weights)
    has_shift = draft.chance(0.5)
    if has_shift:
        draft.tensor("shift", (columns,), of_weights)
    draft.result("o", (blocks * m, columns), draft.one_of(dtype, "f32"))
    mask = "" if columns == n else ", mask=column < C, other=0.0"
    of_tile = "" if columns == n else ", mask=(column < C)[None, :]"
    draft.add(f"column = tl.arange(0, {n})")
    with draft.block(f"for i in tl.range(tl.program_id(0), {blocks}, {programs}{hints(draft, False)}):"):
        draft.add(f"row = i * {m} + tl.arange(0, {m})", f"weight = tl.load(w + column{mask}).to(tl.float32)",
                  f"v = tl.load(x + row[:, None] * C + column[None, :]{of_tile and of_tile + ', other=0.0'}).to(tl.float32)",
                  draft.one_of("v = v * tl.rsqrt(tl.sum(v * v, 1) / C + 1e-5)[:, None]", "v = v / (tl.sum(tl.abs(v), 1) + 1.0)[:, None]",
                               "v = v * tl.sigmoid(v)"), "v = v * weight[None, :]")
        if has_shift:
            draft.add(f"v += tl.load(shift + column{mask}).to(tl.float32)[None, :]")
        draft.add(f"tl.store(o + row[:, None] * C + column[None, :], v.to(o.dtype.element_ty){of_tile})")
    return draft.kernel(f"rows {m}x{n} of {columns} {dtype} weights {of_weights} {blocks * m} rows {programs} programs", (programs,), warps,
                        draft.one_of(1, 3), C=columns)


def write_sums(draft):
    """Sums over steps of a program's columns; scales of the columns, or of some steps together, are loaded in each trip."""
    m, n, warps = choose_tile(draft)
    dtype, steps = draft.one_of("f16", "bf16", "f32"), draft.size(draft.one_of(16, 64, 100), 5)
    columns = n * draft.size(draft.one_of(8, 64), 2)
    parts = draft.size(max(1, BYTES_IN_ALL // (steps * m * columns * BYTES[dtype])), 2)
    draft.tensor("x", (parts, steps * m, columns), dtype)
    draft.tensor("w", (columns,), "f32")
    draft.tensor("gain", (parts, steps), "f32")
    draft.result("o", (parts, columns), "f32")
    draft.add("part = tl.program_id(1)", f"column = tl.program_id(0) * {n} + tl.arange(0, {n})", f"row = tl.arange(0, {m})",
              f"acc = tl.zeros(({m}, {n}), tl.float32)")
    scale = draft.weighted({"columns": 3, "part": 2, "some steps": 2})
    group = draft.one_of(4, 8)
    with draft.block(f"for i in tl.range(0, S{hints(draft, False)}):"):
        draft.add(f"v = tl.load(x + ((part * S + i) * {m} + row)[:, None] * {columns} + column[None, :]).to(tl.float32)",
                  {"columns": "scale = tl.load(w + column)[None, :]", "part": "scale = tl.load(gain + part * S)",
                   "some steps": f"scale = tl.load(gain + part * S + i // {group} * {group})"}[scale],
                  draft.one_of("acc += v * scale", "acc += tl.maximum(v, 0.0) * scale", "acc += tl.exp(-tl.abs(v * scale))"))
    draft.add(f"tl.store(o + part * {columns} + column, tl.sum(acc, 0))")
    return draft.kernel(f"sums {m}x{n} {dtype} scaled by {scale} {parts}x{steps} steps, {columns} columns", (columns // n, parts), warps,
                        draft.one_of(1, 2, 3), S=steps)
