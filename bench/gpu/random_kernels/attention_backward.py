"""Gradients of attention: of a block of keys and values over a loop of queries, or of a block of queries over a loop of keys.

Probabilities are computed anew from logarithms of their sums. These are made large, so that no type overflows.
"""
from dataclasses import dataclass

from .kernel import LANES, Draft

MOST_OF_A_THREAD = 256      # elements of the sums and of two tiles of scores
MOST_SHARED = 180000        # bytes
ELEMENTS = 1 << 15          # of all heads' lengths, for a head of 64
LOG2_OF_E = 1.4427


@dataclass
class Gradient:
    draft: Draft
    queries: int            # of a block
    keys: int               # of a block
    head: int
    is_causal: bool
    is_turned: bool         # scores have keys as rows
    exp: str
    factor: str             # of the scores

    def tile(self, name, rows):
        return f"tl.load({name} + base + {rows}[:, None] * {self.head} + place[None, :])"

    def columns(self, name, rows):
        """The transposed tile: loaded so, or turned."""
        if self.draft.chance(0.3):
            return f"tl.load({name} + base + {rows}[None, :] * {self.head} + place[:, None])"
        return self.draft.one_of(f"tl.trans({self.tile(name, rows)})", f"{self.tile(name, rows)}.T")

    def along_queries(self, vector):
        return f"{vector}[None, :]" if self.is_turned else f"{vector}[:, None]"

    def along_keys(self, vector):
        return f"{vector}[:, None]" if self.is_turned else f"{vector}[None, :]"


def write(draft):
    is_of_keys = draft.chance(0.6)
    queries, keys, head, warps, stages = choose_blocks(draft, is_of_keys)
    dtype, large = draft.one_of("f16", "bf16", "bf16"), draft.one_of(512, 1024, 2048)
    length = draft.size(large, 2 * max(queries, keys))
    heads = draft.size(max(2, ELEMENTS // large // max(1, head // 64)), 2)
    exp, scale = draft.one_of(("tl.exp2", LOG2_OF_E), ("tl.exp2", LOG2_OF_E), ("tl.exp", 1.0), ("tl.math.exp2", LOG2_OF_E))
    gradient = Gradient(draft, queries, keys, head, draft.chance(0.5), draft.chance(0.5), exp, f"{scale * head**-0.5:.4g}")
    for name in ("q", "k", "v", "do"):
        draft.tensor(name, (heads, length, head), dtype)
    draft.tensor("logs", (heads, length), "f32")
    draft.tensor("delta", (heads, length), "f32")
    draft.add("block = tl.program_id(0)", "h = tl.program_id(1)", f"base = h * T * {head}", f"place = tl.arange(0, {head})")
    (write_keys if is_of_keys else write_queries)(gradient, (heads, length, head), dtype)
    own = keys if is_of_keys else queries
    return draft.kernel(f"{'keys and values' if is_of_keys else 'queries'} {'causal' if gradient.is_causal else ''} {dtype} "
                        f"{queries}x{keys} head {head} {'keys as rows' if gradient.is_turned else ''} length {length} heads {heads}",
                        (length // own, heads), warps, stages, T=length)


def choose_blocks(draft, is_of_keys):
    """(queries, keys, width of a head, warps, stages)"""
    def is_good(queries, keys, head, warps, stages):
        own, other, sums = (keys, queries, 2) if is_of_keys else (queries, keys, 1)
        return (own >= 16 * warps // 2 and (sums * own * head + 2 * queries * keys) / LANES / warps <= MOST_OF_A_THREAD
                and (2 * own + 2 * stages * other) * head * 2 + queries * keys * 4 <= MOST_SHARED)

    return draft.until(is_good, lambda: (draft.one_of(16, 32, 64, 64, 128), draft.one_of(16, 32, 64, 128, 128),
                                         draft.one_of(16, 32, 64, 64, 128, 128), draft.one_of(2, 4, 4, 8, 8),
                                         draft.one_of(1, 2, 2, 3)))


def write_keys(gradient, shape, dtype):
    draft, queries, keys = gradient.draft, gradient.queries, gradient.keys
    adds_queries = draft.chance(0.25)
    draft.result("dk", shape, dtype)
    draft.result("dv", shape, dtype)
    if adds_queries:
        draft.tensor("dq", shape, "f32", "sums")
    draft.add(f"key = block * {keys} + tl.arange(0, {keys})", f"step = tl.arange(0, {queries})",
              f"kk = {gradient.tile('k', 'key')}", f"vv = {gradient.tile('v', 'key')}",
              f"sums_k = tl.zeros(({keys}, {gradient.head}), tl.float32)", f"sums_v = tl.zeros(({keys}, {gradient.head}), tl.float32)")
    first = f"block * {keys} // {queries} * {queries}" if gradient.is_causal else "0"
    with draft.block(f"for s in {draft.one_of('range', 'tl.range')}({first}, T, {queries}):"):
        draft.add("row = s + step", f"qq = {gradient.tile('q', 'row')}", f"dd = {gradient.tile('do', 'row')}")
        write_scores(gradient)
        p, ds = ("p", "ds") if gradient.is_turned else ("tl.trans(p)", "tl.trans(ds)")
        draft.add(f"sums_v += tl.dot({p}.to(dd.dtype), dd)", f"sums_k += tl.dot({ds}.to(qq.dtype), qq)")
        if adds_queries:
            draft.add(f"more = tl.dot({'tl.trans(ds)' if gradient.is_turned else 'ds'}.to(kk.dtype), kk)",
                      f"tl.atomic_add(dq + base + row[:, None] * {gradient.head} + place[None, :], more, sem='relaxed')")
    write_result(gradient, "dk", "key", f"sums_k * {gradient.head**-0.5:.4g}")
    write_result(gradient, "dv", "key", "sums_v")


def write_queries(gradient, shape, dtype):
    draft, queries, keys = gradient.draft, gradient.queries, gradient.keys
    draft.result("dq", shape, dtype)
    draft.add(f"row = block * {queries} + tl.arange(0, {queries})", f"step = tl.arange(0, {keys})",
              f"qq = {gradient.tile('q', 'row')}", f"dd = {gradient.tile('do', 'row')}",
              f"sums_q = tl.zeros(({queries}, {gradient.head}), tl.float32)")
    end = f"(block + 1) * {queries}" if gradient.is_causal else "T"
    with draft.block(f"for s in {draft.one_of('range', 'tl.range')}(0, {end}, {keys}):"):
        draft.add("key = s + step", f"kk = {gradient.tile('k', 'key')}", f"vv = {gradient.tile('v', 'key')}")
        write_scores(gradient)
        draft.add(f"sums_q += tl.dot({'tl.trans(ds)' if gradient.is_turned else 'ds'}.to(kk.dtype), kk)")
    write_result(gradient, "dq", "row", f"sums_q * {gradient.head**-0.5:.4g}")


def write_scores(gradient):
    """`p` and `ds`, of the tiles qq, kk, vv and dd."""
    draft = gradient.draft
    rows, columns = ("kk", "q") if gradient.is_turned else ("qq", "k")
    values, others = ("vv", "do") if gradient.is_turned else ("dd", "v")
    places = "row" if gradient.is_turned else "key"
    turned = {"q": "qq", "k": "kk", "do": "dd", "v": "vv"}

    def columns_of(name):
        return draft.one_of(gradient.columns(name, places), f"tl.trans({turned[name]})", f"{turned[name]}.T")

    draft.add("log = tl.load(logs + h * T + row) + 7.0", "dl = tl.load(delta + h * T + row)",
              f"p = {gradient.exp}(tl.dot({rows}, {columns_of(columns)}) * {gradient.factor} - {gradient.along_queries('log')})")
    if gradient.is_causal:
        draft.add(f"p = tl.where({gradient.along_queries('row')} >= {gradient.along_keys('key')}, p, 0.0)")
    draft.add(f"ds = p * (tl.dot({values}, {columns_of(others)}) - {gradient.along_queries('dl')})")


def write_result(gradient, name, rows, value):
    gradient.draft.add(f"tl.store({name} + base + {rows}[:, None] * {gradient.head} + place[None, :], ({value}).to({name}.dtype.element_ty))")
