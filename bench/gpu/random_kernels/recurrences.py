"""Recurrences of linear attention, step by step: a state of keys times values decays or is corrected, and a query reads it.

Keys are made small, so that the state neither overflows nor swings in any number of steps.
"""
from .kernel import LANES

HEADS = 512
MOST_OF_A_THREAD = 64


def write(draft):
    keys, values, warps = choose_state(draft)
    dtype, steps = draft.one_of("f32", "bf16", "f16"), draft.one_of(64, 256)
    steps, heads, parts = draft.size(steps, 6), draft.size(HEADS, 2), draft.one_of(1, 2, 4)
    gate = draft.one_of("no gate", "gate of a step", "gate of keys", "delta rule")
    gate_dtype = draft.one_of("f32", dtype)
    is_key_first, moves = draft.chance(0.5), draft.chance(0.5)
    width = values * parts
    gate_width = (keys,) if gate == "gate of keys" else ()
    for name, more, kind in (("q", (keys,), dtype), ("k", (keys,), dtype), ("v", (width,), dtype),
                             ("g", gate_width, gate_dtype)):
        draft.tensor(name, (heads, steps, *more), kind)
    draft.result("o", (heads, steps, width), dtype)
    shape = (keys, values) if is_key_first else (values, keys)
    draft.add("h = tl.program_id(0)", "part = tl.program_id(1)", f"key = tl.arange(0, {keys})",
              f"value = part * {values} + tl.arange(0, {values})", f"state = tl.zeros({shape}, tl.float32)")
    write_loop(draft, addresses(keys, width, gate), gate, is_key_first, moves)
    order = "keys first" if is_key_first else "values first"
    pointers = "moved pointers" if moves else "computed pointers"
    return draft.kernel(f"{keys}x{values} {dtype} {gate}, {order}, {pointers}, {steps} steps",
                        (heads, parts), warps, draft.one_of(1, 2, 3), T=steps)


def choose_state(draft):
    """(keys, values, warps)"""
    return draft.until(lambda keys, values, warps: 1 <= keys * values / LANES / warps <= MOST_OF_A_THREAD,
                       lambda: (draft.one_of(16, 32, 64, 128), draft.one_of(8, 16, 32, 64), draft.one_of(1, 1, 2, 4)))


def addresses(keys, width, gate):
    """name -> (elements of a step, place in a step)"""
    of_gate = (keys, "key") if gate == "gate of keys" else (1, "")
    return {"q": (keys, "key"), "k": (keys, "key"), "v": (width, "value"), "g": of_gate, "o": (width, "value")}


def address(name, row, step, place):
    return f"{name} + ({row}) * {step} + {place}" if place else f"{name} + {row}"


def write_loop(draft, places, gate, is_key_first, moves):
    if moves:
        draft.add(*(f"{name}_at = {address(name, 'h * T', *place)}" for name, place in places.items()))
        at = {name: f"{name}_at" for name in places}
    else:
        at = {name: address(name, "h * T + t", *place) for name, place in places.items()}
    with draft.block("for t in range(0, T):"):
        draft.add(f"kk = tl.load({at['k']}).to(tl.float32) * 0.1")
        draft.add(*(f"{name * 2} = tl.load({at[name]}).to(tl.float32)" for name in "vqg"))
        write_step(draft, gate, is_key_first, at["o"])
        if moves:
            draft.add(*(f"{name}_at += {step}" for name, (step, _) in places.items()))


def write_step(draft, gate, is_key_first, output):
    of_keys, of_values, axis = ("[:, None]", "[None, :]", 0) if is_key_first else ("[None, :]", "[:, None]", 1)
    if gate == "gate of a step":
        draft.add("state = state * tl.exp(-tl.abs(gg))")
    elif gate == "gate of keys":
        draft.add(f"state = state * tl.exp(-tl.abs(gg)){of_keys}")
    elif gate == "delta rule":
        draft.add(f"vv = (vv - tl.sum(state * kk{of_keys}, {axis})) * tl.sigmoid(gg)")
    draft.add(f"state += kk{of_keys} * vv{of_values}", f"tl.store({output}, tl.sum(state * qq{of_keys}, {axis}))")
