"""Attention of one block of queries over a loop of keys and values, in the variations that models have.

Scores are scaled by the root of the head's width, so that sums of their exponents fit into any type.
"""
from dataclasses import dataclass

from .kernel import LANES, Draft

MOST_OF_A_THREAD = 220      # elements of the result and of the scores
MOST_SHARED = 200000        # bytes
ELEMENTS = 1 << 15          # of all heads' lengths, for a head of 64
WINDOW = 256
LOG2_OF_E = 1.4427
VARIANTS = {"plain": 3, "bias": 0.8, "alibi": 0.8, "window": 0.8, "capped": 0.5, "masked rows": 1, "dropout": 0.3,
            "shared keys": 0.8, "no maximum": 0.5, "linear": 0.8, "sigmoid": 0.4}


@dataclass
class Attention:
    draft: Draft
    queries: int            # of a block
    keys: int               # of a block
    head: int
    length: int
    dtype: str
    variant: str
    is_causal: bool
    is_transposed: bool     # keys are loaded as columns
    exp: str
    factor: str             # of the scores


def write(draft):
    queries, keys, head, warps, stages = choose_blocks(draft)
    dtype, large = draft.one_of("f16", "bf16", "bf16"), draft.one_of(512, 1024, 2048)
    length = draft.size(large, max(queries, 2 * keys))
    heads = draft.size(max(2, ELEMENTS // large // max(1, head // 64)), 2)
    is_causal, is_transposed, variant = draft.chance(0.5), draft.chance(0.3), draft.weighted(VARIANTS)
    exp, scale = draft.weighted({("tl.exp2", LOG2_OF_E): 6, ("tl.exp", 1.0): 4})
    factor = f"{scale * head**-0.5:.4g}"
    attention = Attention(draft, queries, keys, head, length, dtype, variant, is_causal, is_transposed, exp, factor)
    for name in "qkv":
        draft.tensor(name, (heads, length, head), dtype)
    write_start(attention)
    with draft.block(write_head(attention)):
        write_trip(attention)
    if variant not in ("linear", "sigmoid"):
        draft.add("acc = acc / total[:, None]")
    draft.result("o", (heads, length, head), dtype)
    draft.add(f"tl.store(o + base + row[:, None] * {head} + place[None, :], acc.to(o.dtype.element_ty))")
    return draft.kernel(f"{variant} {'causal' if is_causal else ''} {dtype} {queries}x{keys} head {head} "
                        f"{'keys loaded transposed' if is_transposed else ''} length {length} heads {heads}",
                        (length // queries, heads), warps, stages, T=length)


def choose_blocks(draft):
    """(queries, keys, width of a head, warps, stages)"""
    def is_good(queries, keys, head, warps, stages):
        few_rows = queries < 16 * warps and (warps > 4 or queries * keys / LANES / warps < 8)
        return (not few_rows and queries * (head + keys) / LANES / warps <= MOST_OF_A_THREAD
                and (queries + 2 * stages * keys) * head * 2 <= MOST_SHARED)

    return draft.until(is_good, lambda: (draft.one_of(16, 32, 64, 128, 128), draft.one_of(16, 32, 64, 64, 128),
                                         draft.one_of(16, 32, 64, 64, 128, 128, 256), draft.one_of(2, 4, 4, 8),
                                         draft.one_of(1, 2, 2, 3, 4)))


def write_start(attention):
    draft, queries, head = attention.draft, attention.queries, attention.head
    draft.add("block = tl.program_id(0)", "h = tl.program_id(1)", f"row = block * {queries} + tl.arange(0, {queries})",
              f"key = tl.arange(0, {attention.keys})", f"place = tl.arange(0, {head})", f"base = h * T * {head}",
              f"base_of_keys = {'h // 2' if attention.variant == 'shared keys' else 'h'} * T * {head}",
              f"qq = tl.load(q + base + row[:, None] * {head} + place[None, :])",
              f"most = tl.full(({queries},), float('-inf'), tl.float32)", f"total = tl.zeros(({queries},), tl.float32)",
              f"acc = tl.zeros(({queries}, {head}), tl.float32)")
    if draft.chance(0.4):
        draft.add(f"qq = (qq * {attention.factor}).to(qq.dtype)")
        attention.factor = ""


def write_head(attention):
    queries, keys = attention.queries, attention.keys
    start = f"tl.maximum(block * {queries} - {WINDOW}, 0) // {keys} * {keys}" if attention.variant == "window" else "0"
    end = f"tl.minimum((block + 1) * {queries}, T)" if attention.is_causal else "T"
    return f"for s in {attention.draft.one_of('range', 'tl.range')}({start}, {end}, {keys}):"


def write_trip(attention):
    draft = attention.draft
    values = f"vv = tl.load(v + base_of_keys + (s + key)[:, None] * {attention.head} + place[None, :])"
    columns = write_keys(attention)
    is_early = draft.chance(0.3)
    if is_early:
        draft.add(values)
    draft.add(f"p = tl.dot(qq, {columns})" + (f" * {attention.factor}" if attention.factor else ""))
    write_scores(attention)
    write_probabilities(attention)
    if not is_early:
        draft.add(values)
    draft.add(draft.one_of("acc += tl.dot(p.to(vv.dtype), vv)", "acc = tl.dot(p.to(vv.dtype), vv, acc)"))


def write_keys(attention):
    """Returns the keys as columns."""
    draft, head = attention.draft, attention.head
    if attention.is_transposed:
        draft.add(f"kk = tl.load(k + base_of_keys + (s + key)[None, :] * {head} + place[:, None])")
        return "kk"
    mask = ", mask=(s + key)[:, None] < T, other=0.0" if attention.variant == "masked rows" else ""
    draft.add(f"kk = tl.load(k + base_of_keys + (s + key)[:, None] * {head} + place[None, :]{mask})")
    return draft.one_of("kk.T", "tl.trans(kk)")


def write_scores(attention):
    draft, variant = attention.draft, attention.variant
    if variant == "bias":
        draft.tensor("bias", (attention.length, attention.length), draft.one_of("f32", attention.dtype))
        draft.add("p += tl.load(bias + row[:, None] * T + (s + key)[None, :]).to(tl.float32)")
    elif variant == "alibi":
        draft.add("p += (s + key[None, :] - row[:, None]).to(tl.float32) * 0.01")
    elif variant == "capped":
        draft.add("p = 30.0 * (2.0 * tl.sigmoid(p * (2.0 / 30.0)) - 1.0)")
    elif variant == "masked rows":
        draft.add("p = tl.where((s + key)[None, :] < T, p, float('-inf'))")
    if attention.is_causal:
        without = "0.0" if variant == "linear" else "float('-inf')"
        draft.add(f"p = tl.where(row[:, None] >= (s + key)[None, :], p, {without})")
    if variant == "window":
        draft.add(f"p = tl.where(row[:, None] - (s + key)[None, :] < {WINDOW}, p, -1e30)")


def write_probabilities(attention):
    draft, exp = attention.draft, attention.exp
    if attention.variant == "sigmoid":
        draft.add("p = tl.sigmoid(p)")
    elif attention.variant == "no maximum":
        draft.add(f"p = {exp}(p)", "total += tl.sum(p, 1)")
    elif attention.variant != "linear":
        draft.add("new = tl.maximum(most, tl.max(p, 1))", f"p = {exp}(p - new[:, None])", f"scale = {exp}(most - new)",
                  "total = total * scale + tl.sum(p, 1)", "acc = acc * scale[:, None]", "most = new")
    if attention.variant == "dropout":
        draft.add("p = tl.where(tl.rand(7, row[:, None] * T + (s + key)[None, :]) > 0.1, p, 0.0)")


def online_softmax(exp):
    """The lines of a trip behind its scores `p`, in kinds whose attention has no variants: `acc` takes the values `vv`."""
    return ["new = tl.maximum(most, tl.max(p, 1))", f"p = {exp}(p - new[:, None])", f"scale = {exp}(most - new)",
            "total = total * scale + tl.sum(p, 1)", "acc = acc * scale[:, None]", "acc += tl.dot(p.to(vv.dtype), vv)", "most = new"]
