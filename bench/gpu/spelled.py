"""The table of spellings: for each kernel of bench/gpu/spellings its tensors, its call, and what it must give.

Two users: `spelling_run.py` measures large sizes on a GPU, test/kernels/test_spellings.py checks small ones on every target.
Tensors are made on the device of the generator given. References are computed in f64. `bound` is what a result may be off by
before its last rounding: docs/language/numerical-contract.md, N15 and the bounds of the functions.
"""
from dataclasses import dataclass, field

import torch

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i8": torch.int8, "i32": torch.int32,
          "f8": torch.float8_e4m3fn}
ULP = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


@dataclass(frozen=True)
class Spelling:
    family: str                       # matmul or attention
    name: str
    source: str                       # file in bench/gpu/spellings
    call: object                      # (module, tensors, out or None, configuration) -> result
    make: object                      # (generator, dtype, **size) -> {name: tensor or number}
    expected: object                  # (tensors, rows or None) -> the exact result, or some rows of it, f64
    bound: object                     # tensors -> what the result may be off by, f64
    flops: object                     # tensors -> number of operations of the model
    library: dict = field(default_factory=dict)   # name -> (tensors -> result), what computes the same
    result: str = ""                  # type of the result; empty: that of the operands
    rows_at: object = lambda out, rows: out[..., rows, :]
    kinds: tuple = ("f16", "bf16")    # types of operands that it is for


def normal(generator, *shape, dtype=torch.float32, scale=1.0):
    made = torch.randn(*shape, generator=generator, device=generator.device, dtype=torch.float32)
    return (made * scale).to(dtype)


def bytes_of(generator, *shape):
    return torch.randint(-127, 128, shape, generator=generator, device=generator.device, dtype=torch.int8)


def chosen(tensor, rows):
    return tensor if rows is None else tensor[..., rows, :]


# --- products ------------------------------------------------------------------------------------


def operands(layout):
    """Matrices that lie by rows (n) or by columns (t)."""
    def make(generator, dtype, m, n, k):
        def matrix(rows, columns, order):
            shape = (rows, columns) if order == "n" else (columns, rows)
            made = bytes_of(generator, *shape) if dtype == torch.int8 else normal(generator, *shape, dtype=dtype)
            return made if order == "n" else made.T
        return {"a": matrix(m, k, layout[0]), "b": matrix(k, n, layout[1])}
    return make


def with_whole_rows(layout):
    """Matrices whose rows (n) or columns (t) begin at multiples of 16 bytes, as descriptors want them."""
    def make(generator, dtype, m, n, k):
        def matrix(rows, columns, order):
            rows, columns = (rows, columns) if order == "n" else (columns, rows)
            made = normal(generator, rows, -(-columns // 8) * 8, dtype=dtype)[:, :columns]
            return made if order == "n" else made.T
        return {"a": matrix(m, k, layout[0]), "b": matrix(k, n, layout[1])}
    return make


def product(s, rows=None):
    return chosen(s["a"], rows).double() @ s["b"].double()


def magnitude(s):
    """|a| |b|, to which every bound of a product is relative."""
    return s["a"].double().abs() @ s["b"].double().abs()


def product_bound(s):
    return (s["a"].shape[-1] + 2) * 2.0**-23 * magnitude(s)


def tf32_bound(s):
    """Each operand may lose what tf32 does not hold."""
    return product_bound(s) + 2.0**-9 * magnitude(s)


def byte_bound(s):
    """Units of 8-bit floats keep 13 bits below the largest of 32 products and the sum so far."""
    return product_bound(s) + (s["a"].shape[-1] // 32 + 1) * 34 * 2.0**-13 * magnitude(s)


def product_flops(s):
    a, b = s["a"], s["b"]
    return 2 * a.shape[-2] * a.shape[-1] * b.shape[-1] * (a.shape[0] if a.ndim == 3 else 1)


def matmul_library(s):
    return torch.matmul(s["a"], s["b"])


def tf32_library(s):
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return torch.matmul(s["a"], s["b"])
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def byte_library(s):
    one = torch.ones((), device=s["a"].device)
    return torch._scaled_mm(s["a"], s["b"], one, one, out_dtype=torch.bfloat16, use_fast_accum=True)


CUBLAS = {"cuBLAS": matmul_library}


def matmul(name, source, call, layout="nn", **more):
    settings = dict(make=operands(layout), expected=product, bound=product_bound, flops=product_flops, library=CUBLAS)
    return Spelling("matmul", name, source, call, **{**settings, **more})


def simple(function):
    """A call of a function that takes a, b, out and the configuration."""
    return lambda module, s, out, config: getattr(module, function)(s["a"], s["b"], out, **config)


def into(function, dtype):
    return lambda module, s, out, config: getattr(module, function)(s["a"], s["b"], out, dtype=dtype, **config)


def with_bias(generator, dtype, m, n, k):
    return {**operands("nn")(generator, dtype, m, n, k), "bias": normal(generator, n, dtype=dtype)}


def biased(s, rows=None):
    return product(s, rows) + s["bias"].double()


def activated(function):
    return lambda s, rows=None: function(biased(s, rows))


def activated_bound(s):
    """gelu and leaky_relu are nowhere steeper than 1.2."""
    return 1.2 * product_bound(s) + 2.0**-20 * (biased(s).abs() + 1)


def gates(generator, dtype, m, n, k):
    shrink = k**-0.5
    return {"a": normal(generator, m, k, dtype=dtype), "gate": normal(generator, k, n, dtype=dtype, scale=shrink),
            "up": normal(generator, k, n, dtype=dtype, scale=shrink)}


def gated(s, rows=None):
    a = chosen(s["a"], rows).double()
    return torch.nn.functional.silu(a @ s["gate"].double()) * (a @ s["up"].double())


def gated_bound(s):
    off_gate, off_up = (product_bound({"a": s["a"], "b": s[name]}) for name in ("gate", "up"))
    a = s["a"].double()
    gate, up = a @ s["gate"].double(), a @ s["up"].double()
    return 1.2 * (off_gate * (up.abs() + off_up) + gate.abs() * off_up) + 2.0**-20 * (gate * up).abs()


def batches(generator, dtype, m, n, k, batch=3):
    return {"a": normal(generator, batch, m, k, dtype=dtype), "b": normal(generator, batch, k, n, dtype=dtype)}


def weights(generator, dtype, m, n, k):
    return {"a": normal(generator, m, k, dtype=dtype), "w": bytes_of(generator, k, n),
            "scale": torch.rand(n, generator=generator, device=generator.device) + 0.5}


def unpacked(s):
    return {"a": s["a"], "b": s["w"].double() * s["scale"].double()}


MATMULS = [
    matmul("wrapped nn", "matmul_plain", simple("wrapped")),
    matmul("wrapped nt", "matmul_plain", simple("wrapped"), layout="nt"),
    matmul("wrapped tn", "matmul_plain", simple("wrapped"), layout="tn"),
    matmul("wrapped tt", "matmul_plain", simple("wrapped"), layout="tt"),
    matmul("wrapped, f32 out", "matmul_plain", into("wrapped", torch.float32), result="f32"),
    matmul("masked, acc +=", "matmul_plain", simple("masked")),
    matmul("masked nt", "matmul_plain", simple("masked"), layout="nt"),
    matmul("offsets recomputed", "matmul_plain", simple("recomputed")),
    matmul("linear, tile transposed", "matmul_plain", simple("linear"), layout="nt"),
    matmul("hinted, counting down", "matmul_plain", simple("hinted")),
    matmul("tf32 by name", "matmul_plain", simple("precise"), kinds=("f32",), bound=tf32_bound, library={"cuBLAS": tf32_library}),
    matmul("tf32 by name nt", "matmul_plain", simple("precise"), layout="nt", kinds=("f32",), bound=tf32_bound,
           library={"cuBLAS": tf32_library}),
    matmul("int8 nn", "matmul_plain", simple("integer"), kinds=("i8",), result="i32", bound=lambda s: 0.0,
           library={"cuBLAS": lambda s: torch._int_mm(s["a"], s["b"])}),
    matmul("int8 nt", "matmul_plain", simple("integer"), layout="nt", kinds=("i8",), result="i32", bound=lambda s: 0.0,
           library={"cuBLAS": lambda s: torch._int_mm(s["a"], s["b"])}),
    matmul("fp8 nt", "matmul_plain", into("wrapped", torch.bfloat16), layout="nt", kinds=("f8",), result="bf16", bound=byte_bound,
           library={"cuBLAS": byte_library}),
    matmul("bias gelu", "matmul_fused",
           lambda f, s, out, config: f.activated(s["a"], s["b"], s["bias"], "gelu", out, **config), make=with_bias,
           expected=activated(torch.nn.functional.gelu), bound=activated_bound,
           library={"cuBLAS + gelu": lambda s: torch.nn.functional.gelu(torch.addmm(s["bias"], s["a"], s["b"]))}),
    matmul("bias leaky", "matmul_fused",
           lambda f, s, out, config: f.activated(s["a"], s["b"], s["bias"], "leaky_relu", out, **config), make=with_bias,
           expected=activated(torch.nn.functional.leaky_relu), bound=activated_bound,
           library={"cuBLAS + leaky": lambda s: torch.nn.functional.leaky_relu(torch.addmm(s["bias"], s["a"], s["b"]))}),
    matmul("gated, two products", "matmul_fused",
           lambda f, s, out, config: f.gated(s["a"], s["gate"], s["up"], out, **config), make=gates, expected=gated,
           bound=gated_bound, flops=lambda s: 4 * s["a"].numel() * s["gate"].shape[1],
           library={"cuBLAS + silu": lambda s: torch.nn.functional.silu(s["a"] @ s["gate"]) * (s["a"] @ s["up"])}),
    matmul("batched", "matmul_fused", simple("batched"), make=batches),
    matmul("tiles of 3 dimensions", "matmul_fused", simple("cubic"), make=batches),
    matmul("persistent", "matmul_fused", lambda f, s, out, config: f.persistent(
        s["a"], s["b"], out, programs=None if s["a"].is_cuda else 3, **config)),
    matmul("split K", "matmul_fused", simple("split_k"), result="f32"),
    matmul("prefetched by hand", "matmul_fused", simple("prefetched")),
    matmul("weight widened", "matmul_fused", lambda f, s, out, config: f.widened(s["a"], s["w"], s["scale"], out, **config),
           make=weights, expected=lambda s, rows=None: product(unpacked(s), rows), bound=lambda s: product_bound(unpacked(s)),
           flops=lambda s: 2 * s["a"].numel() * s["w"].shape[1], library={}),
    matmul("descriptors made", "descriptors", simple("made"), make=with_whole_rows("nt")),
    matmul("descriptors given", "descriptors", simple("given"), make=with_whole_rows("nn")),
    matmul("descriptors, persistent", "descriptors", lambda f, s, out, config: f.persistent(
        s["a"], s["b"], out, programs=None if s["a"].is_cuda else 3, **config), make=with_whole_rows("nt")),
    matmul("few rows", "matmul_fused", simple("few_rows"), layout="nt"),
]


# --- attention -----------------------------------------------------------------------------------------


def heads(order):
    """q, k and v as [batch, heads, length, head], which lie in the order given; fewer heads of k where `group` is above 1."""
    def make(generator, dtype, batch, heads, length, head, causal, group=1, window=0, length_k=None):
        def tensor(count, length):
            shape = (batch, count, length, head)
            if order == "bhnd":
                return normal(generator, *shape, dtype=dtype)
            return normal(generator, batch, length, count, head, dtype=dtype).transpose(1, 2)
        length_k = length_k or length
        return {"q": tensor(heads, length), "k": tensor(heads // group, length_k), "v": tensor(heads // group, length_k),
                "causal": causal, "window": window}
    return make


def scores_of(s, rows=None):
    """(scaled scores, which count) of some rows of q."""
    q, k = s["q"].double(), s["k"].double()
    k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    number = torch.arange(q.shape[2], device=q.device) if rows is None else rows
    scores = chosen(q, rows) @ k.transpose(2, 3) * q.shape[3] ** -0.5
    column = torch.arange(k.shape[2], device=q.device)[None, :]
    seen = torch.ones_like(scores[0, 0], dtype=torch.bool)
    if s["causal"]:
        seen &= column <= number[:, None]
    if s.get("window"):
        seen &= number[:, None] - column < s["window"]
    return scores, seen


def attended(s, rows=None, bend=lambda x: x):
    scores, seen = scores_of(s, rows)
    weights = torch.softmax(bend(scores).masked_fill(~seen, -torch.inf), dim=3)
    return weights @ s["v"].double().repeat_interleave(s["q"].shape[1] // s["v"].shape[1], dim=1)


def attended_bound(s, slope=2.0**-19):
    """Scores are off by N15, which moves each weight by as much relatively; q and the weights are rounded to the type of v."""
    q, k, v = (s[name].double() for name in "qkv")
    unit = 0.0 if s["v"].dtype == torch.float32 else ULP[s["v"].dtype]
    largest = (q.norm(dim=3).amax() * k.norm(dim=3).amax()).item() * q.shape[3] ** -0.5
    scores = (2.0**-23 * (q.shape[3] + 8) + (unit if unit and not is_square(q.shape[3]) else 0.0)) * largest
    return (2 * scores + 2.0**-23 * (k.shape[2] + 64) + unit + slope * 2.0**-2) * v.abs().amax()


def is_square(n):
    """Says whether 1/sqrt(n) is a power of two: then scaling q before the product rounds nothing."""
    return n in (4, 16, 64, 256)


def attention_flops(s):
    batch, count, length, head = s["q"].shape
    pairs = length * s["k"].shape[2]
    if s["causal"]:
        pairs = pairs // 2
    if s.get("window"):
        pairs = length * min(s["window"], length)
    return 2 * pairs * batch * count * (head + s["v"].shape[3])


def sdpa(backend):
    def call(s):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return torch.nn.functional.scaled_dot_product_attention(
                s["q"], s["k"], s["v"], is_causal=s["causal"], enable_gqa=s["q"].shape[1] != s["k"].shape[1])
    return call


SDPA = {"cuDNN": sdpa("CUDNN_ATTENTION"), "flash": sdpa("FLASH_ATTENTION")}


def attention(name, source, call, order="bhnd", **more):
    settings = dict(make=heads(order), expected=attended, bound=attended_bound, flops=attention_flops, library=SDPA)
    return Spelling("attention", name, source, call, **{**settings, **more})


def by_heads(function, **options):
    return lambda module, s, out, config: getattr(module, function)(s["q"], s["k"], s["v"], out, causal=s["causal"], **options, **config)


def by_length(function, **options):
    """For a function that takes and gives [batch, length, heads, head]."""
    def call(module, s, out, config):
        q, k, v = (s[name].transpose(1, 2) for name in "qkv")
        given = None if out is None else out.transpose(1, 2)
        return getattr(module, function)(q, k, v, given, causal=s["causal"], **options, **config).transpose(1, 2)
    return call


def with_window(module, s, out, config):
    q, k, v = (s[name].transpose(1, 2) for name in "qkv")
    given = None if out is None else out.transpose(1, 2)
    return module.shared(q, k, v, given, causal=s["causal"], window=s["window"], **config).transpose(1, 2)


def longer_heads(generator, dtype, batch, heads, length, head, causal):
    """The head of q and k is 1.5 times that of v."""
    def tensor(width):
        return normal(generator, batch, length, heads, width, dtype=dtype).transpose(1, 2)
    return {"q": tensor(head * 3 // 2), "k": tensor(head * 3 // 2), "v": tensor(head), "causal": causal}


CAP = 20.0


def one_behind_another(generator, dtype, batch, heads, length, head, causal):
    """Sequences of different lengths; the first is the longest."""
    lengths = [max(1, length - i * length // (2 * batch)) for i in range(batch)]
    starts = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32, device=generator.device)
    q, k, v = (normal(generator, sum(lengths), heads, head, dtype=dtype) for _ in range(3))
    return {"q": q, "k": k, "v": v, "starts": starts, "lengths": lengths, "causal": True}


def each_sequence(s):
    begin = 0
    for length in s["lengths"]:
        yield {"causal": True, **{name: s[name][begin:begin + length].transpose(0, 1)[None] for name in "qkv"}}, begin
        begin += length


def packed_expected(s, rows=None):
    parts = [attended(part)[0].transpose(0, 1) for part, _ in each_sequence(s)] if rows is None else None
    if rows is None:
        return torch.cat(parts)
    found = []
    for part, begin in each_sequence(s):
        inside = rows[(rows >= begin) & (rows < begin + part["q"].shape[2])] - begin
        found.append(attended(part, inside)[0].transpose(0, 1))
    return torch.cat(found)


PAGE = 16


def in_pages(generator, dtype, batch, heads, length, head, causal=False, group=4):
    """One token of q for each sequence; k and v in pages of PAGE tokens, out of order."""
    pages = -(-length // PAGE)
    lengths = torch.tensor([max(1, length - 7 * i) for i in range(batch)], dtype=torch.int32, device=generator.device)
    table = torch.randperm(batch * pages, generator=generator, device=generator.device).to(torch.int32).reshape(batch, pages)
    kv = [normal(generator, batch * pages, PAGE, heads // group, head, dtype=dtype) for _ in range(2)]
    return {"q": normal(generator, batch, heads, head, dtype=dtype), "k": kv[0], "v": kv[1], "table": table, "lengths": lengths,
            "causal": False}


def gathered(s):
    """[sequences, heads of k, tokens, head] of k and v, the tokens behind a sequence's end cut off by the caller."""
    return {name: s[name][s["table"].long()].flatten(1, 2).transpose(1, 2) for name in "kv"}


def paged_expected(s, rows=None):
    kv, out = gathered(s), []
    for i, length in enumerate(s["lengths"].tolist()):
        part = {"q": s["q"][i][None, :, None, :], "causal": False, **{name: kv[name][i:i + 1, :, :length] for name in "kv"}}
        out.append(attended(part)[0, :, 0])
    return torch.stack(out)


def paged_bound(s):
    kv = gathered(s)
    return attended_bound({"q": s["q"][:, :, None, :], "causal": False, **kv})


ATTENTIONS = [
    attention("two loops", "attention_plain", by_heads("two_loops")),
    attention("two loops, b n h d", "attention_plain", by_heads("two_loops"), order="bnhd"),
    attention("one loop, exp", "attention_plain", by_heads("one_loop")),
    attention("k transposed as a tile", "attention_plain", by_heads("transposed")),
    attention("logarithms", "attention_plain", by_heads("logarithms")),
    attention("normalized in each trip", "attention_plain", by_heads("normalized")),
    attention("k loaded ahead", "attention_plain", by_heads("ahead")),
    attention("descriptors made", "descriptors", by_heads("made_heads")),
    attention("descriptors given", "descriptors", by_heads("given_heads")),
    attention("shared heads", "attention_forms", by_length("shared"), order="bnhd"),
    attention("window", "attention_forms", with_window, order="bnhd", library={}),
    attention("padded head", "attention_forms", by_length("padded"), order="bnhd"),
    attention("native head", "attention_forms", by_length("padded", native=True), order="bnhd"),
    attention("head in two parts", "attention_forms", by_length("two_parts"), make=longer_heads, library={}),
    attention("scores sideways", "attention_forms", by_length("sideways"), order="bnhd"),
    attention("scores capped", "attention_forms", by_length("capped", cap=CAP), order="bnhd", library={},
              expected=lambda s, rows=None: attended(s, rows, lambda x: CAP * torch.tanh(x / CAP))),
    attention("packed", "attention_forms", lambda f, s, out, config: f.packed(
        s["q"], s["k"], s["v"], s["starts"], max(s["lengths"]), out, **config), make=one_behind_another,
        expected=packed_expected, library={}, rows_at=lambda out, rows: out[rows],
        bound=lambda s: max(attended_bound(part) for part, _ in each_sequence(s)),
        flops=lambda s: sum(attention_flops(part) for part, _ in each_sequence(s))),
    attention("decoding, paged", "attention_forms", lambda f, s, out, config: f.paged(
        s["q"], s["k"], s["v"], s["table"], s["lengths"], out, **config), make=in_pages, expected=paged_expected,
        bound=paged_bound, library={}, rows_at=lambda out, rows: out,
        flops=lambda s: 4 * int(s["lengths"].sum()) * s["q"].shape[1] * s["q"].shape[2]),
]

ALL = {f"{spelling.family}, {spelling.name}": spelling for spelling in MATMULS + ATTENTIONS}
