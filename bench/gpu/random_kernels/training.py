"""Steps of training over rows and vectors: gradients of norms, of a softmax and of gates, losses with their gradients, optimizers.

A gradient of weights is a sum over rows: of each program, stored apart or added by atomic steps.
"""
from .kernel import BYTES, LANES

BYTES_IN_ALL = 1 << 25


def write(draft):
    write_sort = draft.weighted({write_norm: 3, write_softmax: 1.5, write_gate: 2, write_loss: 2, write_optimizer: 2, write_dropout: 1})
    return write_sort(draft)


def choose_rows(draft, dtype):
    """(rows of a trip, columns of a tile, columns, warps, rows in all)"""
    m, n, warps = draft.until(lambda m, n, warps: 1 <= m * n / LANES / warps <= 64,
                              lambda: (draft.one_of(1, 1, 1, 4, 8, 16), draft.one_of(64, 128, 512, 1024, 2048, 4096, 8192), draft.one_of(1, 4, 4, 8, 16)))
    columns = n - draft.one_of(0, 0, 0, 1, 8, n // 4)
    rows = draft.size(max(1024, BYTES_IN_ALL // columns // BYTES[dtype]), 4 * m) // m * m
    return m, n, columns, warps, rows


PLACES = "at = row[:, None] * C + column[None, :]"


def write_columns(draft, n, columns):
    """Returns the rest of the arguments of a load at PLACES."""
    draft.add(f"column = tl.arange(0, {n})")
    return "" if columns == n else ", mask=column[None, :] < C, other=0.0"


def write_norm(draft):
    dtype = draft.one_of("f16", "bf16", "f32")
    m, n, columns, warps, rows = choose_rows(draft, dtype)
    is_layer_norm, has_bias, adds, trips = draft.chance(0.6), draft.chance(0.5), draft.chance(0.4), draft.one_of(1, 4, 8)
    trips = max(1, min(trips, rows // m))
    programs = rows // m // trips
    rows = programs * m * trips
    for name in ("x", "dy"):
        draft.tensor(name, (rows, columns), dtype)
    draft.tensor("w", (columns,), draft.one_of(dtype, "f32"))
    draft.tensor("mean", (rows,), "f32")
    draft.tensor("scale", (rows,), "f32")
    draft.result("dx", (rows, columns), dtype)
    names = ["dw", "db"] if has_bias else ["dw"]
    for name in names:
        draft.tensor(name, (columns,) if adds else (programs, columns), "f32", "sums" if adds else "result")
    mask = write_columns(draft, n, columns)
    of_columns = mask.replace("[None, :]", "")
    draft.add("pid = tl.program_id(0)", f"ww = tl.load(w + column{of_columns}).to(tl.float32)", *(f"s_{name} = tl.zeros(({n},), tl.float32)" for name in names))
    with draft.block(f"for i in range(0, {trips}):"):
        draft.add(f"row = {draft.one_of(f'(pid * {trips} + i)', f'(i * {programs} + pid)')} * {m} + tl.arange(0, {m})", PLACES,
                  f"a = tl.load(x + at{mask}).to(tl.float32)", f"d = tl.load(dy + at{mask}).to(tl.float32)",
                  "r = 1.0 / (1.0 + tl.abs(tl.load(scale + row)))[:, None]")
        draft.add("h = (a - tl.load(mean + row)[:, None]) * r" if is_layer_norm else "h = a * r", "g = d * ww[None, :]", "c = tl.sum(h * g, 1)[:, None] / C",
                  "e = (g - h * c - tl.sum(g, 1)[:, None] / C) * r" if is_layer_norm else "e = (g - h * c) * r",
                  f"tl.store(dx + at, e.to(dx.dtype.element_ty){mask.replace(', other=0.0', '')})", "s_dw += tl.sum(d * h, 0)")
        if has_bias:
            draft.add("s_db += tl.sum(d, 0)")
    known = of_columns.replace(", other=0.0", "")
    draft.add(*(f"tl.atomic_add({name} + column, s_{name}{known})" if adds else f"tl.store({name} + pid * C + column, s_{name}{known})" for name in names))
    return draft.kernel(f"{'layer' if is_layer_norm else 'root mean square'} norm {m}x{n} of {columns} {dtype} {trips} trips {'added' if adds else 'apart'} {rows} rows",
                        (programs,), warps, draft.one_of(1, 3), C=columns)


def write_softmax(draft):
    dtype = draft.one_of("f16", "bf16", "f32")
    m, n, columns, warps, rows = choose_rows(draft, dtype)
    for name in ("y", "dy"):
        draft.tensor(name, (rows, columns), dtype)
    draft.result("dx", (rows, columns), dtype)
    mask = write_columns(draft, n, columns)
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", PLACES, f"a = tl.load(y + at{mask}).to(tl.float32)", f"d = tl.load(dy + at{mask}).to(tl.float32)")
    value = "d - tl.exp(a) * tl.sum(d, 1)[:, None]" if draft.chance(0.4) else "a * (d - tl.sum(a * d, 1)[:, None])"
    draft.add(f"tl.store(dx + at, ({value}).to(dx.dtype.element_ty){mask.replace(', other=0.0', '')})")
    return draft.kernel(f"softmax {m}x{n} of {columns} {dtype} {value} {rows} rows", (rows // m,), warps, 2, C=columns)


def write_gate(draft):
    dtype, block, warps = draft.one_of("f16", "bf16", "f32"), draft.one_of(256, 512, 1024, 2048, 4096), draft.one_of(1, 4, 8)
    rows, columns = draft.size(4096, 3), draft.one_of(512, 1000, 2816, 4096)
    gate = draft.one_of("silu", "gelu", "tanh gelu", "relu squared")
    is_in_halves = draft.chance(0.4)
    draft.chance(0.3)  # decides nothing; without it seeds would be other kernels
    width = 2 * columns if is_in_halves else columns
    draft.tensor("gu" if is_in_halves else "g", (rows, width), dtype)
    if not is_in_halves:
        draft.tensor("u", (rows, columns), dtype)
    draft.tensor("dy", (rows, columns), dtype)
    for name in ("dgu",) if is_in_halves else ("dg", "du"):
        draft.result(name, (rows, width), dtype)
    draft.add("row = tl.program_id(0)" + draft.one_of("", ".to(tl.int64)"))
    has_loop = draft.chance(0.6)
    if has_loop:
        with draft.block(f"for c in range(0, C, {block}):"):
            write_gated(draft, block, gate, is_in_halves, "c")
    else:
        write_gated(draft, block, gate, is_in_halves, f"tl.program_id(1) * {block}")
    grid = (rows,) if has_loop else (rows, -(-columns // block))
    return draft.kernel(f"{gate} {block} {dtype} {'halves of a row' if is_in_halves else ''} {'loop' if has_loop else ''} {rows}x{columns}", grid, warps, 2, C=columns)


def write_gated(draft, block, gate, is_in_halves, first):
    g, u = ("gu + row * 2 * C + column", "gu + row * 2 * C + C + column") if is_in_halves else ("g + row * C + column", "u + row * C + column")
    draft.add(f"column = {first} + tl.arange(0, {block})", "inside = column < C",
              *(f"{name} = tl.load({at}, mask=inside, other=0.0).to(tl.float32)" for name, at in (("a", g), ("b", u), ("d", "dy + row * C + column"))))
    if gate == "silu":
        draft.add("sig = tl.sigmoid(a)", "f = a * sig", "df = sig * (1 + a * (1 - sig))")
    elif gate == "gelu":
        draft.add("cdf = 0.5 * (1.0 + tl.erf(a * 0.7071067811865476))", "f = a * cdf", "df = cdf + a * tl.exp(-0.5 * a * a) * 0.3989422804014327")
    elif gate == "tanh gelu":
        draft.add("inner = 0.7978845608 * (a + 0.044715 * a * a * a)", "t = 2 * tl.sigmoid(2 * inner) - 1", "f = 0.5 * a * (1 + t)",
                  "df = 0.5 * (1 + t) + 0.5 * a * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * a * a)")
    else:
        draft.add("f = tl.where(a > 0, a * a, 0.0)", "df = tl.where(a > 0, 2 * a, 0.0)")
    to = ("dgu + row * 2 * C + column", "dgu + row * 2 * C + C + column") if is_in_halves else ("dg + row * C + column", "du + row * C + column")
    name = "dgu" if is_in_halves else "dg"
    draft.add(*(f"tl.store({at}, ({value}).to({name}.dtype.element_ty), mask=inside)" for at, value in zip(to, ("d * b * df", "d * f"))))


def write_loss(draft):
    """The loss of a row over its columns, and the gradient in a second loop."""
    dtype, block, warps = draft.one_of("f16", "bf16", "f32"), draft.one_of(512, 1024, 4096, 8192), draft.one_of(4, 4, 8, 16)
    columns, smoothing, has_cap = draft.size(draft.one_of(8192, 32000, 32768), 2 * block - 24), draft.chance(0.4), draft.chance(0.2)
    rows = draft.size(BYTES_IN_ALL // columns // 2, 3)
    draft.tensor("x", (rows, columns), dtype)
    draft.tensor("t", (rows,), "i64", "places", below=columns)
    draft.result("o", (rows,), "f32")
    draft.result("dx", (rows, columns), dtype)
    draft.add("row = tl.program_id(0).to(tl.int64)", "label = tl.load(t + row)", "x_row = x + row * C", "most = float('-inf')", "total = 0.0", "sums = 0.0",
              "chosen = tl.load(x_row + label).to(tl.float32)")
    cap = ["e = tl.exp(-2.0 * tl.abs(a) / 15.0)", "a = 15.0 * tl.where(a > 0, 1.0, -1.0) * (1 - e) / (1 + e)"] if has_cap else []
    load = [f"column = c + tl.arange(0, {block})", "a = tl.load(x_row + column, mask=column < C, other=float('-inf')).to(tl.float32)", *cap]
    with draft.block(f"for c in range(0, C, {block}):"):
        draft.add(*load, *(["sums += tl.sum(tl.where(column < C, a, 0.0))"] if smoothing else []), "new = tl.maximum(most, tl.max(a))",
                  "total = total * tl.exp(most - new) + tl.sum(tl.exp(a - new))", "most = new")
    draft.add("log = most + tl.log(total)", f"tl.store(o + row, log - {'0.9 * chosen - 0.1 * sums / C' if smoothing else 'chosen'})")
    with draft.block(f"for c in range(0, C, {block}):"):
        draft.add(*load, "d = tl.exp(a - most) / total" if draft.chance(0.5) else "d = tl.exp(a - log)")
        if smoothing:
            draft.add("d = d - 0.1 / C")
        draft.add(f"d = tl.where(column == label, d - {0.9 if smoothing else 1.0}, d)", "tl.store(dx + row * C + column, d.to(dx.dtype.element_ty), mask=column < C)")
    return draft.kernel(f"loss {block} {dtype} {'smoothed' if smoothing else ''} {'capped' if has_cap else ''} {rows}x{columns}", (rows,), warps, draft.one_of(1, 3), C=columns)


def write_optimizer(draft):
    block, warps = draft.until(lambda block, warps: 1 <= block / LANES / warps <= 32, lambda: (draft.one_of(128, 256, 1024, 2048, 4096), draft.one_of(1, 4, 8)))
    dtype, state = draft.one_of("f32", "bf16"), draft.one_of("f32", "bf16", "i8")
    count = draft.size(1 << 23, 5 * block) - draft.one_of(0, 0, 3)
    sort, pieces = draft.one_of("moments", "momentum", "sign"), draft.one_of(1, 1, 4)
    draft.tensor("p", (count,), dtype)
    draft.tensor("g", (count,), draft.one_of("f32", "bf16"))
    draft.tensor("m", (count,), state)
    blocks = -(-count // block)
    names = ["m", "v"] if sort == "moments" else ["m"]
    if sort == "moments":
        draft.tensor("v", (count,), state)
    if state == "i8":
        for name in names:
            draft.tensor(f"{name}_scale", (blocks,), "f32")
            draft.result(f"new_{name}_scale", (blocks,), "f32")
    draft.result("new_p", (count,), dtype)
    for name in names:
        draft.result(f"new_{name}", (count,), "f32" if state != "i8" else "i8")
    draft.has_jumps = state == "i8" or sort == "sign"
    with draft.block(f"for i in range(0, {pieces}):"):
        draft.add(f"block = tl.program_id(0) * {pieces} + i", f"at = block * {block} + tl.arange(0, {block})", "inside = at < N",
                  "d = tl.load(g + at, mask=inside, other=0.0).to(tl.float32)", "a = tl.load(p + at, mask=inside, other=0.0).to(tl.float32)")
        for name in names:
            scale = f" * (tl.load({name}_scale + block, mask=block < {blocks}, other=0.0) / 127.0)" if state == "i8" else ""
            draft.add(f"s_{name} = tl.load({name} + at, mask=inside, other=0).to(tl.float32){scale}")
        draft.add("s_m = 0.9 * s_m + 0.1 * d")
        if sort == "moments":
            draft.add("s_v = 0.99 * tl.abs(s_v) + 0.01 * d * d", "a = a * 0.999 - 0.01 * s_m / (tl.sqrt(s_v) + 1e-3)")
        elif sort == "momentum":
            draft.add("a -= 0.01 * (d + 0.9 * s_m)")
        else:
            draft.add("a -= 0.01 * tl.where(s_m > 0, 1.0, tl.where(s_m < 0, -1.0, 0.0))")
        draft.add("tl.store(new_p + at, a.to(new_p.dtype.element_ty), mask=inside)")
        for name in names:
            if state == "i8":
                draft.add(f"most = tl.max(tl.abs(s_{name})) + 1e-9", f"tl.store(new_{name}_scale + block, most, mask=block < {blocks})",
                          f"q = tl.floor(s_{name} / most * 127.0 + 0.5)", f"tl.store(new_{name} + at, q.to(tl.int8), mask=inside)")
            else:
                draft.add(f"tl.store(new_{name} + at, s_{name}, mask=inside)")
    return draft.kernel(f"{sort} {block} {dtype} states {state} {pieces} pieces {count}", (-(-blocks // pieces),), warps, 2, N=count)


def write_dropout(draft):
    """A residual, a bias and dropout, and the mask as bytes or bits."""
    block, warps = draft.until(lambda block, warps: 1 <= block / LANES / warps <= 32, lambda: (draft.one_of(256, 1024, 2048, 4096), draft.one_of(1, 4, 8)))
    dtype, width, count = draft.one_of("f16", "bf16", "f32"), draft.one_of(256, 768, 1024), draft.size(1 << 23, 3 * block)
    kept = draft.one_of("no", "bytes", "drawn by four")
    for name in "xr":
        draft.tensor(name, (count,), dtype)
    draft.tensor("bias", (width,), dtype)
    draft.result("o", (count,), dtype)
    draft.has_jumps = True
    draft.add(f"at = tl.program_id(0) * {block} + tl.arange(0, {block})", "a = tl.load(x + at).to(tl.float32)",
              f"a += tl.load(bias + at % {width}).to(tl.float32)")
    if kept == "drawn by four":
        draft.add(f"r0, r1, r2, r3 = tl.rand4x(11, tl.program_id(0) * {block // 4} + tl.arange(0, {block // 4}))",
                  f"keeps = tl.join(tl.join(r0, r1), tl.join(r2, r3)).reshape({block}) > 0.2")
    else:
        draft.add("keeps = tl.rand(11, at) > 0.2")
    if kept == "bytes":
        draft.result("mask", (count,), "i8")
        draft.add("tl.store(mask + at, keeps.to(tl.int8))")
    draft.add("a = tl.where(keeps, a / 0.8, 0.0) + tl.load(r + at).to(tl.float32)", "tl.store(o + at, a.to(o.dtype.element_ty))")
    return draft.kernel(f"dropout {block} {dtype} {kept} {count} of {width}", (count // block,), warps, 1, N=count)
