"""Linear attention by chunks: products within a chunk, and a state of keys times values that a loop carries.

Without a gate the state grows as the root of the length, which f16 holds.
"""
from .kernel import LANES

HEADS = 256
MOST_OF_A_THREAD = 128


def write(draft):
    chunk, keys, values, warps, stages = choose_blocks(draft)
    dtype = draft.one_of("f16", "bf16", "bf16", "f32")
    length, heads = draft.size(draft.one_of(512, 1024), 3 * chunk), draft.size(HEADS, 2)
    gate = draft.one_of("no gate", "gate", "gate")
    is_transposed = draft.chance(0.5)
    for name, shape, kind in (("q", (keys,), dtype), ("k", (keys,), dtype), ("v", (values,), dtype), ("g", (), "f32")):
        draft.tensor(name, (heads, length, *shape), kind)
    draft.result("o", (heads, length, values), dtype)
    draft.add("h = tl.program_id(0)", f"step = tl.arange(0, {chunk})", f"key = tl.arange(0, {keys})",
              f"value = tl.arange(0, {values})", f"state = tl.zeros(({keys}, {values}), tl.float32)")
    with draft.block(f"for c in range(0, T // {chunk}):"):
        columns = write_loads(draft, chunk, keys, values, is_transposed)
        (write_plain if gate == "no gate" else write_gated)(draft, columns)
        draft.add(f"tl.store(o + row[:, None] * {values} + value[None, :], y.to(o.dtype.element_ty))")
    order = "keys loaded transposed" if is_transposed else ""
    return draft.kernel(f"{dtype} {chunk}x{keys}x{values} {gate} {order} length {length}", (heads,), warps, stages, T=length)


def choose_blocks(draft):
    """(steps of a chunk, keys, values, warps, stages)"""
    def is_good(chunk, keys, values, warps, stages):
        return keys * values / LANES / warps <= MOST_OF_A_THREAD and min(chunk, keys) * values >= LANES * warps * 4

    return draft.until(is_good, lambda: (draft.one_of(16, 32, 64), draft.one_of(32, 64, 128), draft.one_of(32, 64, 128),
                                         draft.one_of(1, 2, 4, 4, 8), draft.one_of(1, 2, 3)))


def write_loads(draft, chunk, keys, values, is_transposed):
    """Returns the keys as columns."""
    draft.add(f"row = h * T + c * {chunk} + step", f"qq = tl.load(q + row[:, None] * {keys} + key[None, :])")
    if is_transposed:
        draft.add(f"kk = tl.load(k + row[None, :] * {keys} + key[:, None])")
    else:
        draft.add(f"kk = tl.load(k + row[:, None] * {keys} + key[None, :])")
    draft.add(f"vv = tl.load(v + row[:, None] * {values} + value[None, :])")
    return "kk" if is_transposed else draft.one_of("tl.trans(kk)", "kk.T")


def write_plain(draft, columns):
    draft.add(f"p = tl.dot(qq, {columns})", "p = tl.where(step[:, None] >= step[None, :], p, 0.0)",
              "y = tl.dot(qq, state.to(qq.dtype))", "y += tl.dot(p.to(vv.dtype), vv)", f"state += tl.dot({columns}, vv)")


def write_gated(draft, columns):
    draft.add("decay = -tl.abs(tl.load(g + row)) * 0.05", "until = tl.cumsum(decay, 0)", "whole = tl.sum(decay, 0)",
              f"p = tl.dot(qq, {columns}) * tl.exp(until[:, None] - until[None, :])",
              "p = tl.where(step[:, None] >= step[None, :], p, 0.0)",
              "y = tl.dot(qq, state.to(qq.dtype)) * tl.exp(until)[:, None] + tl.dot(p.to(vv.dtype), vv)")
    if draft.chance(0.5):
        draft.add("vv = (vv * tl.exp(whole - until)[:, None]).to(vv.dtype)",
                  f"state = state * tl.exp(whole) + tl.dot({columns}, vv)")
    else:
        draft.add("state = state * tl.exp(whole)",
                  f"state += tl.dot(({columns} * tl.exp(whole - until)[None, :]).to(vv.dtype), vv)")
