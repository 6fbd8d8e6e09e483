"""Sums over neighbours: convolutions as products with computed places, of each channel, along time, and scans of states.

Pictures lie with channels innermost or outermost. Places outside are masked.
"""
from .kernel import LANES

ELEMENTS = 1 << 23


def write(draft):
    write_sort = draft.weighted({write_convolution: 3, write_channels: 2, write_time: 2, write_states: 2, write_stencil: 2})
    return write_sort(draft)


def write_convolution(draft):
    """An implicit product: of all pixels with all filters, over kernel rows, kernel columns and channels."""
    m, n, k, warps = draft.until(lambda m, n, k, warps: 8 <= m * n / LANES / warps <= 128,
                                 lambda: (draft.one_of(32, 64, 128), draft.one_of(32, 64, 128), draft.one_of(16, 32, 64), draft.one_of(2, 4, 4, 8)))
    dtype, side, channels = draft.one_of("f16", "bf16", "f32"), draft.size(32, 8), draft.one_of(32, 64, 48)
    filters, images, extent, stride = n * draft.size(2, 1), draft.size(16, 2), draft.one_of(1, 3, 3, 5), draft.one_of(1, 1, 2)
    out, is_innermost, stages = side // stride, draft.chance(0.6), draft.one_of(1, 2, 3, 4)
    pixels, depth = images * out * out, extent * extent * channels
    draft.tensor("x", (images, side, side, channels) if is_innermost else (images, channels, side, side), dtype)
    draft.tensor("w", (filters, depth), dtype)
    draft.result("o", (pixels, filters), dtype)
    draft.add("pm = tl.program_id(0)", "pn = tl.program_id(1)", f"pixel = pm * {m} + tl.arange(0, {m})", f"column = pn * {n} + tl.arange(0, {n})",
              f"image = pixel // {out * out}", f"down = pixel // {out} % {out} * {stride} - {extent // 2}", f"across = pixel % {out} * {stride} - {extent // 2}",
              f"acc = tl.zeros(({m}, {n}), tl.float32)")
    at = "((image[:, None] * S + y) * S + z) * C + c[None, :]" if is_innermost else "((image[:, None] * C + c[None, :]) * S + y) * S + z"
    is_nested = draft.chance(0.4)
    weights = f"tl.load(w + column[None, :] * {depth} + {'(tap * C + c)' if is_nested else 'k'}[:, None], mask={'c' if is_nested else 'k'}[:, None] < {'C' if is_nested else depth}, other=0.0)"
    known = f"(y >= 0) & (y < S) & (z >= 0) & (z < S) & {'(c[None, :] < C)' if is_nested else f'(k[None, :] < {depth})'} & (pixel[:, None] < {pixels})"
    if is_nested:
        with draft.block(f"for tap in range(0, {extent * extent}):"):
            draft.add(f"y = (down + tap // {extent})[:, None]", f"z = (across + tap % {extent})[:, None]")
            with draft.block(f"for c0 in range(0, C, {k}):"):
                draft.add(f"c = c0 + tl.arange(0, {k})", f"a = tl.load(x + {at}, mask={known}, other=0.0)", f"acc += tl.dot(a, {weights})")
    else:
        with draft.block(f"for k0 in range(0, {depth}, {k}):"):
            draft.add(f"k = k0 + tl.arange(0, {k})", "c = k % C", f"y = down[:, None] + (k // C // {extent})[None, :]",
                      f"z = across[:, None] + (k // C % {extent})[None, :]", f"a = tl.load(x + {at}, mask={known}, other=0.0)", f"acc += tl.dot(a, {weights})")
    draft.add(f"tl.store(o + pixel[:, None] * {filters} + column[None, :], acc.to(o.dtype.element_ty), mask=pixel[:, None] < {pixels})")
    return draft.kernel(f"convolution {m}x{n}x{k} {dtype} {extent}x{extent} step {stride} {'channels inside' if is_innermost else 'channels outside'} "
                        f"{'nested' if is_nested else 'flat'} {images}x{side}x{side}x{channels} to {filters}",
                        (-(-pixels // m), filters // n), warps, stages, S=side, C=channels)


def write_channels(draft):
    """Each channel with a filter of its own, in two dimensions."""
    pixels, channels, warps = draft.until(lambda p, c, warps: 1 <= p * c / LANES / warps <= 32,
                                          lambda: (draft.one_of(1, 4, 16, 32, 64), draft.one_of(16, 32, 64, 128), draft.one_of(1, 2, 4, 8)))
    dtype, side, extent, width = draft.one_of("f32", "f16", "bf16"), draft.size(64, 16), draft.one_of(3, 5, 7), channels * draft.size(2, 1)
    images = draft.size(ELEMENTS // side // side // width, 1)
    draft.tensor("x", (images, side, side, width), dtype)
    draft.tensor("w", (extent, extent, width), dtype)
    draft.result("o", (images, side, side, width), dtype)
    loop = draft.one_of("range", "tl.static_range", "tl.static_range") if extent < 7 else "range"
    draft.add(f"pixel = tl.program_id(0) * {pixels} + tl.arange(0, {pixels})", f"channel = tl.program_id(1) * {channels} + tl.arange(0, {channels})",
              "image = pixel // (S * S)", "down = pixel // S % S", "across = pixel % S", f"acc = tl.zeros(({pixels}, {channels}), tl.float32)")
    with draft.block(f"for i in {loop}({extent}):"):
        with draft.block(f"for j in {loop}({extent}):"):
            draft.add(f"y = down + i - {extent // 2}", f"z = across + j - {extent // 2}",
                      f"a = tl.load(x + ((image * S + y) * S + z)[:, None] * {width} + channel[None, :], mask=((y >= 0) & (y < S) & (z >= 0) & (z < S))[:, None], other=0.0)",
                      f"acc += a.to(tl.float32) * tl.load(w + (i * {extent} + j) * {width} + channel).to(tl.float32)[None, :]")
    draft.add(f"tl.store(o + pixel[:, None] * {width} + channel[None, :], acc.to(o.dtype.element_ty))")
    return draft.kernel(f"channels {pixels}x{channels} {dtype} {extent}x{extent} {loop} {images}x{side}x{side}x{width}",
                        (images * side * side // pixels, width // channels), warps, 2, S=side)


def write_time(draft):
    """A causal filter along time, of each channel, with what a model does behind it."""
    steps, channels, warps = draft.until(lambda s, c, warps: 1 <= s * c / LANES / warps <= 32,
                                         lambda: (draft.one_of(1, 8, 32, 64, 128), draft.one_of(16, 32, 64, 128, 256), draft.one_of(1, 2, 4, 8)))
    dtype, taps, width, length = draft.one_of("f32", "f16", "bf16"), draft.one_of(2, 3, 4), channels * draft.size(2, 1), draft.size(2048, 2 * steps)
    batches, is_innermost = draft.size(ELEMENTS // length // width, 2), draft.chance(0.6)
    shape = (batches, length, width) if is_innermost else (batches, width, length)
    at = f"(b * T + {{t}})[:, None] * {width} + channel[None, :]" if is_innermost else f"(b * {width} + channel)[None, :] * T + ({{t}})[:, None]"
    draft.tensor("x", shape, dtype)
    draft.tensor("w", (width, taps), dtype)
    draft.result("o", shape, dtype)
    draft.add("b = tl.program_id(2)", f"t = tl.program_id(0) * {steps} + tl.arange(0, {steps})", f"channel = tl.program_id(1) * {channels} + tl.arange(0, {channels})")
    has_bias, has_activation = draft.chance(0.5), draft.chance(0.7)
    if has_bias:
        draft.tensor("bias", (width,), "f32")
        draft.add(f"acc = tl.zeros(({steps}, {channels}), tl.float32) + tl.load(bias + channel)[None, :]")
    else:
        draft.add(f"acc = tl.zeros(({steps}, {channels}), tl.float32)")
    with draft.block(f"for tap in {draft.one_of('range', 'tl.static_range')}({taps}):"):
        draft.add(f"before = t + (tap - {taps - 1})", f"a = tl.load(x + {at.format(t='before')}, mask=(before >= 0)[:, None], other=0.0).to(tl.float32)",
                  f"acc += a * tl.load(w + channel * {taps} + tap).to(tl.float32)[None, :]")
    if has_activation:
        draft.add("acc = acc * tl.sigmoid(acc)" if draft.chance(0.5) else "acc = acc / (1 + tl.exp(-acc))")
    draft.add(f"tl.store(o + {at.format(t='t')}, acc.to(o.dtype.element_ty))")
    return draft.kernel(f"time {steps}x{channels} {dtype} {taps} taps {'channels inside' if is_innermost else 'time inside'} {batches}x{length}x{width}",
                        (length // steps, width // channels, batches), warps, 2, T=length)


def write_states(draft):
    """A linear recurrence along time of each channel, by chunks of an associative scan, or step by step."""
    steps, channels, warps = draft.until(lambda s, c, warps: 1 <= s * c / LANES / warps <= 32,
                                         lambda: (draft.one_of(16, 32, 64, 128), draft.one_of(1, 4, 16, 32, 64), draft.one_of(1, 2, 4, 8)))
    dtype, width, length = draft.one_of("f32", "bf16"), channels * draft.size(8, 2), draft.size(draft.one_of(512, 1024), 3 * steps)
    batches, is_innermost = draft.size(min(1 << 15, ELEMENTS // length // width), 2), draft.chance(0.6)
    shape = (batches, length, width) if is_innermost else (batches, width, length)
    for name in "xg":
        draft.tensor(name, shape, dtype)
    draft.result("o", shape, draft.one_of("f32", dtype))
    draft.helper("def combine(gate, value, next_gate, next_value):", "    return gate * next_gate, value * next_gate + next_value")
    draft.add("b = tl.program_id(1)", f"channel = tl.program_id(0) * {channels} + tl.arange(0, {channels})", f"state = tl.zeros(({channels},), tl.float32)")
    with draft.block(f"for t0 in range(0, T, {steps}):"):
        draft.add(f"t = t0 + tl.arange(0, {steps})",
                  f"at = (b * T + t)[:, None] * {width} + channel[None, :]" if is_innermost else f"at = (b * {width} + channel)[None, :] * T + t[:, None]",
                  "a = tl.load(x + at).to(tl.float32)", "gate = tl.sigmoid(tl.load(g + at).to(tl.float32) + 1.0)",
                  "gates, values = tl.associative_scan((gate, a * (1 - gate)), 0, combine)", "values += gates * state[None, :]",
                  "tl.store(o + at, values.to(o.dtype.element_ty))",
                  f"state = tl.sum(tl.where(tl.arange(0, {steps})[:, None] == {steps - 1}, values, 0.0), 0)")
    return draft.kernel(f"states {steps}x{channels} {dtype} {'channels inside' if is_innermost else 'time inside'} {batches}x{length}x{width}",
                        (width // channels, batches), warps, draft.one_of(1, 2, 3), T=length)


def write_stencil(draft):
    """Neighbours of a plane, in one sum, written out."""
    m, n, warps = draft.until(lambda m, n, warps: 1 <= m * n / LANES / warps <= 32,
                              lambda: (draft.one_of(1, 2, 8, 16, 32), draft.one_of(32, 64, 128, 256), draft.one_of(1, 2, 4, 8)))
    dtype, side = draft.one_of("f32", "f32", "f16"), draft.size(2048, max(m, n))
    around = draft.one_of([(-1, 0), (1, 0), (0, -1), (0, 1)], [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)], [(0, j) for j in (-2, -1, 1, 2)],
                          [(i, 0) for i in (-2, -1, 1, 2)])
    how = draft.one_of("masked", "clamped", "wrapped")
    draft.tensor("x", (side, side), dtype)
    draft.result("o", (side, side), dtype)
    draft.add(f"row = tl.program_id(0) * {m} + tl.arange(0, {m})", f"column = tl.program_id(1) * {n} + tl.arange(0, {n})",
              f"s = tl.zeros(({m}, {n}), tl.float32)")
    for number, (i, j) in enumerate(around):
        y, z = f"(row + {i})[:, None]", f"(column + {j})[None, :]"
        if how == "masked":
            load = f"tl.load(x + {y} * S + {z}, mask=({y} >= 0) & ({y} < S) & ({z} >= 0) & ({z} < S), other=0.0)"
        elif how == "clamped":
            load = f"tl.load(x + tl.minimum(tl.maximum({y}, 0), S - 1) * S + tl.minimum(tl.maximum({z}, 0), S - 1))"
        else:
            load = f"tl.load(x + ({y} + S) % S * S + ({z} + S) % S)"
        draft.add(f"s += {load}.to(tl.float32)" + (f" * {0.25 * (number + 1)}" if draft.chance(0.5) else ""))
    draft.add("tl.store(o + row[:, None] * S + column[None, :], s.to(o.dtype.element_ty))")
    return draft.kernel(f"stencil {m}x{n} {dtype} of {len(around)} {how} {side}", (side // m, side // n), warps, 2, S=side)
